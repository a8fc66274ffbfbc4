#include "scenarios/measure/worker_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "scenarios/build_label.h"
#include "scenarios/document/document.h"
#include "scenarios/files/input_file.h"
#include "scenarios/process/line_process.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

constexpr int status_usage = 2;  // of a worker that was asked for what cannot be

// One rank, which one the environment says.
std::vector<std::string> rank_command(const RankGroup& group, const std::string& told) {
  std::vector<std::string> command{executor_path("paceline-worker"), "--backend", group.backend,
                                   "--timeout", fmt::format("{}s", group.timeout.value())};
  if (!told.empty()) command.insert(command.end(), {"--told", told});
  return command;
}

// Numbers and names are shown to the other ranks; other texts may hold anything.
bool is_shown(const std::string& text) {
  constexpr std::size_t longest = 32;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '+';
  };
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, is_plain);
}

std::string told_text(const Task& task) {
  std::string told = fmt::format("version={}+{}", build_label.version, build_label.commit);
  for (const auto& [name, text] : task) {
    told += is_shown(text) ? fmt::format(" {}={}", name, text)
                           : fmt::format(" {}#{}", name, loader::sha256_of(text));
  }
  return told;
}

ExecutorCommand worker_command(const RankGroup& group, WorkerRanks::Start start,
                               const std::string& told) {
  auto arguments = rank_command(group, told);
  if (start == WorkerRanks::Start::here) {
    arguments.insert(arguments.end(), {"--ranks", std::to_string(group.ranks)});
  }
  return {"paceline-worker", std::move(arguments), true, group.timeout};
}

// Of a worker that said nothing itself.
std::string end_of(const LineProcess& worker, int status) {
  if (worker.was_stopped()) return "paceline-worker, with all its ranks, was stopped";
  constexpr int first_signal = 128;
  if (status <= first_signal) return fmt::format("paceline-worker ended with status {}", status);
  return fmt::format("paceline-worker, with all its ranks, was ended by signal {} ({})",
                     status - first_signal, ::strsignal(status - first_signal));
}

// The line in which a worker says why it ends, else the last that anything said.
std::string complaint_of(const std::string& words) {
  constexpr std::string_view mark = "paceline-worker: ";
  const auto line_at = [&](std::size_t begin) {
    return words.substr(begin, words.find('\n', begin) - begin);
  };
  const auto marked = words.find(mark);
  if (marked != std::string::npos) return line_at(marked + mark.size());
  const auto end = words.find_last_not_of(" \n\t");
  if (end == std::string::npos) return "";
  const auto before = words.rfind('\n', end);
  return line_at(before == std::string::npos ? 0 : before + 1);
}

// A line that is not what a worker says.
struct NotUnderstood {
  std::string why;
};

// What a reader of such lines makes of one.
template <class Read>
auto understood(const Read& read) {
  try {
    return read();
  } catch (const std::runtime_error& error) {
    throw NotUnderstood{std::string("paceline-worker answered nonsense: ") + error.what()};
  }
}

// Throws std::runtime_error where it is not one to this point.
traces::Reply reply_of(const std::string& line, const ResolvedPoint& point) {
  auto reply = traces::reply_from_line(line, point.program);
  if (std::visit([](const auto& either) { return either.id; }, reply) != point.id) {
    throw std::runtime_error("of another point");
  }
  const auto* result = std::get_if<Result>(&reply);
  if (result != nullptr) {
    if (!result->measurement) throw std::runtime_error("nothing measured");
    const bool has_steps = !result->measurement->calls;
    if (has_steps && result->trace.classes.empty()) throw std::runtime_error("steps of no rank");
  }
  return reply;
}

// Rank and world size, as a launcher told this process.
struct Identity {
  std::uint32_t rank = 0, world_size = 1;
};

Identity ask_who_this_is() {
  LineProcess worker({"paceline-worker", {executor_path("paceline-worker"), "--who"}, true});
  const auto answer = worker.listen(std::nullopt);
  const int status = worker.end();
  const std::string why = complaint_of(worker.last_words());
  if (status == status_usage) throw InputError({"the launcher's variables"}, why, "");
  if (status != 0)
    throw BackendError("paceline-worker", why.empty() ? end_of(worker, status) : why);
  Identity identity;
  if (answer.line) std::istringstream(*answer.line) >> identity.rank >> identity.world_size;
  return identity;
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  release_memory(0);
  ::execv(arguments[0], arguments.data());
  throw BackendError("paceline-worker", std::string("cannot be started: ") + std::strerror(errno));
}

