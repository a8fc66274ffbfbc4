#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
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

// How a program ended. It is killed after a minute unless it has longer, and has 4 GiB of memory
// but under a sanitizer.
struct Ended {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out, err;
  long peak_kib = 0;  // of memory
  double seconds = 0;
};

// Runs a program in `folder`, without standard input. Its output may be long: it goes through
// files.
inline Ended run_program(const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder, unsigned seconds_max = 60) {
  const Folder streams;
  const std::string out = (streams.path() / "out").string(),
                    err = (streams.path() / "err").string();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process for a test");
  if (child == 0) {
    ::alarm(seconds_max);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    constexpr rlimit memory_max{4UL << 30, 4UL << 30};
    ::setrlimit(RLIMIT_AS, &memory_max);
#endif
    if (::chdir(folder.c_str()) != 0) std::_Exit(126);
    const int in = ::open("/dev/null", O_RDONLY);
    const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::dup2(in, 0) < 0 || ::dup2(to_out, 1) < 0 || ::dup2(to_err, 2) < 0) std::_Exit(126);
    ::execv(argv[0], argv.data());
    std::_Exit(127);
  }
  Ended ended;
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child)
    throw std::runtime_error("a test's process is lost");
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = text_of(out);
  ended.err = text_of(err);
  ended.peak_kib = used.ru_maxrss;
  return ended;
}

// The built program, with these arguments.
inline Ended paceline(std::vector<std::string> arguments, const std::filesystem::path& folder) {
  arguments.insert(arguments.begin(), PACELINE_BINARY);
  return run_program(arguments, folder);
}

}  // namespace paceline::test
