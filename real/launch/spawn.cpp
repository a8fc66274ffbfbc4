#include "real/launch/spawn.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "models/contract.h"
#include "real/errors.h"
#include "real/launch/child_process.h"
#include "real/launch/interruption.h"
#include "real/launch/socket.h"

namespace paceline::real {
namespace {

constexpr std::string_view held_prefix = "paceline-worker:";
// Asked to end, ranks write down what they have measured so far; that is done in a moment.
constexpr Seconds grace_after_signal_max(2.0);

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

struct RankProcess {
  Child child;
  std::string partial;  // a line that has not ended
  std::optional<std::string> held;
  bool running = true;
  int status = 0;  // as waitpid() says
  Clock::time_point ended;
};

class Ranks {
 public:
  explicit Ranks(Seconds grace) : grace_(grace) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  // Also when not all could be started: none stays behind.
  ~Ranks() {
    kill_all(SIGKILL);
    for (RankProcess& rank : all_) {
      while (rank.running && ::waitpid(rank.child.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void add(Child child) { all_.emplace_back().child = std::move(child); }

  int supervise(const Interruption& interruption) {
    while (std::any_of(all_.begin(), all_.end(), [](const auto& rank) { return rank.running; })) {
      wait(interruption);
      pass_errors();
      reap();
      if (const int number = interruption.take()) interrupt(number);
      if (deadline_ && Clock::now() >= *deadline_ && !killed_) {
        killed_ = true;
        kill_all(SIGKILL);
      }
    }
    pass_errors();
    return conclude();
  }

 private:
  void wait(const Interruption& interruption) {
    std::vector<pollfd> polled{{interruption.file(), POLLIN, 0}};
    bool is_told = true;
    for (const RankProcess& rank : all_) {
      if (rank.child.errors) polled.push_back({rank.child.errors.file(), POLLIN, 0});
      if (rank.running) {
        polled.push_back({rank.child.ended.file(), POLLIN, 0});
        is_told = is_told && rank.child.ended;
      }
    }
    // Where the kernel does not notify of an exit, it is polled.
    int limit_ms = is_told ? -1 : 20;
    if (deadline_ && !killed_) {
      const int left = milliseconds_until(*deadline_);
      limit_ms = limit_ms < 0 ? left : std::min(left, limit_ms);
    }
    ::poll(polled.data(), polled.size(), limit_ms);
  }

  void pass_errors() {
    for (RankProcess& rank : all_) {
      char bytes[65536];
      while (rank.child.errors) {
        const ssize_t n = ::read(rank.child.errors.file(), bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        if (n > 0) {
          rank.partial.append(bytes, static_cast<std::size_t>(n));
        } else {
          if (!rank.partial.empty()) rank.partial += '\n';
          rank.child.errors = Socket();
        }
        pass_lines(rank);
      }
    }
  }

  void pass_lines(RankProcess& rank) {
    std::size_t begin = 0;
    for (auto end = rank.partial.find('\n'); end != std::string::npos;
         end = rank.partial.find('\n', begin)) {
      const auto line = std::string_view(rank.partial).substr(begin, end + 1 - begin);
      if (!line.starts_with(held_prefix)) {
        write_to_stderr(line);
      } else if (!rank.held) {
        rank.held = line;
      }
      begin = end + 1;
    }
    rank.partial.erase(0, begin);
  }

  void reap() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      RankProcess& rank = all_[i];
      if (!rank.running || ::waitpid(rank.child.pid, &rank.status, WNOHANG) != rank.child.pid) {
        continue;
      }
      rank.running = false;
      rank.ended = Clock::now();
      if (rank.status == 0) continue;
      if (!killed_) failed_.push_back(i);
      if (!deadline_) deadline_ = rank.ended + duration_of(grace_);
    }
  }

  void interrupt(int number) {
    if (interrupted_by_ != 0) return;
    interrupted_by_ = number;
    const auto end = Clock::now() + duration_of(std::min(grace_, grace_after_signal_max));
    deadline_ = deadline_ ? std::min(*deadline_, end) : end;
    kill_all(SIGTERM);
    kill_all(SIGCONT);
  }

  void kill_all(int number) const {
    for (const RankProcess& rank : all_) {
      if (rank.running) ::kill(rank.child.pid, number);
    }
  }

  // Where all is well, what ranks said is passed on; else the one line that says most.
  [[nodiscard]] int conclude() const {
    if (interrupted_by_ != 0) {
      write_to_stderr(fmt::format("{} the run was ended by signal {} ({})\n", held_prefix,
                                  interrupted_by_, ::strsignal(interrupted_by_)));
      return 128 + interrupted_by_;
    }
    if (failed_.empty()) {
      for (const RankProcess& rank : all_) write_to_stderr(rank.held.value_or(""));
      return 0;
    }
    const std::size_t rank = telling();
    const int status = status_of(rank);
    write_to_stderr(WIFSIGNALED(all_[rank].status) ? line_of_end(rank) : line_with(status));
    return status;
  }

  [[nodiscard]] int status_of(std::size_t rank) const {
    const int status = all_[rank].status;
    return WIFEXITED(status) ? WEXITSTATUS(status) : environment_status;
  }

  // The failed rank whose end says most; of alike ones the first. The connections of a process
  // close before it has ended, so that others may be found to have ended before the one that a
  // signal ended; a signal long after the first failure is a consequence of it.
  [[nodiscard]] std::size_t telling() const {
    constexpr Seconds together(0.2);
    const auto end = all_[failed_.front()].ended + duration_of(together);
    const auto says = [&](std::size_t rank) {
      const int status = status_of(rank);
      if (status == usage_status) return 3;
      if (WIFSIGNALED(all_[rank].status)) return all_[rank].ended <= end ? 2 : 0;
      return status == environment_status ? 0 : 1;
    };
    return *std::max_element(failed_.begin(), failed_.end(),
                             [&](auto a, auto b) { return says(a) < says(b); });
  }

  // Rank 0 hears of the failures of others, and names them. A wrong usage its rank explains itself.
  [[nodiscard]] std::string line_with(int status) const {
    std::vector<std::size_t> order = failed_;
    std::stable_partition(order.begin(), order.end(), [](std::size_t rank) { return rank == 0; });
    if (status != environment_status) {
      std::stable_partition(order.begin(), order.end(),
                            [&](std::size_t rank) { return status_of(rank) == status; });
    }
    for (const std::size_t rank : order) {
      if (all_[rank].held) return *all_[rank].held;
    }
    return line_of_end(telling());
  }

  [[nodiscard]] std::string line_of_end(std::size_t rank) const {
    const int status = all_[rank].status;
    if (!WIFSIGNALED(status)) {
      return fmt::format("{} rank {} ended with status {}\n", held_prefix, rank,
                         WEXITSTATUS(status));
    }
    return fmt::format("{} rank {} was ended by signal {} ({})\n", held_prefix, rank,
                       WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }

  Seconds grace_;
  std::vector<RankProcess> all_;
  std::vector<std::size_t> failed_;  // by themselves, in order of time
  std::optional<Clock::time_point> deadline_;
  bool killed_ = false;
  int interrupted_by_ = 0;
};

std::vector<std::string> command_of(const SpawnRequest& request, std::uint32_t rank) {
  std::vector<std::string> command;
  std::istringstream words(request.host_prefix);
  const std::string place = "{rank}";
  for (std::string word; words >> word;) {
    for (auto at = word.find(place); at != std::string::npos; at = word.find(place)) {
      word.replace(at, place.size(), std::to_string(rank));
    }
    command.push_back(word);
  }
  command.insert(command.end(), request.command.begin(), request.command.end());
  return command;
}

// Ranks elsewhere cannot have a socket from here: a port that is free here is free there as well,
// in all likelihood, where nothing else runs.
Listening listener_for(const SpawnRequest& request) {
  const std::uint16_t port = request.port.value_or(0);
  Listening listening = listen_on(resolve("127.0.0.1", port, Seconds(1)).at(0));
  if (listening.error != 0 && request.host_prefix.empty()) {
    throw BackendError("", std::nullopt, "",
                       fmt::format("port {} on 127.0.0.1 is taken: {}; leave it out for a free one",
                                   port, std::strerror(listening.error)));
  }
  return listening;
}

std::map<std::string, std::string> variables_of(const SpawnRequest& request, std::uint32_t rank,
                                                std::uint16_t port) {
  const std::string size = std::to_string(request.ranks.value());
  const std::string address = request.host_address.empty() ? "127.0.0.1" : request.host_address;
  std::map<std::string, std::string> variables{
      {"RANK", std::to_string(rank)},
      {"LOCAL_RANK", std::to_string(rank)},
      {"WORLD_SIZE", size},
      {"LOCAL_WORLD_SIZE", size},
      {"MASTER_ADDR", address},
      {"MASTER_PORT", std::to_string(port)},
      {"TORCHELASTIC_USE_AGENT_STORE", ""},  // of a torchrun around this process
      {"PACELINE_CONTROL_FD", ""}};
  if (!request.nccl_interface.empty()) variables["NCCL_SOCKET_IFNAME"] = request.nccl_interface;
  return variables;
}

}  // namespace

SpawnRequest make_spawn_request(std::vector<std::string> command, RankCount ranks, Seconds grace,
                                const Environment& environment) {
  SpawnRequest request;
  request.command = std::move(command);
  request.ranks = ranks;
  request.host_prefix = environment("PACELINE_HOST_PREFIX").value_or("");
  request.host_address = environment("PACELINE_HOST_ADDRESS").value_or("");
  request.grace = grace;
  // Nobody else is to reach ranks of one machine. What NCCL's user has set holds.
  const bool is_here = request.host_prefix.empty() && request.host_address.empty();
  if (is_here && !environment("NCCL_SOCKET_IFNAME")) request.nccl_interface = "lo";
  if (!request.host_prefix.empty() && request.host_address.empty()) {
    throw UsageError(
        "PACELINE_HOST_PREFIX is set, PACELINE_HOST_ADDRESS is not; set it to the address of rank "
        "0 "
        "behind that prefix");
  }
  return request;
}

int spawn_ranks(const SpawnRequest& request) {
  PACELINE_EXPECTS(!request.command.empty() && request.ranks > RankCount(0));
  Listening listening = listener_for(request);
  const std::uint16_t port =
      listening.error == 0 ? local_address(listening.socket).port() : request.port.value_or(0);
  const bool elsewhere = !request.host_prefix.empty();
  if (elsewhere) listening.socket = Socket();
  const Interruption interruption;
  Ranks ranks(request.grace);
  for (std::uint32_t rank = 0; rank < request.ranks.value(); ++rank) {
    ChildRequest child{command_of(request, rank), variables_of(request, rank, port), rank == 0, -1};
    if (rank == 0 && !elsewhere) {
      child.inherited = listening.socket.file();
      child.variables["PACELINE_CONTROL_FD"] = std::to_string(child.inherited);
    }
    ranks.add(start_child(child));
  }
  listening.socket = Socket();  // once rank 0 is gone, no connection may be accepted there
  return ranks.supervise(interruption);
}

}  // namespace paceline::real
