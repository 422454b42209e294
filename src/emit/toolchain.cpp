#include "emit/toolchain.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/subprocess.h"

namespace cryolite::emit {
namespace {

std::string first_line(const std::string& text) {
  const size_t error = text.find("error:");
  const size_t begin = error == std::string::npos ? 0 : text.rfind('\n', error) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

void run_tool(const std::vector<std::string>& words, const std::string& doing) {
  const Finished finished = run({words});
  if (finished.is_well()) return;
  throw Error(fmt::format("{} fails: {} {}{}{}", doing, words[0], finished.describe(),
                          finished.output.empty() ? "" : ": ", first_line(finished.output)),
              {}, "check the C compiler (CRYOLITE_CC names another one) and the disk's space");
}

}  // namespace

std::string c_compiler() {
  const char* chosen = std::getenv("CRYOLITE_CC");
  return chosen && *chosen ? chosen : "cc";
}

void require_toolchain() {
  if (!run({{c_compiler(), "--version"}}).is_well())
    throw Error(fmt::format("the C compiler '{}' cannot be run", c_compiler()), {},
                "install one (on Debian: apt-get install gcc), or name it in CRYOLITE_CC");
  if (!run({{"ar", "--version"}}).is_well())
    throw Error("'ar' cannot be run", {}, "install it (on Debian: apt-get install binutils)");
}

void compile_c(const std::string& source, const std::string& object,
               const std::vector<std::string>& include_folders) {
  std::vector<std::string> words{c_compiler(), "-c", "-O2", "-fPIC", "-fvisibility=default"};
  if (source.ends_with(".c")) words.insert(words.end(), {"-std=c11", "-w"});
  for (const std::string& folder : include_folders) words.insert(words.end(), {"-I", folder});
  words.insert(words.end(), {source, "-o", object});
  run_tool(words, "compiling the driver");
}

void make_archive(const std::string& archive, const std::vector<std::string>& objects) {
  std::vector<std::string> words{"ar", "rcsD", archive};
  words.insert(words.end(), objects.begin(), objects.end());
  run_tool(words, "making the archive");
}

void link_shared(const std::string& archive, const std::string& library) {
  run_tool({c_compiler(), "-shared", "-o", library, "-Wl,-Bsymbolic", "-Wl,--whole-archive", archive,
            "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"},
           "linking the model");
}

}  // namespace cryolite::emit
