#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "models/text/json_writer.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline {

struct KnownFigures {
  stats::ErrorSummary errors;
  double unconditioned = 0, constant_efficiency = 0, no_overlap = 0;
  IntervalFigures intervals;
};

namespace {

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

// Every figure is the mean of the sources', but for points, which add up, and the largest error.
void add_share(double share, const stats::ErrorSummary& of, stats::ErrorSummary& mean) {
  mean.points += of.points;
  mean.mean_absolute += share * of.mean_absolute;
  mean.median_absolute += share * of.median_absolute;
  mean.max_absolute = std::max(mean.max_absolute, of.max_absolute);
  mean.bias += share * of.bias;
}

LeftOutSource mean_of(const std::vector<LeftOutSource>& sources) {
  LeftOutSource mean;
  const double share = 1.0 / static_cast<double>(sources.size());
  for (const LeftOutSource& left : sources) {
    for (const auto part : {&LeftOutSource::predicted, &LeftOutSource::in_sample,
                            &LeftOutSource::oracle, &LeftOutSource::perfect_scaling,
                            &LeftOutSource::no_overlap, &LeftOutSource::constant_overlap}) {
      add_share(share, left.*part, mean.*part);
    }
  }
  return mean;
}

std::string text_of(const std::optional<NetworkKnowledge>& network) {
  return network ? std::string(to_text(*network)) : "some of either";
}

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
  write_line(
      out,
      fmt::format("{:.0f} points of {:.0f} sources where perfect scaling and no overlap differ "
                  "by 10% or more: {:.1f}%; no overlap {:.1f}%, constant overlap {:.1f}%",
                  points, sources, predicted / sources, no_overlap / sources, constant / sources));
}

stats::ErrorSummary summary_of(const std::vector<JudgedRow>& rows, double JudgedRow::*error) {
  std::vector<double> errors;
  for (const JudgedRow& row : rows) errors.push_back(row.*error);
  return stats::summarise(errors);
}

KnownFigures known_figures(const std::vector<JudgedRow>& rows) {
  return {summary_of(rows, &JudgedRow::error),
          summary_of(rows, &JudgedRow::unconditioned).mean_absolute,
          summary_of(rows, &JudgedRow::constant_efficiency).mean_absolute,
          summary_of(rows, &JudgedRow::no_overlap).mean_absolute, figures_of(rows)};
}

KnownFigures mean_of(const std::vector<KnownFigures>& sources) {
  KnownFigures mean;
  const double share = 1.0 / static_cast<double>(sources.size());
  for (const KnownFigures& one : sources) {
    add_share(share, one.errors, mean.errors);
    mean.unconditioned += share * one.unconditioned;
    mean.constant_efficiency += share * one.constant_efficiency;
    mean.no_overlap += share * one.no_overlap;
    mean.intervals.coverage_percent += share * one.intervals.coverage_percent;
    mean.intervals.width_percent += share * one.intervals.width_percent;
    mean.intervals.score += share * one.intervals.score;
  }
  return mean;
}

std::vector<std::string> cells(const KnownFigures& one, std::string name) {
  return {std::move(name),
          std::to_string(one.errors.points),
          percent_text(one.errors.mean_absolute),
          percent_text(one.errors.median_absolute),
          percent_text(one.errors.max_absolute),
          percent_text(one.unconditioned),
          percent_text(one.constant_efficiency),
          percent_text(one.no_overlap),
          fmt::format("{:.0f}%", one.intervals.coverage_percent),
          fmt::format("{:.0f}%", one.intervals.width_percent),
          fmt::format("{:.3f}", one.intervals.score)};
}

std::string title_of(std::size_t known) {
  if (known == 0) return "no row known";
  return known == 1 ? "one row known" : "two rows known";
}

