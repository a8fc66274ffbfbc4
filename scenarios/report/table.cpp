#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "models/stats/errors.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/judge/contradictions.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/remarks.h"
#include "scenarios/report/described.h"
#include "scenarios/report/report.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

// Remarks by how much they may change a decision: faults, next steps, then sources of figures.
namespace weight {
constexpr int does_not_fit = 9, contradiction = 8, replaced = 7, bound = 6, error = 5;
constexpr int measure_next = 4;
constexpr int widest = 3, network = 2, source = 1;
}  // namespace weight

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string error_text(const PointOutcome& outcome) {
  const auto error = outcome.error_percent();
  if (!error) return "";
  if (outcome.gpus == 1) return "input";
  return fmt::format("{:+.1f}%{}", *error, outcome.measured->known ? " known" : "");
}

struct Column {
  std::string header;
  std::function<std::string(const PointOutcome&)> cell;
};

std::string interval_text(const PointOutcome& one) {
  const StepInterval& interval = one.predicted->interval;
  return fmt::format("-{:.0f}% +{:.0f}%", 100 * (1 - interval.low / one.step()),
                     100 * (interval.high / one.step() - 1));
}

std::string speedup_text(const std::optional<double>& speedup) {
  return speedup ? fmt::format("{:.2f}", *speedup) : "";
}

bool has_gpus(const std::vector<AxisValue>& axes) {
  return std::ranges::find(axes, "gpus", &AxisValue::path) != axes.end();
}

std::vector<Column> columns_of(const std::vector<PointOutcome>& outcomes) {
  using One = const PointOutcome&;
  const auto any = [&](auto has) { return std::ranges::any_of(outcomes, has); };
  const bool has_predictions = any([](One one) { return one.predicted || one.failure; });
  const bool has_measured = any([](One one) { return one.measured.has_value(); });
  const bool has_runs = any([](One one) { return one.measurement || one.measure_failure; });
  const bool in_tokens = !any([](One one) { return one.setup.sequence == 0; });  // all have some
  const auto rate = [in_tokens](SamplesPerSecond of, One one) {
    return in_digits(in_tokens ? SamplesPerSecond(*one.tokens_of(of)) : of);
  };
  std::vector<Column> all;
  const auto add = [&](std::string header, auto cell) { all.push_back({std::move(header), cell}); };
  const auto add_if = [&](auto has, std::string header, auto cell) {
    add(std::move(header), [=](One one) { return one.*has ? cell(one) : std::string(); });
  };
  const auto& axes = outcomes.front().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    add(last_part(axes[i].path), [i](One one) { return one.axes[i].text; });
  }
  if (!has_gpus(axes)) add("gpus", [](One one) { return std::to_string(one.gpus); });
  constexpr auto predicted = &PointOutcome::predicted;
  if (has_predictions) {
    add("step", [](One one) { return one.predicted ? to_text(one.step()) : "failed"; });
    add_if(predicted, "90% interval", interval_text);
    add_if(predicted, in_tokens ? "exposed" : "exposed comm",
           [](One one) { return to_text(one.exposed_communication()); });
    add_if(predicted, in_tokens ? "tokens/s" : "predicted/s",
           [=](One one) { return rate(one.predicted_throughput(), one); });
  }
  if (has_predictions && in_tokens) {
    add_if(predicted, "per GPU",
           [=](One one) { return rate(one.predicted_throughput() / one.gpus, one); });
  }
  if (has_runs || !has_predictions) {
    constexpr auto run = &PointOutcome::measurement;
    add(has_predictions ? "measured step" : "step", [](One one) {
      if (one.measurement) return to_text(one.measurement->totals.step);
      return std::string(one.measure_failure ? "failed" : "");
    });
    add_if(run, "MAD", [](One one) { return to_text(one.measurement->measurement->mad); });
    add_if(run, has_predictions ? "exposed" : "exposed comm",
           [](One one) { return to_text(one.measurement->totals.exposed_communication); });
    add_if(run, "CPUs busy", [](One one) {
      return fmt::format("{:.0f}%", 100 * one.measurement->measurement->cpu_busy);
    });
  }
  if (has_measured || !has_predictions) {
    add_if(&PointOutcome::measured, in_tokens && !has_predictions ? "tokens/s" : "measured/s",
           [=](One one) { return rate(one.measured->throughput, one); });
  }
  if (has_measured && has_predictions) add("error", error_text);
  if (has_predictions) {
    add_if(predicted, "speedup", [](One one) { return speedup_text(one.predicted_speedup()); });
  }
  if (has_measured || !has_predictions) {
    add(has_predictions ? "measured" : "speedup",
        [](One one) { return speedup_text(one.measured_speedup()); });
  }
  return all;
}

