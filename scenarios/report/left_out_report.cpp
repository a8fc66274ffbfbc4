#include "scenarios/report/left_out_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/text_table.h"

namespace paceline {
namespace {

using nlohmann::ordered_json;

std::string percent_text(double value) { return fmt::format("{:.1f}%", value); }

std::vector<std::string> cells(const LeftOutSource& left, std::string name, std::string network,
                               std::string chosen) {
  const stats::ErrorSummary& errors = left.predicted;
  return {std::move(name),
          std::move(network),
          std::move(chosen),
          std::to_string(errors.points),
          percent_text(errors.mean_absolute),
          percent_text(errors.median_absolute),
          percent_text(errors.max_absolute),
          fmt::format("{:+.1f}%", errors.bias),
          percent_text(left.in_sample.mean_absolute),
          percent_text(left.oracle.mean_absolute),
          percent_text(left.perfect_scaling.mean_absolute),
          percent_text(left.no_overlap.mean_absolute),
          percent_text(left.constant_overlap.mean_absolute)};
}

void add(IntervalFigures& sum, const IntervalFigures& one, double share) {
  for (const auto part : {&IntervalFigures::coverage_percent, &IntervalFigures::width_percent,
                          &IntervalFigures::easy_width_percent, &IntervalFigures::score}) {
    sum.*part += share * one.*part;
  }
}

// Every figure the mean of the sources', but for points, which add up, and the largest error.
LeftOutSource mean_of(const std::vector<LeftOutSource>& sources) {
  LeftOutSource mean;
  const double share = 1.0 / static_cast<double>(sources.size());
  for (const LeftOutSource& left : sources) {
    for (const auto part : {&LeftOutSource::predicted, &LeftOutSource::in_sample,
                            &LeftOutSource::oracle, &LeftOutSource::perfect_scaling,
                            &LeftOutSource::no_overlap, &LeftOutSource::constant_overlap}) {
      (mean.*part).mean_absolute += share * (left.*part).mean_absolute;
    }
    mean.predicted.points += left.predicted.points;
    mean.predicted.median_absolute += share * left.predicted.median_absolute;
    mean.predicted.max_absolute =
        std::max(mean.predicted.max_absolute, left.predicted.max_absolute);
    mean.predicted.bias += share * left.predicted.bias;
    add(mean.intervals, left.intervals, share);
    add(mean.constant_intervals, left.constant_intervals, share);
  }
  return mean;
}

std::string text_of(const std::optional<NetworkKnowledge>& network) {
  return network ? std::string(to_text(*network)) : "some of either";
}

ordered_json json_of(const stats::ErrorSummary& errors) {
  return {{"points", errors.points},
          {"mean_absolute_percent", errors.mean_absolute},
          {"median_absolute_percent", errors.median_absolute},
          {"max_absolute_percent", errors.max_absolute},
          {"bias_percent", errors.bias}};
}

// Where communication decides something.
void write_decisive(std::ostream& out, const LeftOut& judged) {
  double points = 0, sources = 0, predicted = 0, no_overlap = 0, constant = 0;
  for (const LeftOutSource& left : judged.sources) {
    if (left.decisive.points == 0) continue;
    ++sources;
    points += static_cast<double>(left.decisive.points);
    predicted += left.decisive.mean_absolute;
    no_overlap += left.decisive_no_overlap.mean_absolute;
    constant += left.decisive_constant_overlap.mean_absolute;
  }
  if (sources == 0) return;
  fmt::print(out,
             "\n{:.0f} points of {:.0f} sources where perfect scaling and no overlap differ by 10% "
             "and more: {:.1f}%; no overlap {:.1f}%, constant overlap {:.1f}%\n",
             points, sources, predicted / sources, no_overlap / sources, constant / sources);
}

void write_intervals(std::ostream& out, const LeftOut& judged) {
  TextTable table({"90% intervals", "holds", "width", "where easy", "score", "constant: holds",
                   "width", "score"},
                  1);
  const auto cells_of = [](const LeftOutSource& left, std::string name) {
    const auto& [holds, width, easy, score] = left.intervals;
    const IntervalFigures& constant = left.constant_intervals;
    return std::vector<std::string>{std::move(name),
                                    fmt::format("{:.0f}%", holds),
                                    fmt::format("{:.0f}%", width),
                                    easy > 0 ? fmt::format("{:.0f}%", easy) : "",
                                    fmt::format("{:.3f}", score),
                                    fmt::format("{:.0f}%", constant.coverage_percent),
                                    fmt::format("{:.0f}%", constant.width_percent),
                                    fmt::format("{:.3f}", constant.score)};
  };
  for (const LeftOutSource& left : judged.sources) table.add(cells_of(left, left.source));
  LeftOutSource mean = mean_of(judged.sources);
  mean.intervals.easy_width_percent = 0;  // not every source has such rows
  table.add(cells_of(mean, "mean of sources"));
  out << '\n';
  table.write(out);
  const IntervalWidths& all = judged.widths_by_all;
  fmt::print(out,
             "\nwidths, and the constant one, are those that the others choose; easy: perfect "
             "scaling and no overlap differ by less than 10%; score: interval score of logarithms\n"
             "all sources choose: faster {} + {} x share, slower {} + {} x share, calls {}\n",
             all.faster, all.faster_by_share, all.slower, all.slower_by_share, all.calls);
}

ordered_json json_of(const IntervalFigures& intervals) {
  return {{"coverage_percent", intervals.coverage_percent},
          {"width_percent", intervals.width_percent},
          {"easy_width_percent", intervals.easy_width_percent},
          {"score", intervals.score}};
}

}  // namespace

void write_table(std::ostream& out, const LeftOut& judged,
                 const std::vector<std::string>& candidates) {
  TextTable table(
      {"left out", "network", "chosen by the others", "points", "mean |error|", "median", "max",
       "bias", "in sample", "oracle", "perfect scaling", "no overlap", "constant overlap"},
      3);
  for (const LeftOutSource& left : judged.sources) {
    table.add(cells(left, left.source, text_of(left.network), candidates[left.chosen]));
  }
  table.add(cells(mean_of(judged.sources), "mean of sources", "", ""));
  for (const auto& [network, text] : words_of(NetworkKnowledge{})) {
    std::vector<LeftOutSource> alike;
    for (const LeftOutSource& left : judged.sources) {
      if (left.network == network) alike.push_back(left);
    }
    if (alike.empty()) continue;
    table.add(
        cells(mean_of(alike), fmt::format("mean of {}", alike.size()), std::string(text), ""));
  }
  table.write(out);
  fmt::print(out,
             "\n{} sources, drawn again with repetitions: {:.1f}% to {:.1f}% (90%)\n"
             "in sample: chosen by all sources: {}\n"
             "oracle: what is exposed times the factor that fits the source best; no prediction\n"
             "constant overlap: one GPU's step and the communication, each times a factor that "
             "the others fit\n",
             judged.sources.size(), judged.mean_low_percent, judged.mean_high_percent,
             candidates[judged.chosen_by_all]);
  write_decisive(out, judged);
  write_intervals(out, judged);
}

void write_json(std::ostream& out, const LeftOut& judged,
                const std::vector<std::string>& candidates) {
  ordered_json sources = ordered_json::array();
  for (const LeftOutSource& left : judged.sources) {
    sources.push_back({{"source", left.source},
                       {"network", text_of(left.network)},
                       {"chosen", candidates[left.chosen]},
                       {"paceline", json_of(left.predicted)},
                       {"intervals", json_of(left.intervals)},
                       {"constant intervals", json_of(left.constant_intervals)},
                       {"in sample", json_of(left.in_sample)},
                       {"oracle", json_of(left.oracle)},
                       {"decisive", json_of(left.decisive)},
                       {"decisive no overlap", json_of(left.decisive_no_overlap)},
                       {"decisive constant overlap", json_of(left.decisive_constant_overlap)},
                       {"perfect scaling", json_of(left.perfect_scaling)},
                       {"no overlap", json_of(left.no_overlap)},
                       {"constant overlap", json_of(left.constant_overlap)},
                       {"wrapper", left.others_overlap.wrapper},
                       {"hidden", left.others_overlap.hidden}});
  }
  const ordered_json table{{"schema", "paceline.left-out/1"},
                           {"sources", std::move(sources)},
                           {"chosen_by_all", candidates[judged.chosen_by_all]},
                           {"mean_percent", judged.mean_percent},
                           {"mean_low_percent", judged.mean_low_percent},
                           {"mean_high_percent", judged.mean_high_percent}};
  out << table.dump(1) << '\n';
}

}  // namespace paceline
