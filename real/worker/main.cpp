// paceline-worker: one rank of a run on hardware, or all ranks of this machine. Rank 0 reads points
// as JSON lines and writes a line for each; `paceline measure` starts it.

#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "models/text/json_writer.h"
#include "models/text/plain_text.h"
#include "models/units/parse.h"
#include "real/backend.h"
#include "real/errors.h"
#include "real/launch/children.h"
#include "real/launch/control.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"
#include "real/launch/socket.h"
#include "real/launch/spawn.h"
#include "real/worker/mpirun.h"
#include "real/worker/session.h"
#include "real/worker/thread_team.h"

namespace paceline::real {
namespace {

constexpr int exit_done = 0, exit_internal = 4;

struct WorkerOptions {
  std::string backend = "gloo";
  std::optional<RankCount> ranks;  // start that many on this machine
  std::string rendezvous = "env://";
  Seconds timeout{30.0};         // of every wait for another rank; above 0
  Seconds connect_timeout{8.0};  // for all ranks to find each other; above 0
  std::string told;              // what the ranks of a run are told alike (RankIdentity)
  std::string fault;             // why this rank takes no part (RankIdentity)
  std::string secret_file;       // instead of PACELINE_SECRET_FILE
  bool says_begun = false;       // rank_has_begun (mpirun.h)
  bool doctor = false;           // only say which backends there are
  bool who = false;              // only say which rank this process is
};

Seconds positive_seconds(const std::string& option, const std::string& text) {
  const auto parsed = parse_seconds(text);
  const auto* time = std::get_if<Seconds>(&parsed);
  if (time == nullptr || *time <= Seconds(0)) {
    throw UsageError(option + " \"" + text + "\" is not a time above 0; write 30s");
  }
  return *time;
}

// nullopt when help was requested and printed. Throws UsageError.
std::optional<WorkerOptions> parse_worker_options(int argc, const char* const* argv) {
  WorkerOptions options;
  std::string timeout = "30s";
  std::string connect_timeout = process_environment("PACELINE_CONNECT_TIMEOUT").value_or("8s");
  std::uint32_t ranks = 0;
  CLI::App app(
      "One rank of a run on hardware. Rank and world size are torchrun's, Open MPI's or Slurm's "
      "variables; rank 0 reads points as JSON lines (`paceline measure` writes them).",
      "paceline-worker");
  app.add_option("--backend", options.backend, "what to run on; --doctor lists them")
      ->capture_default_str();
  app.add_option("--ranks", ranks, "start so many ranks on this machine")
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--rendezvous", options.rendezvous,
                 "where ranks meet: env://, tcp://host:port or file:///path")
      ->capture_default_str();
  app.add_option("--timeout", timeout, "of every wait for another rank")->capture_default_str();
  app.add_option("--connect-timeout", connect_timeout,
                 "for all ranks to find each other; instead of PACELINE_CONNECT_TIMEOUT")
      ->capture_default_str();
  app.add_option("--told", options.told,
                 "words NAME=VALUE that all ranks are given alike: one that is not is refused");
  app.add_option(
      "--fault", options.fault,
      "tell the other ranks that this one takes no part, and why, and end with status 2");
  app.add_option("--secret-file", options.secret_file,
                 "a secret that all ranks share, to prove it when they meet; instead of "
                 "PACELINE_SECRET_FILE");
  app.add_flag("--says-begun", options.says_begun,
               "say on standard error that this rank has begun");
  app.add_flag("--doctor", options.doctor, "write the backends as JSON and end");
  app.add_flag("--who", options.who,
               "write rank and world size, if a launcher's variables say so, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (options.told.find('\n') != std::string::npos) {
    throw UsageError("--told has a line break; write words");
  }
  if (ranks > 0) options.ranks = RankCount(ranks);
  options.timeout = positive_seconds("--timeout", timeout);
  options.connect_timeout = positive_seconds("--connect-timeout", connect_timeout);
  return options;
}

// Looks after whoever started this process, while other ranks wait for its next point: calls
// `on_stopped` once it has been stopped (SIGSTOP, Ctrl-Z) for so long at a stretch.
std::jthread watch_parent(Seconds stopped_max, std::function<void()> on_stopped) {
  return std::jthread([stopped_max, act = std::move(on_stopped)](const std::stop_token& stop) {
    constexpr std::chrono::duration<double> look(0.2);
    Seconds stopped;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested() && stopped <= stopped_max) {
      never.wait_for(lock, stop, look, [] { return false; });
      stopped = is_stopped(::getppid()) ? stopped + Seconds(look.count()) : Seconds(0);
    }
    if (!stop.stop_requested()) act();
  });
}

