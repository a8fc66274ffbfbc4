#include "tests/real/conformance/group.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "real/errors.h"
#include "real/launch/control.h"
#include "real/worker/thread_team.h"

namespace paceline::test {
namespace {

using Work = std::function<void(real::Team&, real::Communicator&)>;

// For all ranks to come, and for each to be heard of again.
const real::ControlSettings settings{Seconds(20), Seconds(30), real::end_process};
// A first use of several communicators at a time, by processes that take turns on one device.
constexpr Seconds timeout(60);

real::Backend backend_of(const std::string& name) {
  for (real::Backend& row : real::backends()) {
    if (row.name != name) continue;
    if (row.connect == nullptr) throw real::BackendError(name, {}, "", row.missing);
    return row;
  }
  throw real::UsageError("there is no backend " + name);
}

void run_rank(const real::Backend& backend, std::uint32_t local_rank, real::Team& team,
              const Work& work) {
  real::ConnectRequest request;
  request.rank = team.rank();
  request.size = team.size();
  request.local_rank = local_rank;
  request.timeout = timeout;
  request.address = team.address();
  request.meeting = &team;
  const auto communicator = backend.connect(request);
  work(team, *communicator);
  (void)team.all_gather("");  // none leaves while others still need it
}

void complain(const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  std::fflush(stderr);
}

int run_launched(const real::Backend& backend, const Work& work) {
  const auto identity = real::find_rank_identity(real::process_environment);
  if (!identity) throw real::UsageError("no launcher's variables say which rank this is");
  const auto control = real::Control::join(
      *identity, real::parse_rendezvous("env://", real::process_environment), settings);
  try {
    run_rank(backend, identity->local_rank, *control, work);
  } catch (const std::exception& error) {
    complain(error);
    control->report_failure(error.what());
    std::_Exit(real::environment_status);  // a library whose peers are gone may hang at its end
  }
  control->leave();
  return 0;
}

int run_threads(const real::Backend& backend, RankCount ranks, const Work& work) {
  real::with_thread_team(
      ranks, [&](real::Team& team) { run_rank(backend, team.rank().value(), team, work); });
  return 0;
}

}  // namespace

int on_group(const std::string& backend, std::uint32_t threads, const Work& work) {
  try {
    const real::Backend row = backend_of(backend);
    return threads > 0 ? run_threads(row, RankCount(threads), work) : run_launched(row, work);
  } catch (const real::UsageError& error) {
    complain(error);
    return real::usage_status;
  } catch (const std::exception& error) {
    complain(error);
    return real::environment_status;
  }
}

}  // namespace paceline::test
