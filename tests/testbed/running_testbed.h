#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/testbed/descriptor.h"
#include "tests/testbed/host_entry.h"

namespace paceline::testbed {

// A testbed whose COMMAND waits, for a test that puts sockets into its hosts. Its end kills it.
class RunningTestbed {
 public:
  // `options` come before `-- sh -c SCRIPT`; the script's first line of output says that it runs.
  RunningTestbed(std::vector<std::string> options, const std::string& script) {
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC), "pipe");
    output_ = Descriptor(ends[0]);
    const Descriptor to(ends[1]);
    options.insert(options.begin(), PACELINE_TESTBED_BINARY);
    for (const char* word : {"--", "/bin/sh", "-c", script.c_str()}) options.emplace_back(word);
    std::vector<char*> argv;
    for (std::string& option : options) argv.push_back(option.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    require(process_, "fork");
    if (process_ == 0) {
      ::dup2(to.number(), STDOUT_FILENO);
      ::execv(argv.front(), argv.data());
      std::_Exit(127);
    }
  }
  RunningTestbed(const RunningTestbed&) = delete;
  RunningTestbed& operator=(const RunningTestbed&) = delete;
  ~RunningTestbed() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }

  [[nodiscard]] pid_t process() const { return process_; }

  // The script's next line; empty at its end.
  [[nodiscard]] std::string line() const {
    std::string text;
    for (char one = 0; ::read(output_.number(), &one, 1) == 1 && one != '\n';) text += one;
    return text;
  }

  // The status as wait() has it.
  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

  // Runs `action` on a thread in the network of a host: sockets made there stay there.
  void inside(std::uint32_t host, const std::function<void()>& action) const {
    const int number = first_host_descriptor + static_cast<int>(host);
    const std::string path = "/proc/" + std::to_string(process_) + "/fd/" + std::to_string(number);
    const Descriptor network = opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    std::thread thread([&] {
      if (::setns(network.number(), CLONE_NEWNET) == 0) action();
    });
    thread.join();
  }

  // A socket of a host, bound to its address and `port`; 0 takes a free one.
  [[nodiscard]] Descriptor socket(std::uint32_t host, int type, std::uint16_t port) const {
    int made = -1;
    inside(host, [&] { made = ::socket(AF_INET, type | SOCK_CLOEXEC, 0); });
    Descriptor socket = opened(made, "a socket of " + host_name(host));
    // What never comes fails a test.
    constexpr timeval patience{60, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    const sockaddr_in own = address(host, port);
    require(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)), "bind");
    return socket;
  }

  [[nodiscard]] static sockaddr_in address(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, host_address(host).c_str(), &address.sin_addr);
    return address;
  }

 private:
  pid_t process_ = -1;
  Descriptor output_;
};

}  // namespace paceline::testbed
