#pragma once
#include <stdexcept>
#include <string>

namespace cryolite {

/// Where a fault lies. Empty fields are not printed.
struct Where {
  std::string file;   ///< path of the model, schedule or device file
  std::string node;   ///< ONNX's node name, or optype_N where it has none
  std::string value;  ///< the tensor's name
};

/// A fault of the user's input or environment: one line that says what, where and what to do.
/// The command line prints `what()` and ends with code 1. Bugs of our own are asserts, not this.
class Error : public std::runtime_error {
 public:
  /// `message` says what is wrong, `remedy` what the reader can do about it (may be empty).
  explicit Error(std::string message, Where where = {}, std::string remedy = {});

  const Where& where() const { return where_; }
  const std::string& message() const { return message_; }
  const std::string& remedy() const { return remedy_; }

  /// The same fault with the empty fields of its place filled in from `outer`.
  Error inside(const Where& outer) const;

 private:
  std::string message_;
  Where where_;
  std::string remedy_;
};

}  // namespace cryolite
