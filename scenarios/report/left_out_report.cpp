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
          fmt::format("{:.0f}%", left.coverage_percent),
          percent_text(left.width_percent),
          percent_text(left.in_sample.mean_absolute),
          percent_text(left.perfect_scaling.mean_absolute),
          percent_text(left.no_overlap.mean_absolute),
          percent_text(left.constant_overlap.mean_absolute)};
}

// Every figure the mean of the sources', but for points, which add up, and the largest error.
LeftOutSource mean_of(const std::vector<LeftOutSource>& sources) {
  LeftOutSource mean;
  const double share = 1.0 / static_cast<double>(sources.size());
  for (const LeftOutSource& left : sources) {
    for (const auto part :
         {&LeftOutSource::predicted, &LeftOutSource::in_sample, &LeftOutSource::perfect_scaling,
          &LeftOutSource::no_overlap, &LeftOutSource::constant_overlap}) {
      (mean.*part).mean_absolute += share * (left.*part).mean_absolute;
    }
    mean.predicted.points += left.predicted.points;
    mean.predicted.median_absolute += share * left.predicted.median_absolute;
    mean.predicted.max_absolute =
        std::max(mean.predicted.max_absolute, left.predicted.max_absolute);
    mean.predicted.bias += share * left.predicted.bias;
    mean.coverage_percent += share * left.coverage_percent;
    mean.width_percent += share * left.width_percent;
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

}  // namespace

void write_table(std::ostream& out, const LeftOut& judged,
                 const std::vector<std::string>& candidates) {
  TextTable table({"left out", "network", "chosen by the others", "points", "mean |error|",
                   "median", "max", "bias", "in 90% interval", "width", "in sample",
                   "perfect scaling", "no overlap", "constant overlap"},
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
             "constant overlap: one GPU's step and the communication, each times a factor that "
             "the others fit\n",
             judged.sources.size(), judged.mean_low_percent, judged.mean_high_percent,
             candidates[judged.chosen_by_all]);
}

void write_json(std::ostream& out, const LeftOut& judged,
                const std::vector<std::string>& candidates) {
  ordered_json sources = ordered_json::array();
  for (const LeftOutSource& left : judged.sources) {
    sources.push_back({{"source", left.source},
                       {"network", text_of(left.network)},
                       {"chosen", candidates[left.chosen]},
                       {"paceline", json_of(left.predicted)},
                       {"coverage_percent", left.coverage_percent},
                       {"width_percent", left.width_percent},
                       {"in sample", json_of(left.in_sample)},
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