// By source, and by the class of the links that calls cross at the outermost.
void write_known(std::ostream& out, const LeftOut& judged, std::size_t known) {
  TextTable table({title_of(known), "rows", "mean |error|", "median", "max", "with none known",
                   "constant efficiency", "no overlap", "holds", "width", "score"},
                  1);
  std::vector<KnownFigures> sources;
  std::map<uncertain::LinkClass, std::vector<JudgedRow>> by_class;
  for (const LeftOutSource& left : judged.sources) {
    const std::vector<JudgedRow>& rows = left.rows[known];
    if (rows.empty()) continue;
    sources.push_back(known_figures(rows));
    table.add(cells(sources.back(), left.source));
    for (const JudgedRow& row : rows) by_class[row.links].push_back(row);
  }
  if (sources.empty()) return;
  table.add(cells(mean_of(sources), fmt::format("mean of {} sources", sources.size())));
  for (const auto& [links, rows] : by_class) {
    table.add(cells(known_figures(rows), std::string(to_text(links))));
  }
  out << '\n';
  table.write(out);
}

NextRow mean_of(const std::vector<NextRow>& scenarios) {
  NextRow mean{"", 0, 0};
  const double share = 1.0 / static_cast<double>(scenarios.size());
  for (const NextRow& one : scenarios) {
    for (const auto part :
         {&NextRow::promised, &NextRow::had, &NextRow::error_before, &NextRow::error_after}) {
      mean.*part += share * one.*part;
    }
  }
  return mean;
}

void write_next(std::ostream& out, const LeftOut& judged) {
  TextTable table({"the row to measure next", "scenarios", "width promised", "width had",
                   "mean |error| before", "after"},
                  1);
  const auto cells_of = [](std::string name, std::size_t scenarios, const NextRow& mean) {
    return std::vector<std::string>{std::move(name),
                                    std::to_string(scenarios),
                                    fmt::format("{:.0f}%", 100 * mean.promised),
                                    fmt::format("{:.0f}%", 100 * mean.had),
                                    percent_text(mean.error_before),
                                    percent_text(mean.error_after)};
  };
  std::vector<NextRow> means;
  std::size_t scenarios = 0;
  for (const LeftOutSource& left : judged.sources) {
    if (left.next.empty()) continue;
    means.push_back(mean_of(left.next));
    scenarios += left.next.size();
    table.add(cells_of(left.source, left.next.size(), means.back()));
  }
  if (means.empty()) return;
  table.add(cells_of(fmt::format("mean of {} sources", means.size()), scenarios, mean_of(means)));
  out << '\n';
  table.write(out);
  out << '\n';
  write_line(out,
             "the row to measure next: of each scenario's two smallest rows the one that paceline "
             "proposes; widths are those of the other rows, over their widths with no row known");
}

void write_priors(std::ostream& out, const LeftOut& judged) {
  TextTable table({"what descriptions leave open", "before", "all sources say"}, 1);
  uncertain::Priors priors = judged.priors_by_all;
  for (const uncertain::KnownPrior& row : uncertain::known_priors_table()) {
    table.add({std::string(row.name), fmt::format("{:.3g}", row.before),
               row.is_learnt ? fmt::format("{:.3g}", row.at(priors)) : "no rows"});
  }
  out << '\n';
  table.write(out);
}

void write_intervals(std::ostream& out, const LeftOut& judged) {
  for (std::size_t known = 0; known <= known_rows_most; ++known) write_known(out, judged, known);
  out << '\n';
  for (const char* line :
       {"rows known: those of each scenario with the fewest GPUs; the others are judged, with "
        "priors from the other sources",
        "with none known: the same rows; constant efficiency: that of the last known row, or "
        "perfect scaling; no overlap: with communication fitted to that row",
        "holds, width: share of rows within 90% intervals, and their width; score: interval score "
        "of logarithms"}) {
    write_line(out, line);
  }
  write_next(out, judged);
  write_priors(out, judged);
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
  out << '\n';
  write_line(out,
             fmt::format("mean of {} sources, resampled with repetition: {:.1f}% to {:.1f}% "
                         "(90%)",
                         judged.sources.size(), judged.mean_low_percent, judged.mean_high_percent));
  write_line(out, "in sample: chosen by all sources: " + candidates[judged.chosen_by_all]);
  write_line(out,
             "oracle: exposed communication times the factor that fits the source best; not a "
             "prediction");
  write_line(out,
             "constant overlap: one GPU's step and the communication, each times a factor that the "
             "other sources fit");
  write_decisive(out, judged);
  write_intervals(out, judged);
}

