#include "scenarios/import/import.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "models/text/number.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/shell_word.h"
#include "traces/archive/input.h"
#include "traces/collective_table/collective_table.h"
#include "traces/formats/formats.h"
#include "traces/json/json_value.h"
#include "traces/link_test/link_test.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

struct OwnKind {
  std::string_view schema, what, command, use;
};

constexpr std::array own_kinds{
    OwnKind{"paceline/1", "a scenario", "paceline run {}", ""},
    OwnKind{"paceline.job/1", "a job of a planner", "paceline capacity {}", ""},
    OwnKind{"paceline.cluster/1", "a cluster", "paceline collective {}", ""},
    OwnKind{"paceline.network/1", "a network", "paceline buckets {}", ""},
    OwnKind{"paceline.claim/1", "a claim", "paceline claims {}", ""},
    OwnKind{"paceline.device/1", "a device", "", "a scenario takes it as workload.device"},
    OwnKind{"paceline.calibration/1", "a calibration", "",
            "a scenario takes it as cluster.calibration, and paceline validate takes it as "
            "--calibration"},
    OwnKind{"paceline.catalogue/1", "a catalogue of machines", "", "a job takes it as catalogue"},
    OwnKind{
        "paceline.result/1", "a result of paceline run", "",
        "paceline compare takes two of them, as paceline compare PREDICTED.json MEASURED.json"}};

// Behind "schema:" or "\"schema\":", without quotes; empty for a text without one.
std::string_view schema_of(std::string_view text) {
  constexpr std::size_t looked_at = 65536;  // comments may stand before it
  text = text.substr(0, looked_at);
  std::string_view schema;
  traces::for_each_line(text, [&](std::size_t number, std::string_view line) {
    if (!schema.empty()) return;
    const std::size_t begin = line.find_first_not_of(number == 1 ? "{ \t" : " \t");
    if (begin == line.npos) return;
    line.remove_prefix(begin);
    for (const std::string_view key : {"schema:", "\"schema\":"}) {
      if (!line.starts_with(key)) continue;
      line.remove_prefix(key.size());
      line = line.substr(0, line.find_first_of(",#}"));
      const std::size_t first = line.find_first_not_of(" \t\"'");
      const std::size_t last = line.find_last_not_of(" \t\"'");
      if (first != line.npos) schema = line.substr(first, last - first + 1);
      return;
    }
  });
  return schema;
}

using traces::DeviceTrace;

std::string reason(const traces::FormatError& error) {
  std::string text = error.line() > 0 ? fmt::format("line {}: {}", error.line(), error.what())
                                      : std::string(error.what());
  return error.hint().empty() ? text : text + "; " + error.hint();
}

struct LogFiles {
  traces::CollectiveLogFiles files;
  std::vector<std::string> names;  // of those that were taken
};

using Kind = Import::Origin::Kind;

void take_runs(const traces::UnpackedFile& file, Import& import) {
  auto runs = traces::read_step_traces(file.text);
  if (runs.empty()) import.refused.push_back({file.name, "has no runs"});
  std::move(runs.begin(), runs.end(), std::back_inserter(import.runs));
}

bool has_device_work(const DeviceTrace& trace) {
  return !trace.tasks.empty() || std::ranges::any_of(trace.collectives, [](const auto& call) {
    return call.device.has_value();
  });
}

// Why it is of no use; empty where it is of some.
std::string fault_of(const DeviceTrace& trace) {
  if (trace.is_cut && !has_device_work(trace)) {
    return fmt::format("is cut off after {} events, before anything that ran on a device",
                       trace.events);
  }
  if (trace.tasks.empty() && trace.collectives.empty()) {
    return "has no collectives, and nothing that ran on a device";
  }
  return "";
}

// The first that takes a text; null: none.
template <class Format>
const Format* format_of(std::span<const Format> formats, std::string_view text) {
  const auto found =
      std::ranges::find_if(formats, [&](const Format& format) { return format.is_one(text); });
  return found == formats.end() ? nullptr : &*found;
}

const auto* device_trace_format_of(std::string_view text) {
  return format_of(traces::device_trace_formats(), text);
}

const auto* record_format_of(std::string_view text) {
  return format_of(traces::run_record_formats(), text);
}

// As the name says it, where that is a rank of the run.
void take_rank_of_name(std::string_view file, DeviceTrace& trace) {
  const auto rank = traces::rank_of_file_name(file);
  if (rank && (trace.world_size == 0 || index(*rank) < trace.world_size)) trace.rank = rank;
}

// Precondition: a format of device traces takes it.
void take_device_trace(const traces::UnpackedFile& file, Import& import) {
  const bool is_named_by_rank = device_trace_format_of(file.text)->is_named_by_rank;
  for (auto& [part, trace] : traces::read_device_traces(file.text)) {
    const std::string name = part.empty() ? file.name : fmt::format("{} ({})", file.name, part);
    if (std::string fault = fault_of(trace); !fault.empty()) {
      import.refused.push_back({name, std::move(fault)});
      continue;
    }
    if (is_named_by_rank && !trace.rank) take_rank_of_name(file.name, trace);
    import.traces.push_back(std::move(trace));
    import.files.push_back(name);
  }
}