bool ranks_meet = false;  // of the launcher of this process

}  // namespace

void refuse_more_than_start_here(std::uint32_t ranks, const Location& where) {
  if (ranks <= ranks_of_one_machine) return;
  throw InputError(where,
                   fmt::format("{} ranks are more than the {} that one machine starts", ranks,
                               ranks_of_one_machine),
                   "take fewer GPUs, or start ranks with torchrun, mpirun or srun");
}

void share_secret(const std::string& path) {
  constexpr const char* variable = "PACELINE_SECRET_FILE";
  if (!path.empty()) {
    constexpr std::size_t bytes_max = std::size_t{1} << 20;  // paceline-worker wants far fewer
    (void)files::read_text(path, bytes_max);
    ::setenv(variable, path.c_str(), 1);
  } else if (const char* const given = std::getenv(variable)) {
    files::note_input(given);
  }
}

void refuse_secret_of_own_ranks(const std::string& path) {
  if (path.empty()) return;
  throw InputError({"--secret-file"},
                   "is for ranks that a launcher starts, and no launcher's variables are set",
                   "leave it out: ranks of this machine listen on loopback alone");
}

WorkerRanks::WorkerRanks(const RankGroup& group, Start start, const std::string& told)
    : group_(group), worker_(worker_command(group, start, told)) {}

std::optional<std::string> WorkerRanks::reply_to(
    const ResolvedPoint& point, std::vector<Seconds>& steps,
    const std::function<void(std::size_t)>& tell_steps) {
  auto answer = worker_.ask(traces::to_line(point), std::nullopt);
  while (answer.line) {
    if (answer.line->starts_with('{')) {  // mpirun complains there, too
      const auto progress = understood([&] { return traces::progress_from_line(*answer.line); });
      if (!progress) break;
      steps.push_back(progress->duration);
      if (tell_steps) tell_steps(steps.size());
    }
    answer = worker_.listen(std::nullopt);
  }
  if (!answer.line && StopRequest::is_made_or_comes()) throw Stopped();
  return answer.line;
}

Measured WorkerRanks::measure(const ResolvedPoint& point, const Location& asked,
                              const std::function<void(std::size_t)>& tell_steps) {
  Measured measured;
  try {
    if (const auto line = reply_to(point, measured.steps, tell_steps)) {
      measured.reply = understood([&] { return reply_of(*line, point); });
      return measured;
    }
  } catch (const Stopped& stopped) {
    measured.lost = {FailureCause::stopped, stopped.what()};
  } catch (const NotUnderstood& what) {
    measured.lost = {FailureCause::failed, what.why};
  }
  if (measured.lost) {
    worker_.terminate();
    (void)worker_.end();
    return measured;
  }
  const int status = worker_.end();
  const std::string why = complaint_of(worker_.last_words());
  if (status == status_usage) throw InputError(asked, why, "");
  measured.lost = {FailureCause::failed,
                   why.empty() || worker_.was_stopped() ? end_of(worker_, status) : why};
  return measured;
}

void tell_launched_ranks(const std::string& line) noexcept {
  constexpr std::size_t line_max = 4096;  // of what another host prints
  try {
    if (ranks_meet || ask_who_this_is().world_size == 1) return;
    LineProcess worker({"paceline-worker",
                        {executor_path("paceline-worker"), "--fault=" + line.substr(0, line_max)},
                        true});
    (void)worker.listen(std::nullopt);
    (void)worker.end();
  } catch (const std::exception&) {  // a launcher that says nothing of ranks, a worker that is gone
  }
}

WorkerRanksPtr join_launcher(const std::function<RankGroup(std::uint32_t ranks)>& group_of,
                             const Task& task) {
  const Identity identity = ask_who_this_is();
  if (identity.world_size == 1) return nullptr;
  const RankGroup group = group_of(identity.world_size);
  const std::string told = told_text(task);
  ranks_meet = true;
  if (identity.rank > 0) become(rank_command(group, told));
  return std::make_unique<WorkerRanks>(group, WorkerRanks::Start::by_launcher, told);
}

}  // namespace paceline
