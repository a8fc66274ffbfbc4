#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder of its own, removed at the end with all that is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "paceline-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a test");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;  // needs more of time and of memory
#else
inline constexpr bool is_sanitized = false;
#endif

// The open files that a program has as its standard streams.
struct Streams {
  int in, out, err;
};

// Starts a program in `folder`. It is killed after that many seconds, which only one that hangs
// takes (six times as many under a sanitizer), and has 4 GiB of memory (under one, as much as there
// is).
inline pid_t start_program(const std::vector<std::string>& arguments,
                           const std::filesystem::path& folder, const Streams& streams,
                           unsigned seconds_max = 240) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process for a test");
  if (child > 0) return child;
  // What a shell starts in the background ignores it, and so would this.
  std::signal(SIGINT, SIG_DFL);
  ::alarm(is_sanitized ? 6 * seconds_max : seconds_max);
  constexpr rlimit memory_max{4UL << 30, 4UL << 30};
  if (!is_sanitized) ::setrlimit(RLIMIT_AS, &memory_max);
  if (::chdir(folder.c_str()) != 0 || ::dup2(streams.in, 0) < 0 || ::dup2(streams.out, 1) < 0 ||
      ::dup2(streams.err, 2) < 0) {
    std::_Exit(126);
  }
  ::execv(argv[0], argv.data());
  std::_Exit(127);
}

// How a program ended.
struct Ended {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out, err;
  long peak_kib = 0;       // of memory, or what the test had when it started it, if more
  double cpu_seconds = 0;  // with its children's: what else the machine does is not in it
};

// CPU time that a process has used so far.
inline double cpu_seconds(pid_t process) {
  // "pid (name) state ...": the name may hold anything. proc(5) counts from 1; the 14th is utime.
  const std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
  std::istringstream rest(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

inline double cpu_seconds(const rusage& used) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A program without standard input whose output may be long: it goes through files.
class Started {
 public:
  Started(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
          unsigned seconds_max = 240) {
    constexpr int to_new = O_WRONLY | O_CREAT | O_CLOEXEC;
    const Streams streams{::open("/dev/null", O_RDONLY | O_CLOEXEC),
                          ::open(file("out").c_str(), to_new, 0600),
                          ::open(file("err").c_str(), to_new, 0600)};
    child_ = start_program(arguments, folder, streams, seconds_max);
    for (const int stream : {streams.in, streams.out, streams.err}) ::close(stream);
  }

  [[nodiscard]] pid_t process() const { return child_; }

  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_;
  }

  // Waits for it, once.
  [[nodiscard]] Ended end() const {
    Ended ended;
    int status = 0;
    rusage used{};
    if (::wait4(child_, &status, 0, &used) != child_) {
      throw std::runtime_error("a test's process is lost");
    }
    ended.cpu_seconds = cpu_seconds(used);
    if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    ended.out = text_of(file("out"));
    ended.err = text_of(file("err"));
    ended.peak_kib = used.ru_maxrss;
    return ended;
  }

 private:
  [[nodiscard]] std::string file(const char* name) const { return (files_.path() / name).string(); }

  Folder files_;
  pid_t child_ = -1;
};

inline Ended run_program(const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder, unsigned seconds_max = 240) {
  return Started(arguments, folder, seconds_max).end();
}

// The built program, with these arguments.
inline Ended paceline(std::vector<std::string> arguments, const std::filesystem::path& folder) {
  arguments.insert(arguments.begin(), PACELINE_BINARY);
  return run_program(arguments, folder);
}

}  // namespace paceline::test
