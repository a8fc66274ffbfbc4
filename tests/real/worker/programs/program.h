#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "real/launch/socket.h"
#include "tests/scenarios/process.h"

namespace paceline::test {

using Variables = std::map<std::string, std::string>;

inline std::string free_port() { return std::to_string(real::free_port()); }

// In which whatever does not hang is done, however busy the machine.
constexpr double hangs_after_s = 60;

// Whether it came to be within that many seconds.
inline bool comes(double seconds, const std::function<bool()>& claim) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!claim()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Processes below one, as the kernel says now.
inline std::vector<pid_t> below(pid_t process) {
  std::vector<pid_t> all;
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  std::error_code ended;
  for (const auto& thread : std::filesystem::directory_iterator(threads, ended)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; file >> child;) {
      all.push_back(child);
      const auto more = below(child);
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  return all;
}

inline bool is_alive(pid_t process) {
  const std::string state = text_of("/proc/" + std::to_string(process) + "/stat");
  return !state.empty() && state.find(") Z") == std::string::npos;
}

inline bool is_any_alive(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) {
    if (is_alive(process)) return true;
  }
  return false;
}

inline std::string variable_of(pid_t process, const std::string& name) {
  const std::string all = '\0' + text_of("/proc/" + std::to_string(process) + "/environ");
  const auto begin = all.find('\0' + name + '=');
  if (begin == std::string::npos) return "";
  return all.c_str() + begin + name.size() + 2;
}

// The processes that are ranks of a run below `process`, by number.
inline std::map<std::string, pid_t> ranks_below(pid_t process) {
  std::map<std::string, pid_t> ranks;
  for (const pid_t one : below(process)) {
    const std::string command = text_of("/proc/" + std::to_string(one) + "/cmdline");
    if (!std::string_view(command.c_str()).ends_with("/paceline-worker")) continue;
    // Those that start ranks, or are asked about themselves, are none.
    if (command.find("--timeout") == std::string::npos) continue;
    if (command.find("--ranks") != std::string::npos) continue;
    std::string rank = variable_of(one, "OMPI_COMM_WORLD_RANK");
    if (rank.empty()) rank = variable_of(one, "RANK");
    if (!rank.empty()) ranks[rank] = one;
  }
  return ranks;
}

// Bytes that a process has read of anything (proc(5)).
inline std::uint64_t bytes_read(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/io");
  std::string name;
  std::uint64_t bytes = 0;
  file >> name >> bytes;
  return bytes;
}

// Waits until a run below `process` has so many ranks and `paceline`, which reads a line of each
// step, of some 50 bytes, has heard of two or more. The ranks; empty: that does not come.
inline std::map<std::string, pid_t> ranks_in_steps(pid_t process, std::size_t ranks,
                                                   pid_t paceline) {
  std::map<std::string, pid_t> all;
  const auto has_all = [&] { return (all = ranks_below(process)).size() == ranks; };
  if (!comes(hangs_after_s, has_all)) return {};
  const std::uint64_t two_lines = bytes_read(paceline) + 100;
  if (!comes(hangs_after_s, [&] { return bytes_read(paceline) >= two_lines; })) return {};
  return all;
}

// What a program is started with.
struct Start {
  std::vector<std::string> command;
  Variables variables = {};  // beside those of the test, but for launchers' variables
  std::string in = {};       // its standard input
};

// A program that runs. At the end it and all below it are gone.
class Program {
 public:
  explicit Program(const Start& start) {
    const std::string in = streams_.write("in", start.in), out = path("out"), err = path("err");
    auto words = start.command;
    auto environment = environment_with(start.variables);
    const auto argv = pointers_to(words), envp = pointers_to(environment);
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process for a test");
    if (process_ > 0) return;
    std::signal(SIGINT, SIG_DFL);  // what a shell starts in the background ignores it
    const int from = ::open(in.c_str(), O_RDONLY);
    const int to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const int complain = ::open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (::dup2(from, 0) < 0 || ::dup2(to, 1) < 0 || ::dup2(complain, 2) < 0) std::_Exit(126);
    ::execvpe(argv[0], argv.data(), envp.data());
    std::_Exit(127);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (process_ <= 0) return;
    const auto all = below(process_);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    // Who has something to tidy away has a moment for it.
    if (comes(8, [&] { return !is_any_alive(all); })) return;
    for (const pid_t process : all) ::kill(process, SIGKILL);
  }

  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] bool has_ended() {
    return process_ < 0 || (::waitpid(process_, &status_, WNOHANG) == process_ && note_end());
  }

  // Waits for its end. Throws when it takes longer than this.
  Ended end(double seconds_max = hangs_after_s) {
    if (!comes(seconds_max, [&] { return has_ended(); })) {
      throw std::runtime_error("a program does not end; so far it said: " + text_of(path("err")));
    }
    Ended ended;
    if (WIFEXITED(status_)) ended.exit_code = WEXITSTATUS(status_);
    if (WIFSIGNALED(status_)) ended.signal = WTERMSIG(status_);
    ended.out = text_of(path("out"));
    ended.err = text_of(path("err"));
    return ended;
  }

 private:
  static std::vector<std::string> environment_with(const Variables& variables) {
    std::vector<std::string> all;
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string entry = *one, name = entry.substr(0, entry.find('='));
      const bool is_launchers = name.starts_with("OMPI_") || name.starts_with("SLURM_") ||
                                name.starts_with("PACELINE_") || name.starts_with("MASTER_") ||
                                name == "RANK" || name == "WORLD_SIZE";
      if (!is_launchers && !variables.contains(name)) all.push_back(entry);
    }
    for (const auto& [name, value] : variables) all.push_back(name + '=' + value);
    if (!variables.contains("PACELINE_CONNECT_TIMEOUT")) {
      all.push_back("PACELINE_CONNECT_TIMEOUT=" + std::to_string(hangs_after_s) + 's');
    }
    return all;
  }
  static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }
  [[nodiscard]] std::string path(const char* name) const {
    return (streams_.path() / name).string();
  }
  bool note_end() {
    process_ = -1;
    return true;
  }

  Folder streams_;
  pid_t process_ = -1;
  int status_ = 0;
};

// The lines of a text, each without its end.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Root may start mpirun when it says so.
inline Variables with_mpirun(Variables variables) {
  variables.merge(
      Variables{{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  return variables;
}

// Whether a backend can be used here, by what the worker itself says.
inline bool has_backend(const std::string& name) {
  Program doctor({{PACELINE_WORKER_BINARY, "--doctor"}});
  const std::string said = doctor.end().out;
  const auto row = said.find("\"name\": \"" + name + "\"");
  if (row == std::string::npos) return false;
  return said.compare(said.find("\"missing\"", row), 13, "\"missing\": \"\"") == 0;
}

}  // namespace paceline::test
