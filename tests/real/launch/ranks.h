#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "real/errors.h"
#include "real/launch/control.h"
#include "real/launch/socket.h"

namespace paceline::real::test {

// Generous to a busy machine where all goes well, short where a test waits for a limit.
inline const ControlSettings patient{Seconds(60), Seconds(30)};
inline const ControlSettings hasty{Seconds(1.0), Seconds(1.0)};

// An environment written by hand.
inline Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

inline RankIdentity rank_of(std::uint32_t rank, std::uint32_t size) {
  return {Rank(rank), RankCount(size), rank, size, "torchrun"};
}

// A port of this machine that the kernel chose, with the socket that holds it.
struct Port {
  Socket listener = std::move(listen_on({"127.0.0.1", 0}).socket);
  std::uint16_t number = local_address(listener).port;

  [[nodiscard]] std::string url() const { return "tcp://127.0.0.1:" + std::to_string(number); }
  // Waits until somebody has connected and was not accepted yet.
  void wait_for_knock() const {
    pollfd knock{listener.file(), POLLIN, 0};
    while (::poll(&knock, 1, -1) != 1) {
    }
  }
  // Rank 0 takes over a copy: the port stays held.
  [[nodiscard]] Rendezvous rendezvous(std::uint32_t rank) const {
    Rendezvous where = parse_rendezvous(url(), environment_of({}));
    if (rank == 0) where.listener = ::dup(listener.file());
    return where;
  }
};

// A folder of a test's own, gone at the end.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "paceline-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};

// Lets threads or processes that were forked after it was made go on, one at a time.
class Gate {
 public:
  Gate() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe for a test");
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    for (const int end : ends_) ::close(end);
  }
  void open() const { EXPECT_EQ(::write(ends_[1], "", 1), 1); }
  void wait() const {
    char one = 0;
    EXPECT_EQ(::read(ends_[0], &one, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

// What each rank, a thread, makes of its part; what it throws is its text.
inline std::vector<std::string> as_threads(std::uint32_t ranks,
                                           const std::function<std::string(std::uint32_t)>& part) {
  std::vector<std::string> results(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        results[rank] = part(rank);
      } catch (const std::exception& error) {
        results[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// Ranks as processes; each one's text comes through a pipe. Those that still run are killed at the
// end.
class Processes {
 public:
  Processes(std::uint32_t ranks, const std::function<std::string(std::uint32_t)>& part) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) start(rank, part);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() {
    for (const Started& one : all_) {
      ::kill(one.pid, SIGKILL);
      ::waitpid(one.pid, nullptr, 0);
    }
  }

  void signal(std::uint32_t rank, int number) const { ::kill(all_[rank].pid, number); }
  [[nodiscard]] pid_t pid(std::uint32_t rank) const { return all_[rank].pid; }

  // A line that the rank wrote by say(); waits for it.
  std::string line(std::uint32_t rank) {
    std::string text;
    for (char c = 0; ::read(all_[rank].pipe.file(), &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

  // In a rank: a line to the test.
  static void say(const std::string& text) {
    const std::string line = text + '\n';
    EXPECT_EQ(::write(own_pipe, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }

 private:
  struct Started {
    pid_t pid;
    Socket pipe;
  };
  static inline int own_pipe = -1;

  void start(std::uint32_t rank, const std::function<std::string(std::uint32_t)>& part) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      own_pipe = ends[1];
      try {
        say(part(rank));
      } catch (const std::exception& error) {
        say(error.what());
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    all_.push_back({pid, Socket(ends[0])});
  }

  std::vector<Started> all_;
};

}  // namespace paceline::real::test
