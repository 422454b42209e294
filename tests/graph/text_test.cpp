#include "graph/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"

namespace cryolite::graph {
namespace {

TEST(Text, PrintsWhatItReads) {
  const std::string text = R"(graph conv_relu (x: f32[1,2,28,28], batch: f32[n,4]) -> (y, "out:0") {
  const w: f32[2,2,1,1] @[0,2,3,1|0:16] = {1, -0.5, inf, 1e-30}
  const b: f32[2] = {1, -0}
  const big: u8[17] = base64"AAECAwQFBgcICQoLDA0ODxA="
  const flags: bool[2] = {1, 0}
  const half: f16[2] = {0.099975586, 65504}
  conv1: c: f32[1,2,28,28] = Conv(x, w, _) {auto_pad="NOTSET", group=1, pads=[1,1,1,1]}
  relu1: y: f32[1,2,28,28] @[0,2,3,1]/(3136,112,4,1) = Relu(c)
  "split 1": "out:0": f32[n=3,?] @[1,0], _, "_": i64[*] = Split(batch, b) {alpha=1e-05, beta=2.0, empty=[], fs=floats[1.0,nan], names=strings["a\"b","\x0a"], t=i32[] = {7}}
}
)";
  EXPECT_EQ(to_text(parse_text(text)), text);
}

TEST(Text, ReadsTheValuesOfTheGraph) {
  const Graph graph = parse_text(R"(
    # a comment
    graph g (x: f32["n",3]) -> (y) {  # another
      const w: f16[2] = {0.5, 1}
      n1: y: f32[n,3], _ = Op(x, _, w) {a=1, b=1.0}
    }
  )");
  EXPECT_EQ(graph.name, "g");
  EXPECT_EQ(graph.value(graph.inputs[0]).type.dims[0], Dim::symbolic("n"));
  EXPECT_EQ(graph.value(1).constant->as_doubles(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(graph.nodes[0].inputs, (std::vector<ValueId>{0, absent, 1}));
  EXPECT_EQ(graph.nodes[0].outputs, (std::vector<ValueId>{2, absent}));
  EXPECT_EQ(std::get<int64_t>(graph.nodes[0].attributes.at("a")), 1);
  EXPECT_EQ(std::get<float>(graph.nodes[0].attributes.at("b")), 1.0f);
}

TEST(Text, KeepsGraphsInAttributes) {
  const std::string text = R"(graph outer (x: f32[2]) -> (y) {
  loop1: y: f32[2] = Loop(x) {body=graph body (i: i64[]) -> (j) {
      add1: j: i64[] = Add(i, i)
    }}
}
)";
  EXPECT_EQ(to_text(parse_text(text)), text);
}

TEST(Text, ElidesLargeConstants) {
  Graph graph = parse_text("graph g () -> (w) { const w: f32[3] = {1, 2, 3} }");
  EXPECT_EQ(to_text(graph, {.elide_constants_over = 2}), "graph g () -> (w) {\n  const w: f32[3] = …\n}\n");
}

TEST(Text, KeepsTheBitsOfNan) {
  const uint32_t bits = 0x7fc01234;
  Graph graph = parse_text("graph g () -> (w) { const w: f32[1] = {1} }");
  graph.values[0].constant =
      Tensor::of_bytes({ElementType::Float32, {1}}, std::string((const char*)&bits, 4));
  const Graph again = parse_text(to_text(graph));
  EXPECT_EQ(*again.values[0].constant->bytes, *graph.values[0].constant->bytes);
}

struct Wrong {
  const char* text;
  const char* place;
  const char* message;
};

