#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace cryolite {

/// Throws Error (file, remedy) where it cannot be read.
std::string read_file(const std::string& path);

/// Writes aside in the same folder, then renames: readers see the old file or the whole new one.
/// Throws Error (file, remedy).
void write_file(const std::string& path, std::string_view contents);
/// The same for contents that are made piece by piece.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Moves or copies `from` to `to` (aside, then renamed).
void move_file(const std::string& from, const std::string& to);

/// Makes the folder if need be and checks that files can be made in it. Throws Error (file, remedy).
void require_writable_folder(const std::string& folder);

/// A folder of its own that is removed, with all that is in it, at the end of its life.
class TemporaryFolder {
 public:
  /// Inside `parent`, or of the system's place for temporary files where that is empty.
  explicit TemporaryFolder(const std::string& parent = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// ${XDG_CACHE_HOME:-~/.cache}/cryolite, not necessarily made yet.
std::string cache_folder();

}  // namespace cryolite
