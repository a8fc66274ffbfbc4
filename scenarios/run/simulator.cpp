#include "scenarios/run/simulator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "models/contract.h"

namespace paceline {
namespace {

// Beside this program, so that a build or an installation is moved as a whole.
std::string simulator_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw BackendError("paceline-sim", "cannot tell where this program lies");
  return (self.parent_path() / "paceline-sim").string();
}

class Deadline {
 public:
  explicit Deadline(const std::optional<Seconds>& limit) {
    constexpr Seconds limit_max(1e8);  // 3 years; the clock counts 64 bits of nanoseconds
    if (!limit) return;
    const std::chrono::duration<double> left(std::min(*limit, limit_max).value());
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
  }

  // Waits until the file can be read or written, or has ended; false when it is too late.
  [[nodiscard]] bool allows(int file, short events) const {
    pollfd polled{file, events, 0};
    while (true) {
      const int ready = ::poll(&polled, 1, left_ms());
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return true;  // the read or write says what it is
      if (end_ && Clock::now() >= *end_) return false;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // As poll() takes it: rounded up, -1 for no end. It may be called again for what is above a day.
  [[nodiscard]] int left_ms() const {
    if (!end_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now());
    constexpr std::chrono::milliseconds day(86'400'000);
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), day).count());
  }

  std::optional<Clock::time_point> end_;
};

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
    ::fcntl(write_, F_SETFL, O_NONBLOCK);  // a child that does not read must not hold this one
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

  struct Answer {
    std::optional<std::string> line;  // empty: the process died, or is too late
    bool too_late = false;
  };

  Answer ask(const std::string& line, const std::optional<Seconds>& limit) {
    const Deadline deadline(limit);
    switch (send(line + '\n', deadline)) {
      case Progress::ended: return {};
      case Progress::too_late: return {std::nullopt, true};
      case Progress::made: return receive(deadline);
    }
    PACELINE_UNREACHABLE("a progress outside the enumeration");
  }

  void kill() const { ::kill(process_, SIGKILL); }

 private:
  [[noreturn]] static void fail(const std::string& path, int error) {
    throw BackendError("paceline-sim", path + " cannot be started: " + std::strerror(error));
  }

  enum class Progress { made, ended, too_late };

  [[nodiscard]] Progress send(const std::string& text, const Deadline& deadline) const {
    std::size_t written = 0;
    while (written < text.size()) {
      if (!deadline.allows(write_, POLLOUT)) return Progress::too_late;
      const ssize_t n = ::write(write_, text.data() + written, text.size() - written);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n < 0) return Progress::ended;
      written += static_cast<std::size_t>(n);
    }
    return Progress::made;
  }

  Answer receive(const Deadline& deadline) {
    while (true) {
      const auto end = buffer_.find('\n', searched_);
      if (end != std::string::npos) {
        Answer answer{buffer_.substr(0, end)};
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return answer;
      }
      searched_ = buffer_.size();
      if (!deadline.allows(read_, POLLIN)) return {std::nullopt, true};
      char chunk[65536];
      const ssize_t n = ::read(read_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};
      buffer_.append(chunk, static_cast<std::size_t>(n));
    }
  }

  pid_t process_ = 0;
  int write_ = -1, read_ = -1;
  std::string buffer_;
  std::size_t searched_ = 0;
};

traces::Reply parsed(const std::string& line, std::uint64_t id) {
  try {
    auto reply = traces::reply_from_line(line);
    const auto id_of = [](const auto& either) { return either.id; };
    if (std::visit(id_of, reply) == id) return reply;
    return traces::Failure{id, "paceline-sim answered for another point"};
  } catch (const std::runtime_error& error) {
    return traces::Failure{id, std::string("paceline-sim answered nonsense: ") + error.what()};
  }
}

// Asks a process, started when there is none; one without an answer is of no use any more.
traces::Reply reply_to(const Simulation& simulation, const std::string& path,
                       std::optional<LineProcess>& process) {
  if (!process) process.emplace(path);
  const std::uint64_t id = simulation.point.id;
  const auto answer = process->ask(traces::to_line(simulation.point), simulation.limit);
  if (answer.line) return parsed(*answer.line, id);
  if (answer.too_late) process->kill();
  process.reset();
  if (!answer.too_late) return traces::Failure{id, "paceline-sim died"};
  return traces::Failure{id, fmt::format("paceline-sim was killed: no answer within {:.3g} s; "
                                         "PACELINE_SIM_TIMEOUT sets the seconds it has",
                                         simulation.limit->value())};
}

// The next point of a queue for whichever worker asks. Once one has failed there is none.
class Turns {
 public:
  explicit Turns(const SimulationQueue& queue) : queue_(queue) {}

  // Works on points until there is none; keeps what is thrown for rethrow().
  void work(const std::string& path) {
    try {
      std::optional<LineProcess> process;
      while (const auto turn = next()) {
        take(turn->index, reply_to(turn->simulation, path, process));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      next_ = queue_.count;
    }
  }

  void rethrow() const {
    if (trouble_) std::rethrow_exception(trouble_);
  }

 private:
  struct Turn {
    std::size_t index;
    Simulation simulation;
  };

  std::optional<Turn> next() {
    const std::lock_guard lock(mutex_);
    if (next_ >= queue_.count) return std::nullopt;
    const std::size_t index = std::exchange(next_, queue_.count);  // the end, should it throw
    Turn turn{index, queue_.make(index)};
    next_ = index + 1;
    return turn;
  }

  void take(std::size_t index, traces::Reply reply) {
    const std::lock_guard lock(mutex_);
    const std::size_t next = std::exchange(next_, queue_.count);
    queue_.take(index, std::move(reply));
    next_ = next;
  }

  const SimulationQueue& queue_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr trouble_;
};

}  // namespace

void simulate(const SimulationQueue& queue, std::size_t jobs) {
  // A process that dies must not take this one along when it is written to.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  const std::string path = simulator_path();
  Turns turns(queue);
  std::vector<std::thread> workers;
  try {
    for (std::size_t i = 0; i < std::min(jobs, queue.count); ++i) {
      workers.emplace_back([&] { turns.work(path); });
    }
  } catch (const std::system_error&) {
    // The machine has no room for more threads: those there are do it.
    if (workers.empty()) throw;
  }
  for (std::thread& worker : workers) worker.join();
  std::signal(SIGPIPE, on_broken_pipe);
  turns.rethrow();
}

}  // namespace paceline