SessionLines standard_lines() {
  return {[]() -> std::optional<std::string> {
            std::string line;
            if (!std::getline(std::cin, line)) return std::nullopt;
            return line;
          },
          [](const std::string& line) {
            std::cout << line << '\n' << std::flush;
            if (!std::cout) throw BackendError("standard output is closed");
          }};
}

// Once a rank has ended the others hear of it at once, and are given this much to end.
constexpr Seconds grace_after_first_end(2.0);

// All digits of a time, as parse_seconds() takes it.
std::string time_text(Seconds time) {
  std::ostringstream text;
  text.precision(17);
  text << time.value() << 's';
  return text.str();
}

std::vector<std::string> rank_command(const WorkerOptions& options, const std::string& rendezvous) {
  std::array<char, 4096> self{};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) {
    throw BackendError("readlink: cannot tell where this program lies");
  }
  return {self.data(),
          "--backend",
          options.backend,
          "--rendezvous",
          rendezvous,
          "--timeout",
          time_text(options.timeout),
          "--connect-timeout",
          time_text(options.connect_timeout)};
}

int run_under_mpirun(const WorkerOptions& options) {
  std::istringstream mpirun(
      process_environment("PACELINE_MPIRUN").value_or("mpirun --oversubscribe --bind-to none"));
  const std::string host = process_environment("PACELINE_HOST_ADDRESS").value_or("127.0.0.1");
  const std::string rendezvous = "tcp://" + host + ":" + std::to_string(free_port());
  auto program = rank_command(options, rendezvous);
  program.emplace_back("--says-begun");
  return run_mpirun({std::istream_iterator<std::string>(mpirun), {}}, *options.ranks, program,
                    {grace_after_first_end, options.connect_timeout + options.timeout});
}

// Runs options.ranks ranks on this machine, as the backend's ranks are (RanksAre), and returns the
// exit status. PACELINE_MPIRUN replaces mpirun's command; PACELINE_HOST_PREFIX and
// PACELINE_HOST_ADDRESS are spawn_ranks's. Throws UsageError and BackendError.
int run_locally(const Backend& backend, const WorkerOptions& options) {
  if (backend.ranks == RanksAre::threads) {
    with_thread_team(*options.ranks, [&](Team& team) {
      serve(team, {options.backend, team.rank().value(), options.timeout}, standard_lines());
    });
    return exit_done;
  }
  if (backend.ranks == RanksAre::mpi_processes) return run_under_mpirun(options);
  return spawn_ranks(rank_command(options, "env://"), *options.ranks, grace_after_first_end,
                     process_environment);
}

int write_backends() {
  JsonWriter json(std::cout);
  json.list(backends(), [&](const Backend& backend) {
    json.object([&] {
      json.put("name", backend.name);
      json.put("summary", backend.summary);
      json.put("recommended_for", backend.recommended_for);
      json.put("version", backend.version);
      json.put("notes", backend.notes);
      json.put("missing", backend.missing);
    });
  });
  return exit_done;
}

// What ends a rank as the system refuses it: memory, or threads.
bool is_of_the_system(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const std::system_error*>(&error) != nullptr;
}

std::string words_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "there is not enough memory for the buffers of these ranks";
  }
  return (is_of_the_system(error) ? "the system refuses: " : "") + std::string(error.what());
}

