#include "real/worker/mpirun.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "real/errors.h"
#include "real/launch/children.h"
#include "real/launch/rank_identity.h"

namespace paceline::real {
namespace {

constexpr std::string_view mark = "paceline-worker: ";
// Limit of the output that is kept: more than a page of every rank is a message in a loop.
constexpr std::size_t said_max = std::size_t{1} << 20;
// Asked to end, mpirun ends its daemons and ranks, and gives those a second between two signals.
constexpr Seconds ending_max(3.0);
// Whether processes are stopped is looked at so often.
constexpr Seconds look_each(1.0);

bool is_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const std::string path = process_environment("PATH").value_or("/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + '/' + program;
    if (::access(file.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

namespace fs = std::filesystem;

constexpr std::string_view session_name = "paceline-mpi-";

// A folder that is locked; nothing where another process has the lock, or it is another user's.
Socket locked(const std::string& folder, int how) {
  Socket open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  const bool is_ours = open && ::fstat(open.file(), &found) == 0 && found.st_uid == ::geteuid();
  return is_ours && ::flock(open.file(), how) == 0 ? std::move(open) : Socket();
}

// Those whose process was killed: its lock ended with it.
void remove_abandoned(const std::string& place) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(place, ignored)) {
    if (!entry.path().filename().string().starts_with(session_name)) continue;
    if (const Socket lock = locked(entry.path(), LOCK_EX | LOCK_NB)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

// Where Open MPI puts what it would else leave behind when it is killed. Locked while it is in use.
class SessionFolder {
 public:
  SessionFolder() {
    const std::string usual = fs::temp_directory_path().string();
    for (const std::string& place : {std::string("/dev/shm"), usual}) {  // memory, if there is any
      remove_abandoned(place);
      std::string name = fmt::format("{}/{}XXXXXX", place, session_name);
      // Another process may remove it before it is locked.
      while (::mkdtemp(name.data()) != nullptr) {
        lock_ = locked(name, LOCK_EX);
        path_ = name;
        if (fs::exists(path_)) return;
        name.replace(name.size() - 6, 6, "XXXXXX");
      }
    }
    throw BackendError("mpi", std::nullopt, "mkdtemp", std::strerror(errno));
  }
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;
  ~SessionFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Socket lock_;
};

// Of this process with daemons of mpirun and ranks, once it is their subreaper and they are
// orphans.
std::vector<pid_t> children(pid_t of = ::getpid()) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", of));
  std::vector<pid_t> all;
  for (pid_t process = 0; file >> process;) all.push_back(process);
  return all;
}

// Kills what is left; an end makes new orphans.
void end_all_children() {
  while (true) {
    const auto left = children();
    for (const pid_t process : left) ::kill(process, SIGKILL);
    if (::waitpid(-1, nullptr, left.empty() ? WNOHANG : 0) <= 0) return;
  }
}

// Empty when they are not there.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
  const auto begin = text.find(before);
  if (begin == std::string::npos) return "";
  const auto end = text.find(after, begin + before.size());
  if (end == std::string::npos) return "";
  return text.substr(begin + before.size(), end - begin - before.size());
}

// Of what mpirun and its ranks said on stderr, the line that says most, or nothing:

// What a rank says of its own end or of another's; the first.
std::string line_of_a_rank(const std::string& said) { return between(said, mark, "\n"); }

// Open MPI, of the first: "mpirun noticed that process rank 1 ... exited on signal 9 (Killed)."
std::string line_of_a_signal(const std::string& said) {
  const std::string notice = between(said, " noticed that process rank ", ").");
  const std::string rank = notice.substr(0, notice.find(' '));
  const std::string signal = between(notice + '\n', " on signal ", "\n");
  return signal.empty() ? "" : fmt::format("rank {} was ended by signal {})", rank, signal);
}

// Open MPI: "Process name: [[17753,1],1]", the rank last, then "Exit code:    3".
std::string line_of_a_status(const std::string& said) {
  const std::string name = between(said, "Process name: ", "\n");
  const auto comma = name.rfind(',');
  std::string code = between(said, "Exit code:", "\n");
  if (comma == std::string::npos || code.empty()) return "";
  code.erase(0, code.find_first_not_of(' '));
  return fmt::format("rank {} ended with status {}",
                     name.substr(comma + 1, name.size() - comma - 2), code);
}

// The first that is more than a rule.
std::string first_line(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of("- \t") != std::string::npos) return "mpirun: " + line;
  }
  return "mpirun ended and said nothing";
}

class Mpirun {
 public:
  Mpirun(Child child, const MpirunLimits& limits)
      : child_(std::move(child)), limits_(limits), start_end_(steady_now() + limits.start) {}
  Mpirun(const Mpirun&) = delete;
  Mpirun& operator=(const Mpirun&) = delete;
  ~Mpirun() { end_all_children(); }

