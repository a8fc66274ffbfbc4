#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
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
constexpr int widest = 3, network = 2, losses = 2, source = 1;
}  // namespace weight

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string error_text(const PointOutcome& outcome) {
  const auto error = outcome.error_percent();
  if (!error) return "";
  if (outcome.gpus == 1) return "input";
  return fmt::format("{:+.1f}%{}", *error, outcome.measured->known ? " known" : "");
}

struct Columns {
  bool gpus;         // none of the axes is
  bool predicted;    // some point was to be
  bool measured;     // throughput
  bool on_hardware;  // steps and what of them is communication
  bool tokens;       // throughput is in tokens, which all points have, not in samples
};

Columns columns_of(const std::vector<PointOutcome>& outcomes) {
  const auto& axes = outcomes.front().axes;
  const auto any = [&](auto has) { return std::ranges::any_of(outcomes, has); };
  return {std::ranges::find(axes, "gpus", &AxisValue::path) == axes.end(),
          any([](const PointOutcome& one) { return one.predicted || one.failure; }),
          any([](const PointOutcome& one) { return one.measured.has_value(); }),
          any([](const PointOutcome& one) { return one.measurement || one.measure_failure; }),
          !any([](const PointOutcome& one) { return one.setup.sequence == 0; })};
}

std::vector<std::string> header_of(const std::vector<AxisValue>& axes, const Columns& columns) {
  std::vector<std::string> header;
  const auto add = [&](std::initializer_list<const char*> names) {
    header.insert(header.end(), names.begin(), names.end());
  };
  for (const AxisValue& axis : axes) header.push_back(last_part(axis.path));
  if (columns.gpus) add({"gpus"});
  if (!columns.predicted) {
    const char* throughput = columns.tokens ? "tokens/s" : "measured/s";
    add({"step", "MAD", "exposed comm", "CPUs busy", throughput, "speedup"});
    return header;
  }
  add({"step", "90% interval"});
  columns.tokens ? add({"exposed", "tokens/s", "per GPU"}) : add({"exposed comm", "predicted/s"});
  if (columns.on_hardware) add({"measured step", "MAD", "exposed", "CPUs busy"});
  if (columns.measured) add({"measured/s", "error"});
  add({"speedup"});
  if (columns.measured) add({"measured"});
  return header;
}

std::string interval_text(const PointOutcome& outcome) {
  if (!outcome.predicted) return "";
  const Seconds step = outcome.predicted->totals.step;
  return fmt::format("-{:.0f}% +{:.0f}%", 100 * (1 - outcome.predicted->interval.low / step),
                     100 * (outcome.predicted->interval.high / step - 1));
}

std::string in_units(SamplesPerSecond throughput, const PointOutcome& outcome,
                     const Columns& columns) {
  return in_digits(columns.tokens ? SamplesPerSecond(*outcome.tokens_of(throughput)) : throughput);
}

void add_prediction(const PointOutcome& outcome, const Columns& columns,
                    std::vector<std::string>& row) {
  if (!outcome.predicted) {
    row.insert(row.end(), {"failed", "", "", ""});
    if (columns.tokens) row.emplace_back();
    return;
  }
  const StepTotals& totals = outcome.predicted->totals;
  row.push_back(to_text(totals.step));
  row.push_back(interval_text(outcome));
  row.push_back(to_text(totals.exposed_communication));
  const SamplesPerSecond throughput = outcome.predicted_throughput();
  row.push_back(in_units(throughput, outcome, columns));
  if (columns.tokens) row.push_back(in_units(throughput / outcome.gpus, outcome, columns));
}

void add_measurement(const PointOutcome& outcome, std::vector<std::string>& row) {
  if (!outcome.measurement) {
    const bool failed = outcome.measure_failure.has_value();
    row.insert(row.end(), {failed ? "failed" : "", "", "", ""});
    return;
  }
  const StepTotals& totals = outcome.measurement->totals;
  row.push_back(to_text(totals.step));
  row.push_back(to_text(outcome.measurement->measurement->mad));
  row.push_back(to_text(totals.exposed_communication));
  row.push_back(fmt::format("{:.0f}%", 100 * outcome.measurement->measurement->cpu_busy));
}

std::string speedup_text(const std::optional<double>& speedup) {
  return speedup ? fmt::format("{:.2f}", *speedup) : "";
}