constexpr auto fields_of(const JudgedRow*) {
  return Fields(field("scenario", &JudgedRow::scenario), field("point", &JudgedRow::point),
                field("measured_seconds", &JudgedRow::measured_step),
                field("one_gpu_seconds", &JudgedRow::one_gpu_step),
                field("communication_seconds", &JudgedRow::communication),
                field("one_gpu_is_measured", &JudgedRow::one_gpu_is_measured),
                field("links", &JudgedRow::links), field("error_percent", &JudgedRow::error),
                field("unconditioned_percent", &JudgedRow::unconditioned),
                field("constant_efficiency_percent", &JudgedRow::constant_efficiency),
                field("no_overlap_percent", &JudgedRow::no_overlap),
                field("log_measured", &JudgedRow::measured), field("log_low", &JudgedRow::low),
                field("log_high", &JudgedRow::high));
}

constexpr auto fields_of(const KnownFigures*) {
  using Known = KnownFigures;
  using Errors = stats::ErrorSummary;
  return Fields(
      field("mean_absolute_percent", at<&Known::errors, &Errors::mean_absolute>),
      field("median_absolute_percent", at<&Known::errors, &Errors::median_absolute>),
      field("max_absolute_percent", at<&Known::errors, &Errors::max_absolute>),
      field("unconditioned_percent", &Known::unconditioned),
      field("constant_efficiency_percent", &Known::constant_efficiency),
      field("no_overlap_percent", &Known::no_overlap),
      field("coverage_percent", at<&Known::intervals, &IntervalFigures::coverage_percent>),
      field("width_percent", at<&Known::intervals, &IntervalFigures::width_percent>),
      field("score", at<&Known::intervals, &IntervalFigures::score>));
}

constexpr auto fields_of(const LeftOutSource*) {
  using Of = LeftOutSource;
  return Fields(
      field("in sample", &Of::in_sample), field("oracle", &Of::oracle),
      field("decisive", &Of::decisive), field("decisive no overlap", &Of::decisive_no_overlap),
      field("decisive constant overlap", &Of::decisive_constant_overlap),
      field("perfect scaling", &Of::perfect_scaling), field("no overlap", &Of::no_overlap),
      field("constant overlap", &Of::constant_overlap),
      field("wrapper", at<&Of::others_overlap, &ConstantOverlap::wrapper>),
      field("hidden", at<&Of::others_overlap, &ConstantOverlap::hidden>));
}

constexpr auto fields_of(const LeftOut*) {
  return Fields(field("mean_percent", &LeftOut::mean_percent),
                field("mean_low_percent", &LeftOut::mean_low_percent),
                field("mean_high_percent", &LeftOut::mean_high_percent));
}

void write_json(std::ostream& out, const LeftOut& judged,
                const std::vector<std::string>& candidates) {
  JsonWriter json(out);
  const auto write_known = [&](const std::vector<JudgedRow>& rows) {
    if (rows.empty()) return json.value(nullptr);
    json.object([&] {
      json.put_fields(known_figures(rows));
      json.put("rows", rows);
    });
  };
  const auto write_source = [&](const LeftOutSource& left) {
    json.object([&] {
      json.put("source", left.source);
      json.put("network", text_of(left.network));
      json.put("chosen", candidates[left.chosen]);
      json.put("paceline", left.predicted);
      json.put_list("known", left.rows, write_known);
      json.put_fields(left);
    });
  };
  uncertain::Priors priors = judged.priors_by_all;
  json.object([&] {
    json.put("schema", "paceline.left-out/1");
    json.put_list("sources", judged.sources, write_source);
    json.put("chosen_by_all", candidates[judged.chosen_by_all]);
    json.put_object("priors", [&] {
      for (const uncertain::KnownPrior& row : uncertain::known_priors_table()) {
        json.put(row.name, row.at(priors));
      }
    });
    json.put_object("priors_known", [&] {
      for (const uncertain::KnownPrior& row : uncertain::known_priors_table()) {
        json.put_object(row.name, [&] {
          json.put("value", row.value);
          json.put("learnt", row.is_learnt);
        });
      }
    });
    json.put_fields(judged);
  });
}

}  // namespace paceline
