#include "real/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "models/contract.h"
#include "real/errors.h"
#include "real/launch/children.h"

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

class Ranks {
 public:
  explicit Ranks(Seconds grace) : grace_(grace) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  // Also when not all could be started: none stays behind.
  ~Ranks() {
    kill_all(SIGKILL);
    for (const Child& rank : all_) {
      while (!rank.status && ::waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void add(Child child) {
    all_.push_back(std::move(child));
    held_.emplace_back();
  }

  int supervise(const Signals& signals) {
    while (!std::ranges::all_of(all_, is_over)) {
      const int number = attend(all_, signals, is_killed_ ? std::nullopt : deadline_);
      for (std::size_t rank = 0; rank < all_.size(); ++rank) note(rank);
      if (number != 0) interrupt(number);
      if (!deadline_ || steady_now() < *deadline_ || std::exchange(is_killed_, true)) continue;
      kill_all(SIGKILL);
    }
    return conclude();
  }

 private:
  static bool is_over(const Child& rank) { return rank.status.has_value(); }

  void note(std::size_t rank) {
    const Child& child = all_[rank];
    pass_lines(rank);
    if (child.status.value_or(0) == 0 || is_killed_ || std::ranges::count(failed_, rank) > 0)
      return;
    failed_.push_back(rank);
    if (!deadline_) deadline_ = child.ended + grace_;
  }

  // Whole ones, and what is left when there will be no more.
  void pass_lines(std::size_t rank) {
    std::string& said = all_[rank].said;
    if (!all_[rank].errors && !said.empty() && !said.ends_with('\n')) said += '\n';
    std::size_t begin = 0;
    for (auto end = said.find('\n'); end != std::string::npos; end = said.find('\n', begin)) {
      const auto line = std::string_view(said).substr(begin, end + 1 - begin);
      if (!line.starts_with(held_prefix)) {
        write_to_stderr(line);
      } else if (held_[rank].empty()) {
        held_[rank] = line;
      }
      begin = end + 1;
    }
    said.erase(0, begin);
  }

  void interrupt(int number) {
    if (interrupted_by_ != 0) return;
    interrupted_by_ = number;
    const auto end = steady_now() + std::min(grace_, grace_after_signal_max);
    deadline_ = std::min(deadline_.value_or(end), end);
    kill_all(SIGTERM);
    kill_all(SIGCONT);
  }

  void kill_all(int number) const {
    for (const Child& rank : all_) {
      if (!is_over(rank)) ::kill(rank.pid, number);
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
      for (const std::string& line : held_) write_to_stderr(line);
      return 0;
    }
    // Of alike ones rank 0 first, which hears of the failures of others and names them.
    auto order = failed_;
    std::ranges::stable_sort(order, {}, [](std::size_t rank) { return rank != 0; });
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t rank) { return weight(rank); });
    const std::size_t first = order.front();
    const auto has_line = [&](std::size_t rank) { return !held_[rank].empty(); };
    const auto telling = std::ranges::find_if(order, has_line);
    const bool is_told = !is_ended_by_signal(first) && telling != order.end();
    write_to_stderr(is_told ? held_[*telling] : line_of_end(first));
    return status_of(first);
  }

  [[nodiscard]] bool is_ended_by_signal(std::size_t rank) const {
    return WIFSIGNALED(*all_[rank].status);
  }
  [[nodiscard]] int status_of(std::size_t rank) const {
    return is_ended_by_signal(rank) ? environment_status : WEXITSTATUS(*all_[rank].status);
  }

  // How much the end of a rank says. A process's connections close before it ends: others may seem
  // to end before the one that a signal ended. A signal long after the first failure follows from
  // it.
  [[nodiscard]] int weight(std::size_t rank) const {
    constexpr Seconds together(0.2);
    const auto signal_end = all_[failed_.front()].ended + together;
    if (is_ended_by_signal(rank)) return all_[rank].ended <= signal_end ? 2 : 0;
    const int status = status_of(rank);
    return status == usage_status ? 3 : status == environment_status ? 0 : 1;
  }

  [[nodiscard]] std::string line_of_end(std::size_t rank) const {
    if (!is_ended_by_signal(rank)) {
      return fmt::format("{} rank {} ended with status {}\n", held_prefix, rank, status_of(rank));
    }
    const int number = WTERMSIG(*all_[rank].status);
    return fmt::format("{} rank {} was ended by signal {} ({})\n", held_prefix, rank, number,
                       ::strsignal(number));
  }

  Seconds grace_;
  std::vector<Child> all_;
  std::vector<std::string> held_;    // the first line of each that begins so
  std::vector<std::size_t> failed_;  // by themselves, in order of time
  std::optional<Seconds> deadline_;
  bool is_killed_ = false;
  int interrupted_by_ = 0;
};

std::vector<std::string> words_of(const std::string& prefix, const std::string& rank) {
  std::vector<std::string> all;
  std::istringstream words(prefix);
  const std::string place = "{rank}";
  for (std::string word; words >> word;) {
    for (auto at = word.find(place); at != std::string::npos; at = word.find(place)) {
      word.replace(at, place.size(), rank);
    }
    all.push_back(word);
  }
  return all;
}

}  // namespace

int spawn_ranks(const std::vector<std::string>& command, RankCount ranks, Seconds grace,
                const Environment& environment) {
  PACELINE_EXPECTS(!command.empty() && ranks > RankCount(0));
  const std::string prefix = environment("PACELINE_HOST_PREFIX").value_or("");
  const auto host = environment("PACELINE_HOST_ADDRESS");
  if (!prefix.empty() && !host) {
    throw UsageError(
        "PACELINE_HOST_PREFIX is set, PACELINE_HOST_ADDRESS is not; set it to the address of rank "
        "0 behind that prefix");
  }
  Opened listening = listen_on({"127.0.0.1", 0});
  if (listening.error != 0) {
    throw BackendError(std::string("no port on 127.0.0.1: ") + std::strerror(listening.error));
  }
  const std::string size = std::to_string(ranks.value());
  std::map<std::string, std::string> variables{
      {"WORLD_SIZE", size},
      {"LOCAL_WORLD_SIZE", size},
      {"MASTER_ADDR", host.value_or("127.0.0.1")},
      {"MASTER_PORT", std::to_string(local_address(listening.socket).port)},
      {"TORCHELASTIC_USE_AGENT_STORE", ""}};  // of a torchrun around this process
  // Nobody else is to reach ranks of one machine. What NCCL's user has set holds.
  const bool is_here = prefix.empty() && !host;
  if (is_here && !environment("NCCL_SOCKET_IFNAME")) variables["NCCL_SOCKET_IFNAME"] = "lo";
  // No socket reaches ranks elsewhere: a port free here is most likely free there, too.
  if (!prefix.empty()) listening.socket = Socket();
  const Signals signals;
  Ranks all(grace);
  for (std::uint32_t number = 0; number < ranks.value(); ++number) {
    const std::string rank = std::to_string(number);
    auto words = words_of(prefix, rank);
    words.insert(words.end(), command.begin(), command.end());
    variables["RANK"] = variables["LOCAL_RANK"] = rank;
    const int listener = listening.socket.file();
    variables["PACELINE_CONTROL_FD"] = listener < 0 ? "" : std::to_string(listener);
    if (listener >= 0) ::fcntl(listener, F_SETFD, 0);  // stays open in the program
    all.add(start_child(words, variables, number == 0));
    listening.socket = Socket();  // rank 0's alone: once that is gone, nobody accepts there
  }
  return all.supervise(signals);
}

}  // namespace paceline::real