std::vector<std::string> row_of(const PointOutcome& outcome, const Columns& columns) {
  std::vector<std::string> row;
  for (const AxisValue& axis : outcome.axes) row.push_back(axis.text);
  if (columns.gpus) row.push_back(std::to_string(outcome.gpus));
  if (columns.predicted) add_prediction(outcome, columns, row);
  if (columns.on_hardware || !columns.predicted) add_measurement(outcome, row);
  if (columns.measured || !columns.predicted) {
    const auto& measured = outcome.measured;
    row.push_back(measured ? in_units(measured->throughput, outcome, columns) : "");
  }
  if (columns.measured && columns.predicted) row.push_back(error_text(outcome));
  if (columns.predicted) {
    row.push_back(outcome.predicted ? speedup_text(outcome.predicted_speedup()) : "");
  }
  if (columns.measured || !columns.predicted)
    row.push_back(speedup_text(outcome.measured_speedup()));
  return row;
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

// What the largest job's step takes beyond one GPU's. Of less than a hundredth nobody asks.
void add_losses(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  const PointOutcome* largest = nullptr;
  for (const PointOutcome& one : outcomes) {
    if (one.predicted && one.gpus > 1 && (largest == nullptr || one.gpus > largest->gpus)) {
      largest = &one;
    }
  }
  if (largest == nullptr) return;
  const StepTotals& totals = largest->predicted->totals;
  const Seconds slower = totals.step - totals.exposed_communication - largest->one_gpu_step;
  if (slower < totals.step * 0.01) return;
  remarks.add(weight::losses,
              fmt::format("{}: {} of one GPU, {} of slower compute (stragglers, contention, "
                          "copies), {} of exposed communication; paceline explain has each term",
                          largest->name(), to_text(largest->one_gpu_step), to_text(slower),
                          to_text(totals.exposed_communication)));
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
  const std::string at_most = memory_text(*fullest);
  remarks.add_detail(
      fmt::format("memory, at most: {}: {}; without CUDA context, libraries and workspaces",
                  at_most, memory_parts(*fullest->memory)));
  // Contexts, libraries and workspaces take a tenth of most GPUs (scenarios/capacity/README.md).
  constexpr double nearly_full = 0.9;
  if (too_large > 0) {
    std::string fault = "memory: does not fit: " + at_most;
    if (known > 1) fault += fmt::format("; {} of {} points do not", too_large, known);
    remarks.add(weight::does_not_fit, fault);
  } else if (fullest->device_memory && fullness(*fullest) > nearly_full) {
    remarks.add(weight::does_not_fit,
                fmt::format("memory: nearly full: {}, without CUDA context, libraries and "
                            "workspaces",
                            at_most));
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
  for (const FoundContradiction& one : contradictions_of(outcomes)) {
    remarks.add(weight::contradiction, "contradiction: " + one.sentence());
  }
}

void add_check(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.check) remarks.conclude(outcome.check->sentence());
  }
}

void add_sureness(Remarks& remarks, const std::vector<PointOutcome>& outcomes) {
  const Sureness found = sureness_in_words(outcomes);
  if (!found.widest.empty()) remarks.add(weight::widest, found.widest);
  if (!found.next.empty()) remarks.add(weight::measure_next, found.next);
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
void mark_error(TextTable& table, const std::vector<std::string>& header,
                const PointOutcome& outcome) {
  if (!outcome.counts()) return;
  const auto column = std::ranges::find(header, "error");
  if (column == header.end()) return;
  const Seconds measured = Seconds(outcome.samples_per_step / outcome.measured->throughput.value());
  const StepInterval& interval = outcome.predicted->interval;
  const bool is_inside = interval.low <= measured && measured <= interval.high;
  table.mark(static_cast<std::size_t>(column - header.begin()),
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
  const Columns columns = columns_of(outcomes);
  const auto& axes = outcomes.front().axes;
  const std::vector<std::string> header = header_of(axes, columns);
  TextTable table(header, axes.size() + (columns.gpus ? 1 : 0));
  for (const PointOutcome& outcome : outcomes) {
    table.add(row_of(outcome, columns));
    mark_error(table, header, outcome);
    add_bar(table, outcome);
  }
  Remarks remarks;
  add_bound(remarks, outcomes);
  add_error(remarks, outcomes);
  add_contradictions(remarks, outcomes);
  add_replaced(remarks, outcomes);
  add_sources(remarks, file, outcomes);
  add_network(remarks, file, outcomes);
  add_losses(remarks, outcomes);
  add_sureness(remarks, outcomes);
  add_memory(remarks, outcomes);
  add_check(remarks, outcomes);
  remarks.assume(assumptions_of(outcomes));

  const Described head = described(file, outcomes);
  write_headline(out, file.name(),
                 {fmt::format("{}", fmt::join(head.setup, "; ")), head.gradients});
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