// In one write: ranks may share standard error.
void complain(const std::string& line) {
  std::fputs(("paceline-worker: " + in_one_line(line) + "\n").c_str(), stderr);
}

// Which rank this process is, in two numbers; nothing where it is the only one.
int write_who() {
  const auto identity = find_rank_identity(process_environment);
  if (identity && identity->world_size > RankCount(1)) {
    std::cout << identity->rank.value() << ' ' << identity->world_size.value() << '\n';
  }
  return exit_done;
}

// Tells the other ranks of a launcher that this one takes no part. Its user knows why already.
int tell_fault(const RankIdentity& identity, const WorkerOptions& options) {
  try {
    const Rendezvous rendezvous = parse_rendezvous(options.rendezvous, process_environment);
    (void)Control::join(identity, rendezvous, {options.connect_timeout, options.timeout});
  } catch (const std::exception&) {  // that rank 0 ends with this fault, or was not found
  }
  return usage_status;
}

int run_rank(const RankIdentity& identity, const WorkerOptions& options) {
  if (options.says_begun) std::cerr << rank_has_begun << std::flush;
  const Rendezvous rendezvous = parse_rendezvous(options.rendezvous, process_environment);
  // A rank that is lost ends this one, wherever it waits.
  const auto control =
      Control::join(identity, rendezvous, {options.connect_timeout, options.timeout, end_process});
  // Ranks wait as long as they like for rank 0's next point, so it has to be able to ask.
  std::jthread watch;
  if (identity.rank == Rank(0)) {
    watch = watch_parent(options.timeout, [&control] {
      const std::string line = "rank 0 was stopped: what gives it points is";
      control->report_failure(line);
      complain(line);
      std::_Exit(environment_status);
    });
  }
  try {
    serve(*control, {options.backend, identity.local_rank, options.timeout}, standard_lines());
  } catch (const std::exception& error) {
    const bool is_usage = dynamic_cast<const UsageError*>(&error) != nullptr;
    // The control plane, whose word ends this process, knows better why a connection ended.
    constexpr std::chrono::seconds verdict_max(1);
    if (!is_usage) std::this_thread::sleep_for(verdict_max);
    // No rank waits for this one. Libraries whose peers are gone may hang when they are taken down.
    control->report_failure(words_of(error));
    complain(words_of(error));
    std::_Exit(is_usage ? usage_status : environment_status);
  }
  control->leave();
  return exit_done;
}

int run(const WorkerOptions& options) {
  // For the ranks that this process starts, too.
  if (!options.secret_file.empty()) {
    ::setenv("PACELINE_SECRET_FILE", options.secret_file.c_str(), 1);
  }
  if (options.doctor) return write_backends();
  if (options.who) return write_who();
  if (options.ranks) {
    return run_locally(require_backend(options.backend), options);
  }
  if (options.fault.empty()) (void)require_backend(options.backend);
  const auto identity = find_rank_identity(process_environment);
  if (!identity) {
    throw UsageError(
        "no launcher's variables say which rank this is; start it with torchrun, mpirun or srun, "
        "or write --ranks 4");
  }
  RankIdentity told = *identity;
  told.told = options.told;
  told.fault = options.fault;
  return options.fault.empty() ? run_rank(told, options) : tell_fault(told, options);
}

int run_main(int argc, char** argv) {
  // No rank outlives whoever started it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto options = parse_worker_options(argc, argv);
    if (!options) return exit_done;
    return run(*options);
  } catch (const UsageError& error) {
    complain(error.what());
    return usage_status;
  } catch (const BackendError& error) {
    complain(error.what());
    return environment_status;
  } catch (const std::exception& error) {
    const bool is_internal = !is_of_the_system(error);
    complain((is_internal ? "internal error: " : "") + words_of(error));
    return is_internal ? exit_internal : environment_status;
  }
}

}  // namespace
}  // namespace paceline::real

int main(int argc, char** argv) { return paceline::real::run_main(argc, argv); }