void add_error(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  std::vector<double> errors;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.counts()) errors.push_back(*outcome.error_percent());
  }
  if (errors.empty()) return;
  const auto summary = stats::summarise(errors);
  remarks.add(weight::error,
              fmt::format("error of throughput over {}: mean {:.1f}%, max {:.1f}%, bias {:+.1f}%",
                          counted(summary.points, "predicted point"), summary.mean_absolute,
                          summary.max_absolute, summary.bias));
}

void add_sources(Remarks& remarks, const ScenarioFile& file,
                 const std::vector<PointOutcome>& outcomes) {
  std::set<std::string> sources;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.measurement) {
      const Measurement& measurement = *outcome.measurement->measurement;
      sources.insert(fmt::format("here, backend {}, collectives {}, median of {} steps",
                                 measurement.backend, to_text(measurement.mode),
                                 measurement.steps.size()));
    } else if (outcome.measured) {
      sources.insert(file.measured_source());
    }
  }
  for (const std::string& source : sources) {
    remarks.add(weight::source, "measured: " + source);
  }
}

void add_network(Remarks& remarks, const ScenarioFile& file,
                 const std::vector<PointOutcome>& outcomes) {
  const auto is_of_links = [](const PointOutcome& one) {
    return one.predicted && !one.predicted->response.place.is_alone();
  };
  if (std::ranges::none_of(outcomes, is_of_links)) return;
  if (file.network() == NetworkKnowledge::measured) {
    remarks.add(weight::network, "network: measured, by logs or by known rows");
    return;
  }
  std::string text = "network: from its nominal figures only, no measurement";
  // Who changes a bandwidth that flows do not reach wonders why nothing happens.
  constexpr double reached = 0.9;
  const auto limited = std::ranges::find_if(outcomes, [](const PointOutcome& one) {
    return one.predicted && one.nodes > 1 && one.nic_efficiency < reached;
  });
  if (limited != outcomes.end()) {
    const BytesPerSecond rate = limited->nic * limited->nic_efficiency;
    text += fmt::format("; flows reach {:.3g} GB/s of a NIC's {:.3g}", rate.value() / 1e9,
                        limited->nic.value() / 1e9);
  }
  remarks.add(weight::network, text);
}

// What the largest job loses; the headline's first line.
std::string largest_losses(const std::vector<PointOutcome>& outcomes) {
  const PointOutcome* largest = nullptr;
  for (const PointOutcome& one : outcomes) {
    if (one.losses && (largest == nullptr || one.gpus > largest->gpus)) largest = &one;
  }
  return largest == nullptr ? "" : losses_in_words(*largest);
}

// "21.3GiB of 16.0GiB per GPU at 8 GPUs"
std::string memory_text(const PointOutcome& outcome) {
  const std::string device =
      outcome.device_memory ? " of " + in_gibibytes(*outcome.device_memory) : "";
  return fmt::format("{}{} per GPU at {}", in_gibibytes(outcome.memory->total()), device,
                     counted(outcome.gpus, "GPU"));
}

// Of its device, or in bytes where that is not known.
double fullness(const PointOutcome& outcome) {
  const auto device = static_cast<double>(outcome.device_memory.value_or(Bytes(1)).value());
  return static_cast<double>(outcome.memory->total().value()) / device;
}

