#include "base/error.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "report/report.h"

namespace cryolite::report {
namespace {

constexpr std::chrono::seconds patience{180};  // a graph of a thousand nodes takes about ten

}  // namespace

std::string to_graph_svg(const plan::Plan& plan) {
  const TemporaryFolder folder;
  const std::string dot = folder.file("plan.dot"), svg = folder.file("plan.svg");
  write_file(dot, to_dot(plan));
  const Finished finished = run({{"dot", "-Tsvg", dot, "-o", svg}, patience});
  const std::string otherwise = "write --dot and draw it otherwise";
  if (finished.how == Finished::How::NotStarted || finished.code == 127)
    throw Error("Graphviz's program 'dot' was not found", {}, "install Debian's package graphviz, or " + otherwise);
  if (!finished.is_well())
    throw Error("Graphviz's program 'dot' " + finished.describe() + " on this plan", {}, otherwise);
  return read_file(svg);
}

}  // namespace cryolite::report
