#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

extern char** environ;

namespace cryolite {
namespace {

using Clock = std::chrono::steady_clock;

/// Starts the program with its output going to `pipe_end`. 0 where it cannot be started (errno is set).
pid_t start(const Command& command, int pipe_end) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_end, 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_end, 2);
  pid_t pid = 0;
  errno = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return errno == 0 ? pid : 0;
}

/// Reads until the program closes its output or the time is over; false then.
bool read_until(int pipe_end, Clock::time_point deadline, std::string& output) {
  char piece[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{pipe_end, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(std::min<int64_t>(left, 1 << 30))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(pipe_end, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace

std::string Finished::describe() const {
  switch (how) {
    case How::Exited: return fmt::format("ended with code {}", code);
    case How::Signalled: return fmt::format("was killed by signal {} ({})", code, ::strsignal(code));
    case How::TimedOut: return fmt::format("did not end within {} s", code);
    case How::NotStarted: break;
  }
  return "could not be started";
}

Finished run(const Command& command) {
  Finished finished;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return finished;
  const pid_t pid = start(command, ends[1]);
  ::close(ends[1]);
  if (pid == 0) {
    finished.output = std::strerror(errno);
    ::close(ends[0]);
    return finished;
  }
  const bool in_time = read_until(ends[0], Clock::now() + command.timeout, finished.output);
  if (!in_time) ::kill(pid, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    finished.how = Finished::How::TimedOut;
    finished.code = static_cast<int>(command.timeout.count());
  } else if (WIFSIGNALED(status)) {
    finished.how = Finished::How::Signalled;
    finished.code = WTERMSIG(status);
  } else {
    finished.how = Finished::How::Exited;
    finished.code = WEXITSTATUS(status);
  }
  return finished;
}

void run_all(const std::vector<Command>& commands, int jobs,
             const std::function<void(size_t, const Finished&)>& done) {
  std::mutex lock;
  size_t next = 0;
  std::exception_ptr fault;
  const auto work = [&] {
    for (;;) {
      size_t index;
      {
        const std::lock_guard guard(lock);
        if (fault || next == commands.size()) return;
        index = next++;
      }
      const Finished finished = run(commands[index]);
      const std::lock_guard guard(lock);
      if (fault) return;
      try {
        done(index, finished);
      } catch (...) {
        fault = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> workers;
  for (int j = 1; j < jobs && j < static_cast<int>(commands.size()); ++j) workers.emplace_back(work);
  work();
  workers.clear();
  if (fault) std::rethrow_exception(fault);
}

}  // namespace cryolite