TEST(Text, TellsLineAndColumn) {
  const std::vector<Wrong> cases = {
      {"", "1:1", "expected graph NAME"},
      {"graph g (x: f32[1]) -> (y) {\n  a: y: f32[1] = Relu(z)\n}", "2:23", "'z' is not defined"},
      {"graph g (x: f32[1]) -> (y) {\n  a: y: f32[1] Relu(x)\n}", "2:16", "expected '='"},
      {"graph g (x: f33[1]) -> (x) {}", "1:13", "f33 is not an element type"},
      {"graph g (x: f32[1) -> (x) {}", "1:18", "expected ']'"},
      {"graph g (x: f32[1], x: f32[1]) -> (x) {}", "1:21", "defined twice"},
      {"graph g () -> (w) {\n  const w: f32[2] = {1}\n}", "2:21", "has 1 elements, its type 2"},
      {"graph g () -> (w) {\n  const w: i8[1] = {300}\n}", "2:21", "not a number that fits"},
      {"graph g () -> (w) {\n  const w: f32[1] = base64\"A\"\n}", "2:28", "not base64"},
      {"graph g (x: f32[1]) -> (x) {", "1:29", "expected a node, a constant or '}'"},
      {"graph g (x: f32[1]) -> (x) {} y", "1:31", "expected the end"},
      {"graph g (x: f32[1,2] @[0,0]) -> (x) {}", "1:22", "each of the 2 axes once"},
      {"graph g (x: f32[1]) -> (x) {\n a: y: f32[1] = R(x) {k=1, k=2}\n}", "2:28", "given twice"},
      {"graph g (x: f32[1]) -> (x) {\n a: y: f32[1] = R(x)\n a: z: f32[1] = R(x)\n}", "3:2",
       "node 'a' is defined twice"},
      {"graph g (x: f32[1]) -> (\"x) {}", "1:31", "closing quote"},
  };
  for (const Wrong& wrong : cases) {
    try {
      parse_text(wrong.text, "file.txt");
      ADD_FAILURE() << "accepted: " << wrong.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.where().file, std::string("file.txt:") + wrong.place) << wrong.text << "\n"
                                                                            << error.what();
      EXPECT_NE(error.message().find(wrong.message), std::string::npos) << wrong.text << "\n" << error.what();
    }
  }
}

/// Graphs with every kind of name, type, layout, constant and attribute.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : engine_(seed) {}

  Graph make(int depth = 0) {
    Graph graph;
    graph.name = name();
    for (int i = below(3); i >= 0; --i) graph.inputs.push_back(add(graph, false));
    for (int i = below(4); i > 0; --i) add(graph, true);
    for (int i = below(8); i > 0; --i) add_node(graph, depth);
    for (int i = below(3); i >= 0; --i) graph.outputs.push_back(below(static_cast<int>(graph.values.size())));
    return graph;
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }

  std::string name() {
    static constexpr std::string_view letters =
        "ab_./-:\"\\ \n=[]{}(),#@\x7f\xc3\xa9"
        "019";
    std::string text;
    for (int i = below(6); i > 0; --i) text += letters[below(static_cast<int>(letters.size()))];
    return text + std::to_string(count_++);
  }

  Dim dim(bool fixed) {
    if (fixed || below(2)) return below(4);
    if (below(2)) return {};
    Dim symbolic = Dim::symbolic(below(2) ? name() : "7");
    if (below(2)) symbolic.extent = below(9);
    return symbolic;
  }

  TensorType type(bool fixed) {
    TensorType type;
    type.element = static_cast<ElementType>(fixed ? 1 + below(13) : below(14));
    if (!fixed && below(8) == 0) {
      type.has_rank = false;
      return type;
    }
    for (int i = below(4); i > 0; --i) type.dims.push_back(dim(fixed));
    return type;
  }

  Layout layout(int rank) {
    Layout layout;
    if (below(2)) return layout;
    for (int axis = 0; axis < rank; ++axis) layout.order.push_back(axis);
    std::shuffle(layout.order.begin(), layout.order.end(), engine_);
    if (rank > 0 && below(2)) {
      layout.block_axis = below(rank);
      layout.block = 1 + below(16);
    }
    if (below(2))
      for (int i = 0; i < rank + (layout.block_axis >= 0); ++i) layout.strides.push_back(below(1000));
    return layout;
  }

  Tensor tensor(const TensorType& type) {
    std::string bytes(type.bytes(), '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return Tensor::of_bytes(type, bytes);
  }

  ValueId add(Graph& graph, bool constant) {
    Value value{name(), type(constant), {}, {}};
    value.layout = layout(static_cast<int>(value.type.dims.size()));
    if (constant) value.constant = tensor(value.type);
    return graph.add_value(std::move(value));
  }

  float number() { return std::ldexp(static_cast<float>(below(1 << 24)) - (1 << 23), below(200) - 100); }

  Attribute attribute(int depth) {
    switch (below(depth == 0 ? 8 : 7)) {
      case 0:
        return static_cast<int64_t>(engine_()) * (below(2) ? 1 : -1);
      case 1:
        return number();
      case 2:
        return name();
      case 3:
        return std::vector<int64_t>(below(3), -below(9));
      case 4:
        return std::vector<float>(below(3), number());
      case 5:
        return std::vector<std::string>(below(3), name());
      case 6:
        return tensor(type(true));
      default:
        return std::make_shared<const Graph>(make(depth + 1));
    }
  }

  void add_node(Graph& graph, int depth) {
    Node node{name(), name(), {}, {}, {}};
    for (int i = below(4); i > 0; --i)
      node.inputs.push_back(below(5) ? below(static_cast<int>(graph.values.size())) : absent);
    for (int i = below(3); i >= 0; --i) node.outputs.push_back(below(5) ? add(graph, false) : absent);
    for (int i = below(4); i > 0; --i) node.attributes[name()] = attribute(depth);
    graph.add_node(std::move(node));
  }

  std::mt19937 engine_;
  int count_ = 0;
};