  int supervise(const Signals& signals) {
    while (!child_.status) {
      const bool waits = waits_for_start();
      const Seconds look = steady_now() + look_each;
      const std::optional<Seconds> until = waits && !deadline_ ? start_end_ : deadline_;
      const int number = attend({&child_, 1}, signals, std::min(until.value_or(look), look));
      if (child_.said.size() > said_max) child_.said.resize(said_max);
      if (number != 0 && interrupted_by_ == 0) {
        interrupted_by_ = number;
        deadline_ = steady_now();
      }
      if (!deadline_ && !line_of_a_rank(child_.said).empty()) {
        deadline_ = steady_now() + limits_.grace;
      }
      if (waits_for_start() && steady_now() >= start_end_) {
        was_silent_ = true;
        deadline_ = steady_now();
      }
      if (!deadline_ && has_been_stopped()) deadline_ = steady_now();
      if (deadline_ && steady_now() >= *deadline_) end_it();
    }
    return conclude();
  }

 private:
  [[nodiscard]] bool waits_for_start() {
    for (auto at = child_.said.find(rank_has_begun); at != std::string::npos;
         at = child_.said.find(rank_has_begun)) {
      child_.said.erase(at, rank_has_begun.size());
      has_begun_ = true;
    }
    return !has_begun_ && !was_silent_;
  }

  // mpirun, or a rank of this machine, for as long as a start may take. Ranks that wait for another
  // give it up sooner, but when they leave, nobody waits with a limit (MPI_Finalize).
  [[nodiscard]] bool has_been_stopped() {
    const auto ranks = children(child_.pid);
    const bool is_now = is_stopped(child_.pid) || std::ranges::any_of(ranks, is_stopped);
    if (!is_now) runs_at_ = steady_now();
    was_stopped_ = steady_now() - runs_at_ >= limits_.start;
    return was_stopped_;
  }

  // Asked once, then killed.
  void end_it() {
    ::kill(child_.pid, asked_ ? SIGKILL : SIGTERM);
    ::kill(child_.pid, SIGCONT);
    deadline_ = steady_now() + ending_max;
    asked_ = true;
  }

  [[nodiscard]] int conclude() const {
    if (interrupted_by_ != 0) {
      say(fmt::format("the run was ended by signal {} ({})", interrupted_by_,
                      ::strsignal(interrupted_by_)));
      return 128 + interrupted_by_;
    }
    if (was_silent_) {
      say(
          fmt::format("mpirun has started no rank within {:.3g} s; PACELINE_CONNECT_TIMEOUT=60s "
                      "waits longer",
                      limits_.start.value()));
      return environment_status;
    }
    if (was_stopped_) {
      say(fmt::format("mpirun or a rank has been stopped for {:.3g} s", limits_.start.value()));
      return environment_status;
    }
    const int status = *child_.status;
    if (status == 0) {
      std::cerr << child_.said;
      return 0;
    }
    if (WIFSIGNALED(status) && !asked_) {
      say(fmt::format("mpirun was ended by signal {} ({})", WTERMSIG(status),
                      ::strsignal(WTERMSIG(status))));
      return environment_status;
    }
    for (const auto line_of : {line_of_a_signal, line_of_a_rank, line_of_a_status, first_line}) {
      const std::string line = line_of(child_.said);
      if (line.empty()) continue;
      say(line);
      break;
    }
    const bool is_usage = WIFEXITED(status) && WEXITSTATUS(status) == usage_status;
    return is_usage ? usage_status : environment_status;
  }

  static void say(const std::string& line) {
    std::cerr << std::string(mark) + line + '\n' << std::flush;
  }

  Child child_;
  MpirunLimits limits_;
  Seconds start_end_;
  bool has_begun_ = false;  // some rank
  bool was_silent_ = false;
  Seconds runs_at_ = steady_now();  // when last seen to
  bool was_stopped_ = false;
  std::optional<Seconds> deadline_;
  bool asked_ = false;
  int interrupted_by_ = 0;
};

// Nobody else is to reach ranks of one machine: they share memory and listen nowhere, unless the
// user's environment says otherwise. (mpirun itself listens for daemons; oob/tcp of 4.1 has no
// choice.)
void stay_in_shared_memory(std::vector<std::string>& command) {
  if (process_environment("PACELINE_HOST_ADDRESS") || process_environment("OMPI_MCA_btl")) return;
  command.insert(command.end(), {"--mca", "btl", "vader,self"});
}

}  // namespace

int run_mpirun(const std::vector<std::string>& launcher, RankCount ranks,
               const std::vector<std::string>& program, const MpirunLimits& limits) {
  if (launcher.empty() || !is_in_path(launcher[0])) {
    throw BackendError("mpi", std::nullopt, launcher.empty() ? "mpirun" : launcher[0],
                       "no such program in PATH; install openmpi-bin");
  }
  // Whoever started this process may end: there is a folder to be removed first.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Signals signals;
  const SessionFolder session;
  std::vector<std::string> command = launcher;
  // Open MPI does not start as root otherwise, and in a container one often is.
  std::map<std::string, std::string> variables{{"TMPDIR", session.path()},
                                               {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                               {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  // Options of the user's may take ranks to other machines, where there is no such folder.
  if (!process_environment("PACELINE_MPIRUN")) {
    command.insert(command.end(), {"--mca", "btl_vader_backing_directory", session.path()});
    stay_in_shared_memory(command);
  }
  command.insert(command.end(), {"-n", std::to_string(ranks.value())});
  command.insert(command.end(), program.begin(), program.end());
  return Mpirun(start_child(command, variables, true), limits).supervise(signals);
}

}  // namespace paceline::real