template <class Table, class Entry>
void add_table(const std::string& file, Table table, std::vector<Entry>& tables, Import& import) {
  if (table.rows.empty()) {
    const auto& [line, why] = table.skipped.front();
    import.refused.push_back({file, fmt::format("line {}: {}", line, why)});
    return;
  }
  tables.push_back({file, std::move(table)});
}

void take_log(const traces::UnpackedFile& file, LogFiles& logs, Import& import) {
  logs.names.push_back(file.name);
  for (traces::CollectiveLog& log : logs.files.take(file.text)) {
    add_table(file.name, std::move(log), import.logs, import);
  }
}

void add_joined(LogFiles& logs, Import& import) {
  for (auto& joined : logs.files.joined()) {
    for (traces::CollectiveLog& log : joined.tables) {
      add_table(logs.names[joined.files.front()], std::move(log), import.logs, import);
    }
  }
}

std::string known_formats() {
  std::string known = "paceline.trace";
  for (const auto& format : traces::device_trace_formats())
    known += ", " + std::string(format.name);
  for (const auto& format : traces::collective_log_formats()) {
    known += ", " + std::string(format.name);
  }
  for (const auto& format : traces::run_record_formats()) known += ", " + std::string(format.name);
  return known + ", ping-pongs, topologies of nodes";
}

// Whether what begins so may be in a known format: all are texts but for some of profilers'.
bool may_be_known(std::string_view first) {
  return traces::may_begin_text(first) || device_trace_format_of(first) != nullptr ||
         record_format_of(first) != nullptr;
}

bool is_topology(std::string_view text) {
  return traces::may_begin_text(text) && text.size() <= traces::topology_text_most &&
         std::ranges::any_of(traces::node_topology_formats(),
                             [&](const auto& format) { return format.is_one(text); });
}

// What calibrate takes; a text may hold both kinds.
bool take_measured(const traces::UnpackedFile& file, LogFiles& logs, Import& import) {
  const bool is_link = traces::may_begin_text(file.text) && traces::is_ping_pong(file.text);
  const bool is_log =
      is_link ? traces::is_log_beside_ping_pongs(file.text) : traces::is_collective_log(file.text);
  if (is_log) take_log(file, logs, import);
  if (!is_link) return is_log;
  for (traces::PingPong& table : traces::read_ping_pongs(file.text)) {
    add_table(file.name, std::move(table), import.links, import);
  }
  return true;
}

// What it is; nullopt for what no format takes. Throws FormatError.
std::optional<Kind> take_known(const traces::UnpackedFile& file, LogFiles& logs, Import& import) {
  if (traces::is_step_traces(file.text)) {
    take_runs(file, import);
    return Kind::run;
  }
  if (const auto* format = record_format_of(file.text)) {
    import.records.push_back({file.name, format->read(file.text)});
    return Kind::other;
  }
  if (device_trace_format_of(file.text) != nullptr) {
    take_device_trace(file, import);
    return Kind::trace;
  }
  if (take_measured(file, logs, import)) return Kind::log;
  if (is_topology(file.text)) {
    import.topologies.push_back({file.name, traces::read_node_topology(file.text)});
    return Kind::other;
  }
  return std::nullopt;
}

// What a file has added so far, by how many there were before it.
struct Before {
  std::size_t traces, refused;
};

// Kineto's traces are read up to their last whole event; of other formats a reader took what is
// left of the text. `why` is the archive's reason, if it has one.
void note_cut(const std::string& name, const std::string& why, Before before, Import& import) {
  const bool is_refused = import.refused.size() > before.refused;
  if (is_refused && !why.empty()) {
    import.refused.back().why += fmt::format("; the file is cut off ({})", why);
  }
  const bool has_traces = import.traces.size() > before.traces;
  if (is_refused && !has_traces) return;
  if (has_traces && import.traces.back().is_cut) {
    import.notes.push_back(
        {name, fmt::format("cut off after {} events{}: what came later is not there",
                           in_thousands(static_cast<double>(import.traces.back().events)),
                           why.empty() ? "" : " (" + why + ")")});
  } else if (!why.empty()) {
    import.notes.push_back({name, fmt::format("cut off, or damaged ({}): read up to there", why)});
  }
}

