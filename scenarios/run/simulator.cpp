#include "scenarios/run/simulator.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace paceline {
namespace {

// Beside this program, so that a build or an installation is moved as a whole.
std::string simulator_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw BackendError("paceline-sim", "cannot tell where this program lies");
  return (self.parent_path() / "paceline-sim").string();
}

// A child process that answers each line with a line.
class LineProcess {
 public:
  explicit LineProcess(const std::string& path) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0) fail(path, errno);
    if (::pipe2(from, O_CLOEXEC) != 0) {
      const int error = errno;
      ::close(to[0]);
      ::close(to[1]);
      fail(path, error);
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    const int error = ::posix_spawn(&process_, path.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    write_ = to[1];
    read_ = from[0];
    if (error != 0) {
      ::close(write_);
      ::close(read_);
      fail(path, error);
    }
  }
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  ~LineProcess() {
    ::close(write_);  // its input ends, so it ends
    ::close(read_);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  // Empty when the process died before it answered.
  std::optional<std::string> ask(const std::string& line) {
    if (!send(line + '\n')) return std::nullopt;
    while (true) {
      const auto end = buffer_.find('\n', searched_);
      if (end != std::string::npos) {
        std::string reply = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return reply;
      }
      searched_ = buffer_.size();
      char chunk[65536];
      const ssize_t n = ::read(read_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      buffer_.append(chunk, static_cast<std::size_t>(n));
    }
  }

 private:
  [[noreturn]] static void fail(const std::string& path, int error) {
    throw BackendError("paceline-sim", path + " cannot be started: " + std::strerror(error));
  }

  [[nodiscard]] bool send(const std::string& text) const {
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t n = ::write(write_, text.data() + written, text.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      written += static_cast<std::size_t>(n);
    }
    return true;
  }

  pid_t process_ = 0;
  int write_ = -1, read_ = -1;
  std::string buffer_;
  std::size_t searched_ = 0;
};

traces::Reply parsed(const std::optional<std::string>& line, std::uint64_t id) {
  if (!line) return traces::Failure{id, "paceline-sim died"};
  try {
    auto reply = traces::reply_from_line(*line);
    const auto id_of = [](const auto& either) { return either.id; };
    if (std::visit(id_of, reply) == id) return reply;
    return traces::Failure{id, "paceline-sim answered for another point"};
  } catch (const std::runtime_error& error) {
    return traces::Failure{id, std::string("paceline-sim answered nonsense: ") + error.what()};
  }
}

}  // namespace

std::vector<traces::Reply> simulate(const std::vector<const ResolvedPoint*>& points,
                                    std::size_t jobs, const std::function<void()>& on_done) {
  // A process that dies must not take this one along when it is written to.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  const std::string path = simulator_path();
  std::vector<traces::Reply> replies(points.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr trouble;
  const auto work = [&] {
    try {
      std::optional<LineProcess> process;
      for (std::size_t i = next++; i < points.size(); i = next++) {
        if (!process) process.emplace(path);
        const auto line = process->ask(traces::to_line(*points[i]));
        if (!line) process.reset();
        replies[i] = parsed(line, points[i]->id);
        const std::lock_guard lock(mutex);
        on_done();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      trouble = std::current_exception();
      next = points.size();
    }
  };
  std::vector<std::thread> workers;
  try {
    for (std::size_t i = 0; i < std::min(jobs, points.size()); ++i) workers.emplace_back(work);
  } catch (const std::system_error&) {
    // The machine has no room for more threads: those there are do it.
    if (workers.empty()) throw;
  }
  for (std::thread& worker : workers) worker.join();
  std::signal(SIGPIPE, on_broken_pipe);
  if (trouble) std::rethrow_exception(trouble);
  return replies;
}

}  // namespace paceline
