#include "schedule/nest.h"

#include <fmt/format.h>

#include <algorithm>

namespace cryolite::schedule {
namespace {

void replace(std::vector<std::string>& loops, const std::string& old, const std::vector<std::string>& made) {
  const auto at = std::find(loops.begin(), loops.end(), old);
  if (at == loops.end()) return;
  const auto place = loops.erase(at);
  loops.insert(place, made.begin(), made.end());
}

void reorder(std::vector<std::string>& loops, const std::vector<std::string>& order) {
  std::vector<size_t> places;
  for (size_t i = 0; i < loops.size(); ++i)
    if (std::count(order.begin(), order.end(), loops[i])) places.push_back(i);
  for (size_t i = 0; i < places.size() && i < order.size(); ++i) loops[places[i]] = order[i];
}

}  // namespace

Nest nest_of(const FuncSchedule& line, const ops::Stage& stage) {
  Nest nest;
  for (const Halide::Var& var : stage.laid.vars) {
    nest.loops.push_back(var.name());
    nest.origins[var.name()] = var.name();
  }
  for (const Directive& call : line.directives) {
    if (call.call == "update") break;
    std::vector<std::string> words;
    for (const Argument& argument : call.arguments)
      if (const auto* word = std::get_if<std::string>(&argument)) words.push_back(*word);
    if (call.call == "split") {
      const int64_t factor = std::get<int64_t>(call.arguments.at(3));
      nest.origins[words[1]] = fmt::format("outer of ({}) by {}", nest.origins[words[0]], factor);
      nest.origins[words[2]] = fmt::format("inner of ({}) by {}", nest.origins[words[0]], factor);
      replace(nest.loops, words[0], {words[2], words[1]});
    } else if (call.call == "fuse") {
      nest.origins[words[2]] = fmt::format("({}) and ({})", nest.origins[words[0]], nest.origins[words[1]]);
      replace(nest.loops, words[1], {words[2]});
      replace(nest.loops, words[0], {});
    } else if (call.call == "reorder") {
      reorder(nest.loops, words);
    } else {
      for (const char* kind : {"parallel", "gpu_blocks", "gpu_threads", "vectorize", "unroll"})
        if (call.call == kind)
          for (const std::string& word : words) nest.kinds.emplace(word, kind);
    }
  }
  return nest;
}

std::string innermost_shared(const Nest& a, const Nest& b) {
  std::string shared;
  const auto kind = [](const Nest& nest, const std::string& loop) {
    const auto found = nest.kinds.find(loop);
    return found == nest.kinds.end() ? std::string() : found->second;
  };
  for (size_t i = 1; i <= std::min(a.loops.size(), b.loops.size()); ++i) {
    const std::string& loop = a.loops[a.loops.size() - i];
    const std::string how = kind(a, loop);
    if (loop != b.loops[b.loops.size() - i] || how != kind(b, loop) || a.origins.at(loop) != b.origins.at(loop)) break;
    if (how != "" && how != "parallel" && how != "gpu_blocks") break;
    shared = loop;
  }
  return shared;
}

}  // namespace cryolite::schedule
