#pragma once
#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/parse_tree.hpp>

/// The grammar of the text form. Rules named in `Kept` stand in the parse tree.
namespace cryolite::graph::grammar {

using namespace tao::pegtl;  // the grammar below is written in its words

struct comment : seq<one<'#'>, until<eolf>> {};
struct gap : star<sor<space, comment>> {};
template <char C>
struct mark : seq<one<C>, gap> {};
template <class Item>
struct list_of : opt<list_must<Item, mark<','>>> {};

struct escape : seq<one<'\\'>, sor<one<'"', '\\', 'n', 't'>, seq<one<'x'>, xdigit, xdigit>>> {};
struct quoted_content : star<sor<escape, not_one<'"', '\\', '\n'>>> {};
struct closing_quote : one<'"'> {};
struct quoted : if_must<one<'"'>, quoted_content, closing_quote, gap> {};

struct plain_content : plus<sor<alnum, one<'_', '.', '/', '-'>>> {};
struct plain : seq<plain_content, gap> {};
struct name : sor<quoted, plain> {};
/// An absent input or output.
struct nothing_here : seq<one<'_'>, not_at<sor<alnum, one<'_', '.', '/', '-'>>>, gap> {};

struct integer_content : seq<opt<one<'-'>>, plus<digit>> {};
struct integer : seq<integer_content, gap> {};
struct number_content : seq<opt<one<'-'>>, sor<TAO_PEGTL_STRING("inf"), TAO_PEGTL_STRING("nan"),
                                               seq<plus<digit>, opt<one<'.'>, star<digit>>,
                                                   opt<one<'e', 'E'>, opt<one<'-', '+'>>, plus<digit>>>>> {};
struct number : seq<number_content, gap> {};

struct unknown_dim : seq<one<'?'>, gap> {};
struct fixed_content : plus<digit> {};
struct fixed_dim : seq<fixed_content, not_at<sor<alnum, one<'_', '.', '/', '-'>>>, gap> {};
struct symbol_dim : seq<name, opt<mark<'='>, integer>> {};
struct dim : sor<unknown_dim, fixed_dim, symbol_dim> {};
struct any_rank : seq<one<'*'>, gap> {};
struct element : plus<alnum> {};
struct dims_end : mark<']'> {};
struct type : seq<element, mark<'['>, sor<any_rank, list_of<dim>>, must<dims_end>> {};

struct order : list_of<integer> {};
struct block : seq<mark<'|'>, integer, mark<':'>, integer> {};
struct strides : seq<one<'/'>, mark<'('>, list_of<integer>, mark<')'>> {};
struct layout : if_must<one<'@'>, mark<'['>, order, opt<block>, mark<']'>, opt<strides>> {};

struct base64_content : star<sor<alnum, one<'+', '/', '='>>> {};
struct base64 : if_must<TAO_PEGTL_STRING("base64\""), base64_content, closing_quote, gap> {};
struct elements_end : mark<'}'> {};
struct elements : if_must<mark<'{'>, list_of<number>, elements_end> {};
struct data : sor<base64, elements> {};

struct declaration : seq<name, must<mark<':'>>, must<type>, opt<layout>> {};
struct constant : if_must<seq<TAO_PEGTL_STRING("const"), plus<space>>, name, mark<':'>, type, opt<layout>,
                          mark<'='>, data> {};

struct list_end : mark<']'> {};
struct integers : if_must<mark<'['>, list_of<integer>, list_end> {};
struct floats : if_must<seq<TAO_PEGTL_STRING("floats"), mark<'['>>, list_of<number>, list_end> {};
struct strings : if_must<seq<TAO_PEGTL_STRING("strings"), mark<'['>>, list_of<quoted>, list_end> {};
struct tensor : seq<type, must<mark<'='>>, must<data>> {};
struct graph;
struct whole : seq<integer_content, not_at<one<'.', 'e', 'E'>>, gap> {};
struct attribute_value : sor<quoted, floats, strings, integers, graph, whole, number, tensor> {};
struct attribute : seq<name, must<mark<'='>>, must<attribute_value>> {};
struct attributes_end : mark<'}'> {};
struct attributes : if_must<mark<'{'>, list_of<attribute>, attributes_end> {};

struct output : sor<nothing_here, declaration> {};
struct input : sor<nothing_here, name> {};
struct outputs : list_must<output, mark<','>> {};
struct inputs : list_of<input> {};
struct inputs_end : mark<')'> {};
struct node : seq<name, must<mark<':'>>, must<outputs>, must<mark<'='>>, must<name>, must<mark<'('>>, inputs,
                  inputs_end, opt<attributes>> {};

struct graph_inputs : list_of<declaration> {};
struct graph_outputs : list_of<name> {};
struct arrow : seq<TAO_PEGTL_STRING("->"), gap> {};
struct graph_end : mark<'}'> {};
struct graph
    : if_must<seq<TAO_PEGTL_STRING("graph"), plus<space>, gap>, name, mark<'('>, graph_inputs, inputs_end,
              arrow, mark<'('>, graph_outputs, inputs_end, mark<'{'>, star<sor<constant, node>>, graph_end> {
};
struct document : seq<gap, must<graph>, must<eof>> {};

template <class Rule>
using Kept = parse_tree::selector<
    Rule, parse_tree::store_content::on<
              quoted_content, plain_content, nothing_here, integer_content, number_content, unknown_dim,
              fixed_content, symbol_dim, any_rank, element, type, order, block, strides, layout,
              base64_content, elements, declaration, constant, integers, floats, strings, tensor, whole,
              attribute, attributes, outputs, inputs, node, graph_inputs, graph_outputs, graph>>;

/// What a message says where the text does not go on as a rule wants.
template <class Rule>
struct Expected {
  static constexpr const char* text = "the text does not go on as a graph here";
};
template <char C>
struct Expected<mark<C>> {
  static constexpr char text[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', '\'', C, '\'', 0};
};
#define CRYOLITE_EXPECTED(Rule, words)                     \
  template <>                                              \
  struct Expected<Rule> {                                  \
    static constexpr const char* text = "expected " words; \
  };
CRYOLITE_EXPECTED(name, "a name")
CRYOLITE_EXPECTED(closing_quote, "a closing quote, or an escape is not known")
CRYOLITE_EXPECTED(integer, "an integer")
CRYOLITE_EXPECTED(number, "a number")
CRYOLITE_EXPECTED(quoted, "a quoted string")
CRYOLITE_EXPECTED(dim, "an extent: a number, a symbol or ?")
CRYOLITE_EXPECTED(type, "a type like f32[1,3]")
CRYOLITE_EXPECTED(data, "{numbers} or base64\"…\"")
CRYOLITE_EXPECTED(dims_end, "']' after the extents")
CRYOLITE_EXPECTED(elements_end, "'}' after the numbers")
CRYOLITE_EXPECTED(list_end, "']' after the list")
CRYOLITE_EXPECTED(declaration, "NAME: TYPE")
CRYOLITE_EXPECTED(output, "an output as NAME: TYPE, or _")
CRYOLITE_EXPECTED(outputs, "an output as NAME: TYPE, or _")
CRYOLITE_EXPECTED(input, "the name of an input, or _")
CRYOLITE_EXPECTED(inputs_end, "')'")
CRYOLITE_EXPECTED(attribute, "an attribute as NAME=VALUE")
CRYOLITE_EXPECTED(attribute_value, "the attribute's value")
CRYOLITE_EXPECTED(attributes_end, "'}' after the attributes")
CRYOLITE_EXPECTED(arrow, "'->'")
CRYOLITE_EXPECTED(graph_end, "a node, a constant or '}'")
CRYOLITE_EXPECTED(graph, "graph NAME (INPUTS) -> (OUTPUTS) {")
CRYOLITE_EXPECTED(eof, "the end of the text")
#undef CRYOLITE_EXPECTED

template <class Rule>
struct Control : normal<Rule> {
  template <class Input, class... States>
  [[noreturn]] static void raise(const Input& in, States&&...) {
    throw parse_error(Expected<Rule>::text, in);
  }
};

}  // namespace cryolite::graph::grammar
