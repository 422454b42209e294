#include <fmt/format.h>

#include <tao/pegtl.hpp>

#include "base/error.h"
#include "schedule/schedule.h"

namespace cryolite::schedule {
namespace {

namespace grammar {

using namespace tao::pegtl;  // the grammar below is written in its words

struct gap : star<blank> {};
struct comment : seq<one<'#'>, until<at<eolf>>> {};
struct line_end : seq<gap, opt<comment>, eolf> {};
struct integer : seq<opt<one<'-'>>, plus<digit>> {};
struct word_letter : sor<alnum, one<'_', '$'>> {};
/// A loop may have a dot inside (r.x), a Func may not.
struct word : seq<sor<alpha, one<'_'>>, star<word_letter>> {};
struct loop_word : seq<word, star<one<'.'>, plus<word_letter>>> {};
struct argument : seq<gap, sor<integer, loop_word>, gap> {};
struct arguments : seq<one<'('>, gap, opt<list<argument, one<','>>>, gap, must<one<')'>>> {};
struct call_name : word {};
struct call : seq<one<'.'>, must<call_name>, must<arguments>> {};
struct func_name : word {};
struct func_line : seq<not_at<seq<string<'g', 'r', 'o', 'u', 'p'>, blank>>, func_name, plus<gap, call>, must<line_end>> {};
struct group_name : plus<not_one<'\n', '\r', '#'>> {};
struct group_line : seq<string<'g', 'r', 'o', 'u', 'p'>, plus<blank>, must<group_name>, must<line_end>> {};
struct empty_line : seq<gap, opt<comment>, eol> {};
struct last_line : seq<gap, opt<comment>, eof> {};
struct file : must<star<not_at<last_line>, sor<empty_line, seq<gap, sor<group_line, func_line>>>>, last_line> {};

}  // namespace grammar

struct Reading {
  std::string file;
  std::vector<GroupSchedule> groups;
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
  return text;
}

FuncSchedule& current_line(Reading& reading) { return reading.groups.back().funcs.back(); }

template <class Rule>
struct Action : tao::pegtl::nothing<Rule> {};

template <>
struct Action<grammar::group_name> {
  template <class Input>
  static void apply(const Input& in, Reading& reading) {
    reading.groups.push_back({trimmed(in.string()), {}, reading.file});
  }
};
template <>
struct Action<grammar::func_name> {
  template <class Input>
  static void apply(const Input& in, Reading& reading) {
    const int line = static_cast<int>(in.position().line);
    if (reading.groups.empty())
      throw Error(fmt::format("line {}: '{}' stands before any group", line, in.string()), {.file = reading.file},
                  "begin with a line `group NAME`");
    reading.groups.back().funcs.push_back({in.string(), {}, line});
  }
};
template <>
struct Action<grammar::call_name> {
  template <class Input>
  static void apply(const Input& in, Reading& reading) {
    current_line(reading).directives.push_back({in.string(), {}});
  }
};
template <>
struct Action<grammar::integer> {
  template <class Input>
  static void apply(const Input& in, Reading& reading) {
    current_line(reading).directives.back().arguments.emplace_back(int64_t{std::stoll(in.string())});
  }
};
template <>
struct Action<grammar::loop_word> {
  template <class Input>
  static void apply(const Input& in, Reading& reading) {
    current_line(reading).directives.back().arguments.emplace_back(in.string());
  }
};

std::string argument_text(const Argument& argument) {
  if (const auto* number = std::get_if<int64_t>(&argument)) return std::to_string(*number);
  return std::get<std::string>(argument);
}

}  // namespace

std::string to_text(const GroupSchedule& schedule) {
  std::string text = "group " + schedule.group + "\n";
  for (const FuncSchedule& line : schedule.funcs) {
    if (line.directives.empty()) continue;
    text += line.func;
    for (const Directive& call : line.directives) {
      std::vector<std::string> arguments;
      for (const Argument& argument : call.arguments) arguments.push_back(argument_text(argument));
      text += fmt::format(".{}({})", call.call, fmt::join(arguments, ", "));
    }
    text += "\n";
  }
  return text;
}

std::vector<GroupSchedule> parse_text(std::string_view text, const std::string& file) {
  Reading reading{file, {}};
  tao::pegtl::memory_input in(text.data(), text.size(), file);
  try {
    tao::pegtl::parse<grammar::file, Action>(in, reading);
  } catch (const tao::pegtl::parse_error& fault) {
    const auto& where = fault.positions().front();
    throw Error(fmt::format("line {}, column {}: is not a schedule line", where.line, where.column),
                {.file = file}, "write FUNC.call(arguments).call(arguments), or `group NAME`");
  } catch (const std::out_of_range&) {
    throw Error("holds a number that is too large", {.file = file}, "sizes are below 2^63");
  }
  return std::move(reading.groups);
}

GroupSchedule renamed(GroupSchedule schedule, const std::vector<std::pair<std::string, std::string>>& names) {
  const auto change = [&](std::string& name) {
    for (const auto& [from, to] : names)
      if (name == from) {
        name = to;
        return;
      }
  };
  const auto change_argument = [&](Argument& argument) {
    if (auto* word = std::get_if<std::string>(&argument)) change(*word);
  };
  for (FuncSchedule& line : schedule.funcs) {
    change(line.func);
    for (Directive& call : line.directives) {
      // Loops may be called as Funcs are, so only those arguments that name a Func are changed.
      if (call.arguments.empty()) continue;
      for (const char* level : {"compute_at", "store_at", "hoist_storage", "compute_with"})
        if (call.call == level) change_argument(call.arguments.front());
      if (call.call == "rfactor") change_argument(call.arguments.back());
    }
  }
  return schedule;
}

}  // namespace cryolite::schedule