void take_or_refuse(const traces::UnpackedFile& file, const std::string& path, LogFiles& logs,
                    Import& import) {
  // A scenario is no log that breaks off; what paceline measured is one where it has calls.
  const std::optional<OwnFile> own = own_file_of(file.text);
  try {
    if (const auto kind = take_known(file, logs, import)) {
      import.origins.push_back({*kind, file.name, path});
    } else if (own) {
      import.own.push_back({file.name, *own});
    } else {
      const std::string hint = traces::hint_for_table(file.text);
      import.refused.push_back(
          {file.name,
           "is in no known format; " + (hint.empty() ? "known: " + known_formats() : hint)});
    }
  } catch (const traces::FormatError& error) {
    if (own && traces::is_json(file.text)) return import.own.push_back({file.name, *own});
    import.refused.push_back({file.name, reason(error)});
  }
}

void take(const traces::UnpackedFile& file, const std::string& path, LogFiles& logs,
          Import& import) {
  const Before before{import.traces.size(), import.refused.size()};
  take_or_refuse(file, path, logs, import);
  note_cut(file.name, file.cut, before, import);
}

// Of nothing that import prints: why, in the words of the first file.
[[noreturn]] void refuse_all(const Import& import, const std::string& path) {
  if (!import.own.empty()) {
    const auto& [file, kind] = import.own.front();
    throw InputError({file}, sentence_of(kind, file), "");
  }
  if (import.refused.empty()) {
    throw InputError({traces::name_of_input(path)}, "has no files", "");
  }
  throw InputError({import.refused.front().file}, import.refused.front().why, "");
}

void sort_by_rank(Import& import) {
  std::vector<std::size_t> order(import.traces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr Rank last(std::numeric_limits<std::uint32_t>::max());
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return import.traces[i].rank.value_or(last); });
  Import sorted;
  for (const std::size_t i : order) {
    sorted.files.push_back(std::move(import.files[i]));
    sorted.traces.push_back(std::move(import.traces[i]));
  }
  import.files = std::move(sorted.files);
  import.traces = std::move(sorted.traces);
}

void refuse_several_jobs(const Import& import) {
  for (std::size_t i = 1; i < import.traces.size(); ++i) {
    const std::uint32_t first = import.traces[0].world_size, world = import.traces[i].world_size;
    if (first == 0 || world == 0 || first == world) continue;
    throw InputError({import.files[i]},
                     fmt::format("comes from a run of {} ranks, and {} from one of {}", world,
                                 import.files[0], first),
                     "give the files of one run");
  }
}

void refuse_one_rank_twice(const Import& import) {
  for (std::size_t i = 1; i < import.traces.size(); ++i) {
    if (!import.traces[i].rank || import.traces[i].rank != import.traces[i - 1].rank) continue;
    throw InputError({import.files[i]},
                     fmt::format("is from rank {}, and so is {}", import.traces[i].rank->value(),
                                 import.files[i - 1]),
                     "give the files of one run");
  }
}

}  // namespace

std::optional<OwnFile> own_file_of(std::string_view text) {
  const std::string_view schema = schema_of(text);
  const auto kind = std::ranges::find(own_kinds, schema, &OwnKind::schema);
  if (kind != own_kinds.end()) {
    return OwnFile{std::string(kind->what), std::string(kind->command), std::string(kind->use)};
  }
  if (traces::is_link_test(text)) {
    return OwnFile{"a test of links", "paceline validate {} --preset dgx-h100", ""};
  }
  constexpr std::string_view any = "paceline.";
  // Import reads these; what is wrong with one is said.
  constexpr std::array read{std::string_view("paceline.trace/"),
                            std::string_view("paceline.recording/"),
                            std::string_view("paceline.timeline/")};
  if (!schema.starts_with(any) || schema.find('/') == schema.npos ||
      std::ranges::any_of(read, [&](auto one) { return schema.starts_with(one); })) {
    return std::nullopt;
  }
  return OwnFile{fmt::format("what paceline wrote, {}", traces::shown(schema)), "",
                 "no command reads it"};
}

std::string sentence_of(const OwnFile& own, const std::string& file) {
  if (own.command.empty()) return fmt::format("is {}: {}", own.what, own.use);
  return fmt::format("is {}: {}", own.what,
                     fmt::format(fmt::runtime(own.command), shell_word(file)));
}

Import import_traces(const std::vector<std::string>& paths) {
  Import import;
  LogFiles logs;
  for (const std::string& path : paths) {
    files::for_each_input(
        path, may_be_known,
        [&](const traces::UnpackedFile& file) { take(file, path, logs, import); },
        [&](std::string file, const std::string& why) {
          import.refused.push_back({std::move(file), "cannot be read: " + why});
        });
  }
  add_joined(logs, import);
  if (import.traces.empty() && import.runs.empty() && import.logs.empty() &&
      import.records.empty() && import.links.empty() && import.topologies.empty()) {
    refuse_all(import, paths.front());
  }
  sort_by_rank(import);
  refuse_several_jobs(import);
  refuse_one_rank_twice(import);
  for (const DeviceTrace& trace : import.traces) import.steps.push_back(profile_steps(trace));
  import.matched = match_calls(import.traces);
  return import;
}

}  // namespace paceline
