#include "base/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace cryolite {
namespace {

namespace fs = std::filesystem;

/// A name that no other process or thread uses.
std::string aside_of(const std::string& path) {
  static std::atomic<unsigned> next{0};
  return fmt::format("{}.{}.{}.part", path, ::getpid(), next++);
}

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  throw Error(fmt::format("cannot be written: {}", why), {.file = path},
              "check that the folder exists, is writable and has space");
}

}  // namespace

std::string read_file(const std::string& path) {
  std::error_code fault;
  if (fs::is_directory(path, fault)) throw Error("cannot be read: it is a folder", {.file = path}, "name a file in it");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot be read", {.file = path}, "check the path and its permissions");
  std::ostringstream contents;
  contents << file.rdbuf();
  return std::move(contents).str();
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const std::string aside = aside_of(path);
  std::error_code fault;
  std::ofstream file(aside, std::ios::binary);
  if (!file) cannot_write(path, "no file can be made there");
  try {
    write(file);
  } catch (...) {
    file.close();
    fs::remove(aside, fault);
    throw;
  }
  file.close();
  if (file) fs::rename(aside, path, fault);
  if (file && !fault) return;
  const std::string why = fault ? fault.message() : "the disk is full, or the folder went away";
  fs::remove(aside, fault);
  cannot_write(path, why);
}

void write_file(const std::string& path, std::string_view contents) {
  write_file(path, [&](std::ostream& out) {
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  });
}

void move_file(const std::string& from, const std::string& to) {
  std::error_code fault;
  fs::rename(from, to, fault);
  if (!fault) return;
  const std::string aside = aside_of(to);
  fs::copy_file(from, aside, fs::copy_options::overwrite_existing, fault);
  if (!fault) fs::rename(aside, to, fault);
  if (!fault) {
    fs::remove(from, fault);
    return;
  }
  const std::string why = fault.message();
  fs::remove(aside, fault);
  cannot_write(to, why);
}

void require_writable_folder(const std::string& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) cannot_write(folder, fault.message());
  if (!fs::is_directory(folder)) cannot_write(folder, "it is not a folder");
  const std::string probe = aside_of(folder + "/probe");
  if (!std::ofstream(probe)) cannot_write(folder, "no file can be made there");
  fs::remove(probe, fault);
}

TemporaryFolder::TemporaryFolder(const std::string& parent) {
  std::error_code fault;
  const fs::path where = parent.empty() ? fs::temp_directory_path(fault) : fs::path(parent);
  std::string name = (where / "cryolite.XXXXXX").string();
  if (!::mkdtemp(name.data())) cannot_write(where.string(), "no temporary folder can be made there");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code fault;
  fs::remove_all(path_, fault);
}

std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return std::string(cache) + "/cryolite";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.cache/cryolite";
}

}  // namespace cryolite
