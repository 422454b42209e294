#pragma once
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"

/// Runs the built program on input that is wrong, and checks how it says so.
namespace cryolite::cli::test {

/// The bytes of an ONNX file; `graph` is ONNX's text form, "name (inputs) => (outputs) { nodes }".
inline std::string onnx_file(const std::string& graph, int opset = 13) {
  ::onnx::ModelProto model;
  const std::string text = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                           ", \"com.acme\" : 1]>\n" + graph;
  const auto status = ::onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << "\n" << text;
  return model.SerializeAsString();
}

/// Files by their path in the folder that the program is started in; a path that ends in / is a folder.
using Files = std::map<std::string, std::string>;

struct Case {
  std::string name;
  Files files;
  std::string command;            ///< after "cryolite", words parted by blanks
  std::vector<std::string> says;  ///< parts of the line: the place, the fault, the remedy
  int code = 1;
};

/// Everything below a folder, with contents.
inline Files contents_of(const std::string& folder) {
  namespace fs = std::filesystem;
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).string();
    if (entry.is_directory())
      files[path + "/"];
    else
      files[path] = entry.is_regular_file() ? read_file(entry.path().string()) : "";
  }
  return files;
}

inline void make(const std::string& folder, const Files& files) {
  namespace fs = std::filesystem;
  for (const auto& [path, contents] : files) {
    const fs::path whole = fs::path(folder) / path;
    fs::create_directories(path.ends_with('/') ? whole : whole.parent_path());
    if (!path.ends_with('/')) write_file(whole.string(), contents);
  }
}

/// What the program wrote to standard error, and how it ended, when started in `folder`.
inline Finished run_in(const std::string& folder, const std::string& command) {
  // Kernels and the host's measure are kept in a cache of the tests.
  std::vector<std::string> words{"sh", "-c",
                                 "cd \"$1\" && shift && XDG_CACHE_HOME=" CRYOLITE_TEST_CACHE
                                 " exec \"$@\" 3>&2 2>&1 >/dev/null 3>&-",
                                 "sh", folder, CRYOLITE_PROGRAM};
  std::istringstream in(command);
  for (std::string word; in >> word;) words.push_back(word);
  return run({words, std::chrono::seconds(30)});
}

/// The lines but those that tell how far the kernels are.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.ends_with(" kernels compiled")) lines.push_back(line);
  return lines;
}

/// `prepare` may make in the folder what Files cannot say.
inline void expect_refused(const Case& wrong, const std::function<void(const std::string&)>& prepare = {}) {
  SCOPED_TRACE(wrong.name + ": cryolite " + wrong.command);
  const TemporaryFolder folder;
  make(folder.path(), wrong.files);
  if (prepare) prepare(folder.path());
  const Files before = contents_of(folder.path());
  const Finished finished = run_in(folder.path(), wrong.command);
  EXPECT_EQ(finished.how, Finished::How::Exited) << finished.describe();
  EXPECT_EQ(finished.code, wrong.code) << finished.output;
  const std::vector<std::string> lines = lines_of(finished.output);
  if (wrong.code == 1) {
    EXPECT_EQ(lines.size(), 1u) << finished.output;
    EXPECT_TRUE(finished.output.find("cryolite: ") != std::string::npos) << finished.output;
    EXPECT_NE(finished.output.find("; "), std::string::npos) << "no remedy: " << finished.output;
  }
  for (const std::string& part : wrong.says)
    EXPECT_NE(finished.output.find(part), std::string::npos) << "no '" << part << "': " << finished.output;
  EXPECT_TRUE(contents_of(folder.path()) == before) << "files are left or changed";
  if (std::getenv("CRYOLITE_TEST_PRINT")) std::printf("%s\n   %s", wrong.name.c_str(), finished.output.c_str());
}

}  // namespace cryolite::cli::test
