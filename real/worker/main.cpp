// paceline-worker: one rank of a run on hardware, or all ranks of this machine. Rank 0 reads points
// as JSON lines and writes a line for each; `paceline measure` starts it.

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "models/text/plain_text.h"
#include "models/units/parse.h"
#include "real/errors.h"
#include "real/launch/control.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"
#include "real/worker/local_run.h"
#include "real/worker/mpirun.h"
#include "real/worker/parent_watch.h"
#include "real/worker/session.h"
#include "real/worker/worker_options.h"

namespace paceline::real {
namespace {

constexpr int exit_done = 0, exit_internal = 4;

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

// One rank of a group of processes.
int run_rank(const RankIdentity& identity, const WorkerOptions& options) {
  say_that_rank_has_begun();
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
    // A library sees that a connection ends, the control plane whose end it is: its word, which
    // ends this process, is the better one when it comes.
    constexpr std::chrono::seconds verdict_max(1);
    if (!is_usage) std::this_thread::sleep_for(verdict_max);
    // The others learn of it, and no rank waits for this one. Libraries whose peers are gone may
    // hang when they are taken down: the process ends without.
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
  if (options.doctor) return write_backends(std::cout);
  if (options.who) return write_who();
  if (options.ranks) {
    return run_locally(require_backend(options.backend), options, standard_lines());
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