/// Same values, nodes and names, whatever the ids.
void expect_equal(const Graph& a, const Graph& b);

void expect_equal(const Value& a, const Value& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.layout, b.layout);
  ASSERT_EQ(a.constant.has_value(), b.constant.has_value());
  if (a.constant) {
    EXPECT_EQ(*a.constant->bytes, *b.constant->bytes);
  }
}

void expect_equal(const Attribute& a, const Attribute& b) {
  ASSERT_EQ(a.index(), b.index());
  if (const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&a)) {
    expect_equal(**graph, *std::get<std::shared_ptr<const Graph>>(b));
  } else if (const auto* tensor = std::get_if<Tensor>(&a)) {
    EXPECT_EQ(tensor->type, std::get<Tensor>(b).type);
    EXPECT_EQ(*tensor->bytes, *std::get<Tensor>(b).bytes);
  } else if (const auto* number = std::get_if<float>(&a)) {
    EXPECT_EQ(*number, std::get<float>(b));
  } else if (const auto* integer = std::get_if<int64_t>(&a)) {
    EXPECT_EQ(*integer, std::get<int64_t>(b));
  } else if (const auto* text = std::get_if<std::string>(&a)) {
    EXPECT_EQ(*text, std::get<std::string>(b));
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&a)) {
    EXPECT_EQ(*integers, std::get<std::vector<int64_t>>(b));
  } else if (const auto* numbers = std::get_if<std::vector<float>>(&a)) {
    EXPECT_EQ(*numbers, std::get<std::vector<float>>(b));
  } else {
    EXPECT_EQ(std::get<std::vector<std::string>>(a), std::get<std::vector<std::string>>(b));
  }
}

void expect_equal(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name, b.name);
  const auto expect_equal_ids = [&](const std::vector<ValueId>& left, const std::vector<ValueId>& right) {
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      ASSERT_EQ(left[i] == absent, right[i] == absent);
      if (left[i] != absent) expect_equal(a.value(left[i]), b.value(right[i]));
    }
  };
  expect_equal_ids(a.inputs, b.inputs);
  expect_equal_ids(a.outputs, b.outputs);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
    EXPECT_EQ(a.nodes[i].op_type, b.nodes[i].op_type);
    expect_equal_ids(a.nodes[i].inputs, b.nodes[i].inputs);
    expect_equal_ids(a.nodes[i].outputs, b.nodes[i].outputs);
    ASSERT_EQ(a.nodes[i].attributes.size(), b.nodes[i].attributes.size());
    for (const auto& [name, attribute] : a.nodes[i].attributes) {
      ASSERT_TRUE(b.nodes[i].attributes.contains(name));
      expect_equal(attribute, b.nodes[i].attributes.at(name));
    }
  }
}

TEST(Text, RandomGraphsRoundTrip) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    const std::string text = to_text(graph);
    const Graph again = parse_text(text, "seed " + std::to_string(seed));
    EXPECT_EQ(to_text(again), text);
    expect_equal(graph, again);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace cryolite::graph