// "parameters 0.10GiB, gradients 0.10GiB"
std::string memory_parts(const training::GpuMemory& memory) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : {std::pair{"parameters", memory.model.parameters},
                                   {"gradients", memory.model.gradients},
                                   {"optimizer", memory.model.optimizer},
                                   {"buckets", memory.model.buckets},
                                   {"gathered", memory.model.gathered},
                                   {"buffers", memory.buffers},
                                   {"activations", memory.activations}}) {
    if (size >= Bytes(5 << 20)) parts.push_back(fmt::format("{} {}", name, in_gibibytes(size)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Of the fullest point: a remark where it does not fit, or hardly.
void add_memory(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  const PointOutcome* fullest = nullptr;
  std::size_t known = 0, too_large = 0;
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.predicted || !outcome.memory) continue;
    ++known;
    if (outcome.is_too_large()) ++too_large;
    if (fullest == nullptr || fullness(outcome) > fullness(*fullest)) fullest = &outcome;
  }
  if (fullest == nullptr) return;
  const std::string tensors = memory_text(*fullest);
  remarks.add_detail(
      fmt::format("memory, tensors: {}: {}; on top come CUDA's context, libraries, workspaces, and "
                  "the allocator's gaps, a few per cent to a third",
                  tensors, memory_parts(*fullest->memory)));
  // Gaps: GMLake (Guo et al., ASPLOS 2024) found 15 % on average, and up to 33, in eight models.
  // Contexts, libraries and workspaces take a tenth of most GPUs (scenarios/capacity/README.md).
  constexpr double nearly_full = 0.9;
  if (too_large > 0) {
    std::string fault = "memory: does not fit: " + tensors;
    if (known > 1) fault += fmt::format("; {} of {} points do not", too_large, known);
    remarks.add(weight::does_not_fit, fault);
  } else if (fullest->device_memory && fullness(*fullest) > nearly_full) {
    remarks.add(weight::does_not_fit,
                fmt::format("memory: nearly full: {}, without CUDA context, libraries and "
                            "workspaces",
                            tensors));
  }
}

// Faster GPUs and networks do not change it.
void add_bound(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  Seconds least, most;
  std::size_t bound = 0;
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.launches) continue;
    least = bound == 0 ? *outcome.launches : std::min(least, *outcome.launches);
    most = std::max(most, *outcome.launches);
    ++bound;
  }
  if (bound == 0) return;
  const std::string takes =
      least == most ? to_text(most) : fmt::format("{} to {}", to_text(least), to_text(most));
  std::string text = fmt::format(
      "bound by the host: launching the kernels of one GPU's step takes {} on the CPU", takes);
  if (bound < outcomes.size()) text += fmt::format(" (at {} of {} points)", bound, outcomes.size());
  remarks.add(weight::bound, text);
}

void add_contradictions(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  if (const auto found = contradiction_of(outcomes)) {
    remarks.add(weight::contradiction, found->sentence());
  }
}

void add_check(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.check) remarks.conclude(outcome.check->sentence());
  }
}

void write_failures(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  bool is_first = true;
  const auto write = [&](const std::string& line) {
    if (std::exchange(is_first, false)) out << '\n';
    write_line(out, line);
  };
  for (const PointOutcome& outcome : outcomes) {
    const std::string point = outcomes.size() == 1 ? "" : outcome.name() + ": ";
    if (outcome.failure) write("failed: " + point + outcome.failure->why);
    if (outcome.measure_failure) {
      write(fmt::format("not measured: {}{} ({} steps were done)", point,
                        outcome.measure_failure->why, outcome.steps_measured.size()));
    }
  }
}

// Green where a measured step is within its prediction's interval, red where it is not.
void mark_error(TextTable& table, const std::vector<Column>& columns, const PointOutcome& outcome) {
  const auto column = std::ranges::find(columns, "error", &Column::header);
  if (!outcome.counts() || column == columns.end()) return;
  const Seconds measured = Seconds(outcome.samples_per_step / outcome.measured->throughput.value());
  const StepInterval& interval = outcome.predicted->interval;
  const bool is_inside = interval.low <= measured && measured <= interval.high;
  table.mark(static_cast<std::size_t>(column - columns.begin()),
             is_inside ? Paint::good : Paint::bad);
}

