#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace cryolite {

struct Command {
  std::vector<std::string> words;        ///< program (found on PATH where it has no slash), then its arguments
  std::chrono::seconds timeout{600};
};

/// How a program ended.
struct Finished {
  enum class How { Exited, Signalled, TimedOut, NotStarted };
  How how = How::NotStarted;
  int code = -1;       ///< exit code, or the signal's number
  std::string output;  ///< standard output and error together
  bool is_well() const { return how == How::Exited && code == 0; }
  /// "ended with code 3", "was killed by signal 11 (Segmentation fault)", "did not end within 60 s"…
  std::string describe() const;
};

/// Runs a program to its end, with no standard input. A program that outlives its timeout is killed.
Finished run(const Command& command);

/// Runs many, `jobs` at once, and calls `done(index, finished)` for each as it ends, one call at a time.
/// Where `done` throws, no more are started; the exception is passed on when those running have ended.
void run_all(const std::vector<Command>& commands, int jobs,
             const std::function<void(size_t, const Finished&)>& done);

}  // namespace cryolite
