#include "scenarios/process/line_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "models/contract.h"
#include "scenarios/errors.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

// Empty: it was built. The definitions are those of scenarios/CMakeLists.txt.
std::string_view why_left_out(std::string_view name) {
#ifdef PACELINE_WITHOUT_SIM
  if (name == "paceline-sim") {
    return "is not in this build (PACELINE_WITH_SIM=OFF); fidelity folded predicts without it";
  }
#endif
#ifdef PACELINE_WITHOUT_REAL
  if (name == "paceline-worker") {
    return "is not in this build (PACELINE_WITH_REAL=OFF), which predicts and does not measure";
  }
#endif
#ifdef PACELINE_WITHOUT_MPI
  if (name == "paceline-sweep") {
    return "is not in this build, which was made without MPI; --shard 1/8 splits a sweep without "
           "it";
  }
#endif
  return name.empty() ? "has no name" : "";
}

}  // namespace

std::string executor_path(const std::string& name) {
  if (const auto why = why_left_out(name); !why.empty()) {
    throw BackendError(name, std::string(why));
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw BackendError(name, "cannot find the folder of this program");
  return (self.parent_path() / name).string();
}

namespace {

// Of standard error that is kept: enough for a page of a library's complaints.
constexpr std::size_t last_words_max = 16384;

using Pipe = std::array<int, 2>;

// Ends that do not pass to other children. Sockets, as a write to a pipe that nobody reads would
// end this process.
Pipe make_pipe(const std::string& name) {
  Pipe ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw BackendError(name, std::string("no pipe to it: ") + std::strerror(errno));
  }
  return ends;
}

void close_once(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

// 128 and the number for a signal, as a shell has it.
int status_from(int waited) {
  return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

}  // namespace

class LineProcess::Deadline {
 public:
  explicit Deadline(const std::optional<Seconds>& limit) {
    constexpr Seconds limit_max(1e8);  // 3 years; the clock counts 64 bits of nanoseconds
    if (!limit) return;
    const std::chrono::duration<double> left(std::min(*limit, limit_max).value());
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
  }

  // Waits until one of the files can be read or written, or has ended, `slice_ms` at most; false
  // when it is too late. With nothing ready the files say so.
  template <std::size_t n>
  [[nodiscard]] bool allows(std::array<pollfd, n>& files, int slice_ms) const {
    const int left = left_ms();
    const int ready = ::poll(files.data(), n, left < 0 ? slice_ms : std::min(left, slice_ms));
    return ready > 0 || !end_ || Clock::now() < *end_;
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

LineProcess::LineProcess(const ExecutorCommand& command) : stopped_max_(command.stopped_max) {
  Pipe to = make_pipe(command.name), from = make_pipe(command.name);
  Pipe complaints{-1, -1};
  if (command.keeps_quiet) complaints = make_pipe(command.name);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  if (command.keeps_quiet) {
    ::posix_spawn_file_actions_adddup2(&actions, complaints[1], STDERR_FILENO);
  }
  std::vector<char*> arguments;
  for (const auto& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const int error =
      ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    release_memory(process_);
    if (command.memory_max) limit_memory(process_, *command.memory_max);
  }
  close_once(to[0]);
  close_once(from[1]);
  close_once(complaints[1]);
  write_ = to[1];
  read_ = from[0];
  error_ = complaints[0];
  // A child that does not read must not hold this one.
  ::fcntl(write_, F_SETFL, O_NONBLOCK);
  if (error_ >= 0) ::fcntl(error_, F_SETFL, O_NONBLOCK);
  if (error != 0) {
    status_ = 127;
    close_once(write_);
    close_once(read_);
    close_once(error_);
    throw BackendError(command.name,
                       command.arguments[0] + " cannot be started: " + std::strerror(error));
  }
}

LineProcess::~LineProcess() { (void)end(); }

LineProcess::Answer LineProcess::ask(const std::string& line, const std::optional<Seconds>& limit) {
  const Deadline deadline(limit);
  switch (send(line + '\n', deadline)) {
    case Progress::ended: return {};
    case Progress::too_late: return {std::nullopt, true};
    case Progress::made: return receive(deadline);
  }
  PACELINE_UNREACHABLE("a progress outside the enumeration");
}

LineProcess::Answer LineProcess::listen(const std::optional<Seconds>& limit) {
  return receive(Deadline(limit));
}

void LineProcess::kill() const {
  if (!status_) ::kill(process_, SIGKILL);
}

void LineProcess::terminate() const {
  if (!status_) ::kill(process_, SIGTERM);
}

int LineProcess::end() {
  is_ending_ = true;  // which nothing stops
  if (write_ < 0 && read_ < 0 && status_) return *status_;
  close_once(write_);  // its input ends, so it ends
  close_once(read_);
  if (error_ >= 0) {
    // What it still has to say must not block it.
    std::array<pollfd, 1> said{{{error_, POLLIN, 0}}};
    while (error_ >= 0 && allows(Deadline(std::nullopt), said)) hear_out();
    close_once(error_);
  }
  int status = 0;
  while (!status_ && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!status_) status_ = status_from(status);
  return *status_;
}

template <std::size_t n>
bool LineProcess::allows(const Deadline& deadline, std::array<pollfd, n>& files) {
  // Of what is stopped a parent hears only when it asks.
  constexpr int look_ms = 200, day_ms = 86'400'000;
  std::array<pollfd, n + 1> all{};
  while (true) {
    std::ranges::copy(files, all.begin());
    all[n] = {is_ending_ ? -1 : StopRequest::file(), POLLIN, 0};
    for (pollfd& file : all) file.revents = 0;
    const bool in_time = deadline.allows(all, stopped_max_ ? look_ms : day_ms);
    if (all[n].revents != 0) throw Stopped();
    if (!in_time) return false;
    std::copy_n(all.begin(), n, files.begin());
    for (const pollfd& file : files) {
      if (file.revents != 0) return true;
    }
    if (stopped_max_) look_whether_stopped();
    if (status_) return false;  // what it started may hold its files open
  }
}

// Asks it to end, so that it ends its own children, then kills it.
void LineProcess::look_whether_stopped() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds ending_max(4);
  if (status_) return;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG | WUNTRACED | WCONTINUED) == process_) {
    if (WIFSTOPPED(status)) {
      if (!stopped_since_) stopped_since_ = Clock::now();
    } else if (WIFCONTINUED(status)) {
      if (!was_asked_to_end_) stopped_since_.reset();
    } else {
      status_ = status_from(status);
      return;
    }
  }
  if (!stopped_since_) return;
  const std::chrono::duration<double> stopped = Clock::now() - *stopped_since_;
  if (stopped.count() <= stopped_max_->value()) return;
  ::kill(process_, was_asked_to_end_ ? SIGKILL : SIGTERM);
  ::kill(process_, SIGCONT);
  if (!was_asked_to_end_) stopped_max_ = *stopped_max_ + Seconds(ending_max.count());
  was_asked_to_end_ = true;
}

LineProcess::Progress LineProcess::send(const std::string& text, const Deadline& deadline) {
  std::size_t written = 0;
  while (written < text.size()) {
    std::array<pollfd, 2> files{{{write_, POLLOUT, 0}, {error_, POLLIN, 0}}};
    if (!allows(deadline, files)) return Progress::too_late;
    if (files[1].revents != 0) hear_out();
    if (files[0].revents == 0) continue;
    const ssize_t n = ::send(write_, text.data() + written, text.size() - written, MSG_NOSIGNAL);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return Progress::ended;
    written += static_cast<std::size_t>(n);
  }
  return Progress::made;
}

LineProcess::Answer LineProcess::receive(const Deadline& deadline) {
  while (true) {
    const auto end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      Answer answer{buffer_.substr(0, end)};
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return answer;
    }
    searched_ = buffer_.size();
    std::array<pollfd, 2> files{{{read_, POLLIN, 0}, {error_, POLLIN, 0}}};
    if (!allows(deadline, files)) return {std::nullopt, true};
    if (files[1].revents != 0) hear_out();
    if (files[0].revents == 0) continue;
    std::array<char, 65536> chunk{};
    const ssize_t n = ::read(read_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    buffer_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

// Takes what there is on standard error.
void LineProcess::hear_out() {
  std::array<char, 4096> chunk{};
  while (true) {
    const ssize_t n = ::read(error_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return close_once(error_);
    last_words_.append(chunk.data(), static_cast<std::size_t>(n));
    if (last_words_.size() > 2 * last_words_max) {
      last_words_.erase(0, last_words_.size() - last_words_max);
    }
  }
}

}  // namespace paceline
