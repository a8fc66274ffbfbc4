#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "real/launch/socket.h"
#include "tests/scenarios/process.h"

namespace paceline::test {

using Variables = std::map<std::string, std::string>;

inline std::string free_port() { return std::to_string(real::free_port()); }

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

// What a program is started with.
struct Start {
  std::vector<std::string> command;
  Variables variables = {};  // beside those of the test, but for launchers' variables
  std::string in = {};       // its standard input
};

// A program that runs. At the end it and all below it are gone.
class Program {
 public:
  explicit Program(const Start& start) : begun_(std::chrono::steady_clock::now()) {
    const std::string in = streams_.write("in", start.in), out = path("out"), err = path("err");
    auto words = start.command;
    auto environment = environment_with(start.variables);
    const auto argv = pointers_to(words), envp = pointers_to(environment);
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process for a test");
    if (process_ > 0) return;
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
  Ended end(double seconds_max) {
    if (!comes(seconds_max, [&] { return has_ended(); })) {
      throw std::runtime_error("a program does not end; so far it said: " + text_of(path("err")));
    }
    Ended ended;
    if (WIFEXITED(status_)) ended.exit_code = WEXITSTATUS(status_);
    if (WIFSIGNALED(status_)) ended.signal = WTERMSIG(status_);
    ended.out = text_of(path("out"));
    ended.err = text_of(path("err"));
    ended.seconds = seconds_;
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
    const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - begun_;
    seconds_ = ran.count();
    process_ = -1;
    return true;
  }

  Folder streams_;
  std::chrono::steady_clock::time_point begun_;
  pid_t process_ = -1;
  int status_ = 0;
  double seconds_ = 0;
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
  const std::string said = doctor.end(20).out;
  const auto row = said.find("\"name\": \"" + name + "\"");
  if (row == std::string::npos) return false;
  return said.compare(said.find("\"missing\"", row), 13, "\"missing\": \"\"") == 0;
}

}  // namespace paceline::test
