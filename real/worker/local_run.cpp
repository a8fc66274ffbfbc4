#include "real/worker/local_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <vector>

#include "models/text/json_writer.h"
#include "real/backend.h"
#include "real/errors.h"
#include "real/launch/rank_identity.h"
#include "real/launch/socket.h"
#include "real/launch/spawn.h"
#include "real/worker/mpirun.h"
#include "real/worker/thread_team.h"

namespace paceline::real {
namespace {

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

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

int run_under_mpirun(const WorkerOptions& options) {
  const auto given = process_environment("PACELINE_MPIRUN");
  const std::string host = process_environment("PACELINE_HOST_ADDRESS").value_or("127.0.0.1");
  const std::string rendezvous = "tcp://" + host + ":" + std::to_string(free_port());
  return run_mpirun(words_of(given.value_or("mpirun --oversubscribe --bind-to none")),
                    *options.ranks, rank_command(options, rendezvous),
                    {grace_after_first_end, options.connect_timeout + options.timeout});
}

}  // namespace

Backend require_backend(const std::string& name) {
  const auto all = backends();
  const auto row = std::ranges::find(all, name, &Backend::name);
  if (row == all.end()) {
    std::string known;
    for (const Backend& backend : all) {
      known += (known.empty() ? "" : ", ") + std::string(backend.name);
    }
    throw UsageError("no backend is called \"" + name + "\"; there are " + known);
  }
  if (!row->missing.empty()) throw BackendError(name, std::nullopt, "", row->missing);
  return *row;
}

int run_locally(const Backend& backend, const WorkerOptions& options, const SessionLines& lines) {
  if (backend.ranks == RanksAre::threads) {
    with_thread_team(*options.ranks, [&](Team& team) {
      serve(team, {options.backend, team.rank().value(), options.timeout}, lines);
    });
    return 0;
  }
  if (backend.ranks == RanksAre::mpi_processes) return run_under_mpirun(options);
  return spawn_ranks(rank_command(options, "env://"), *options.ranks, grace_after_first_end,
                     process_environment);
}

int write_backends(std::ostream& out) {
  JsonWriter json(out);
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
  return 0;
}

}  // namespace paceline::real