void add_bar(TextTable& table, const PointOutcome& outcome) {
  const auto speedup =
      outcome.predicted ? std::optional(outcome.predicted_speedup()) : outcome.measured_speedup();
  if (speedup) table.add_bar("efficiency", *speedup / outcome.gpus);
}

// The points that have the text, briefly: all of a number of GPUs, two names, or how many.
std::string points_of(const std::string& text, const std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> having;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> by_gpus;  // having it, all
  for (const PointOutcome& one : outcomes) {
    const bool has = std::ranges::find(one.assumptions, text) != one.assumptions.end();
    if (has) having.push_back(&one);
    auto& [with, all] = by_gpus[one.gpus];
    with += has ? 1U : 0U;
    ++all;
  }
  if (having.size() == outcomes.size()) return "";
  std::vector<std::uint32_t> gpus;
  bool is_by_gpus = true;
  for (const auto& [number, counts] : by_gpus) {
    const auto& [with, all] = counts;
    is_by_gpus = is_by_gpus && (with == 0 || with == all);
    if (with > 0) gpus.push_back(number);
  }
  if (is_by_gpus) return fmt::format(" (at {} GPUs)", fmt::join(gpus, ", "));
  if (having.size() == 1) return fmt::format(" (at {})", having.front()->name());
  return fmt::format(" (at {} of {} points)", having.size(), outcomes.size());
}

// Of values that were given for another run than this one.
void add_replaced(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  std::set<std::string> known;
  for (const PointOutcome& one : outcomes) {
    for (const std::string& text : one.remarks) {
      if (known.insert(text).second)
        remarks.add(weight::replaced, text + points_of(text, outcomes));
    }
  }
}

}  // namespace

void write_table(std::ostream& out, const ScenarioFile& file,
                 const std::vector<PointOutcome>& outcomes) {
  const std::vector<Column> columns = columns_of(outcomes);
  const auto& axes = outcomes.front().axes;
  std::vector<std::string> header;
  for (const Column& column : columns) header.push_back(column.header);
  TextTable table(std::move(header), axes.size() + (has_gpus(axes) ? 0 : 1));
  for (const PointOutcome& outcome : outcomes) {
    std::vector<std::string> row;
    for (const Column& column : columns) row.push_back(column.cell(outcome));
    table.add(std::move(row));
    mark_error(table, columns, outcome);
    add_bar(table, outcome);
  }
  Remarks remarks;
  add_bound(remarks, outcomes);
  add_error(remarks, outcomes);
  add_contradictions(remarks, outcomes);
  add_replaced(remarks, outcomes);
  add_sources(remarks, file, outcomes);
  add_network(remarks, file, outcomes);
  const Sureness found = sureness_in_words(outcomes);
  remarks.add(weight::widest, found.widest);
  remarks.add(weight::measure_next, found.next);
  add_memory(remarks, outcomes);
  add_check(remarks, outcomes);
  remarks.assume(assumptions_of(outcomes));

  const Described head = described(file, outcomes);
  write_headline(
      out, file.name(),
      {largest_losses(outcomes), fmt::format("{}", fmt::join(head.setup, "; ")), head.gradients});
  table.write(out);
  remarks.write(out);
  write_failures(out, outcomes);
}

void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions) {
  std::set<std::string> written{""};
  for (const std::string& text : assumptions) {
    if (written.size() == 1 && !text.empty()) out << "\nassumed:\n";
    if (written.insert(text).second) write_line(out, "  " + text);
  }
}

std::vector<std::string> assumptions_of(const std::vector<PointOutcome>& outcomes) {
  std::vector<std::string> texts;
  std::set<std::string> known{""};
  for (const PointOutcome& one : outcomes) {
    for (const std::string& text : one.assumptions) {
      if (known.insert(text).second) texts.push_back(text);
    }
  }
  for (std::string& text : texts) text += points_of(text, outcomes);
  return texts;
}

}  // namespace paceline
