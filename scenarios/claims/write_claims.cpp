#include "scenarios/claims/write_claims.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/text_table.h"

namespace paceline::claims {
namespace {

using nlohmann::ordered_json;

std::string predicted_text(const Finding& finding) {
  if (!finding.least) return "nothing";
  const Quantity quantity = finding.claim.quantity;
  const std::string least = to_text(quantity, *finding.least),
                    most = to_text(quantity, *finding.most);
  return least == most ? least : fmt::format("{} to {}", least, most);
}

std::string words_text(Quantity quantity) {
  std::string text(paceline::to_text(quantity));
  for (char& letter : text) {
    if (letter == '_') letter = ' ';
  }
  return text;
}

std::string conditions_text(const Claim& claim) {
  std::vector<std::string> axes;
  for (const ClaimAxis& axis : claim.conditions) {
    axes.push_back(fmt::format("{} {}", axis.path, fmt::join(axis.values, ", ")));
  }
  return axes.empty() ? "one" : fmt::format("{}", fmt::join(axes, "; "));
}

void write_finding(std::ostream& out, const Finding& finding) {
  const Claim& claim = finding.claim;
  fmt::print(out, "{}: {}\n", claim.name, claim.sentence);
  fmt::print(out, "  claimed    {} {} ({})\n", words_text(claim.quantity),
             to_text(claim.quantity, claim.claimed), claim.source);
  if (claim.given) {
    fmt::print(out, "  given      {} {}\n", words_text(claim.given->quantity),
               to_text(claim.given->quantity, claim.given->range));
  }
  fmt::print(out, "  tried at   {}\n", conditions_text(claim));
  fmt::print(out, "  predicted  {}; in the range claimed at {} of {}\n", predicted_text(finding),
             finding.held, finding.counted);
  const std::size_t left_out = finding.trials.size() - finding.counted;
  if (left_out > 0) {
    fmt::print(out, "  left out   {} of {} conditions\n", left_out, finding.trials.size());
  }
  fmt::print(out, "  {}{} {}\n", paceline::to_text(finding.verdict),
             finding.verdict == Verdict::holds_if ? "" : ":", finding.reason);
  if (!claim.note.empty()) fmt::print(out, "  note: {}\n", claim.note);
}

// The settings that were taken where a side has several.
std::string chosen_text(const Trial& trial) {
  if (!trial.value) return trial.left_out;
  if (trial.before.empty() && trial.after.empty()) return "";
  return fmt::format("{}{}{}", trial.before, trial.before.empty() ? "" : " against ", trial.after);
}

void write_conditions(std::ostream& out, const Finding& finding) {
  std::vector<std::string> header;
  for (const ClaimAxis& axis : finding.claim.conditions) {
    header.push_back(axis.path.substr(axis.path.rfind('.') + 1));
  }
  const std::size_t axes = header.size();
  header.insert(header.end(), {words_text(finding.claim.quantity), "holds", ""});
  TextTable table(std::move(header), axes);
  for (const Trial& trial : finding.trials) {
    std::vector<std::string> row;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      row.push_back(finding.claim.conditions[axis].values[trial.at[axis]]);
    }
    row.push_back(trial.value ? to_text(finding.claim.quantity, *trial.value) : "");
    row.push_back(trial.value ? (trial.holds ? "yes" : "no") : "");
    row.push_back(chosen_text(trial));
    table.add(std::move(row));
  }
  out << '\n';
  table.write(out);
}

void write_summary(std::ostream& out, const std::vector<Finding>& findings) {
  TextTable table({"claim", "claimed", "predicted", "holds at", "verdict"}, 5);
  for (const Finding& finding : findings) {
    std::string verdict(paceline::to_text(finding.verdict));
    if (finding.where) verdict += " " + finding.where->text;
    table.add({finding.claim.name, to_text(finding.claim.quantity, finding.claim.claimed),
               predicted_text(finding), fmt::format("{} of {}", finding.held, finding.counted),
               std::move(verdict)});
  }
  table.write(out);
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const Claim& claim, const Trial& trial) {
  ordered_json axes = ordered_json::array();
  for (std::size_t axis = 0; axis < trial.at.size(); ++axis) {
    axes.push_back({{"path", claim.conditions[axis].path},
                    {"value", claim.conditions[axis].values[trial.at[axis]]}});
  }
  return {{"axes", std::move(axes)},
          {"value", or_null(trial.value)},
          {"holds", trial.value ? ordered_json(trial.holds) : ordered_json(nullptr)},
          {"before", trial.before},
          {"after", trial.after},
          {"left_out", trial.left_out}};
}

ordered_json json_of(const Range& range) {
  return {{"least", or_null(range.least)}, {"most", or_null(range.most)}};
}

ordered_json json_of(const Finding& finding) {
  const Claim& claim = finding.claim;
  ordered_json conditions = ordered_json::array();
  for (const Trial& trial : finding.trials) conditions.push_back(json_of(claim, trial));
  ordered_json given = nullptr;
  if (claim.given) {
    given = {{"quantity", paceline::to_text(claim.given->quantity)},
             {"range", json_of(claim.given->range)}};
  }
  return {{"name", claim.name},
          {"claim", claim.sentence},
          {"source", claim.source},
          {"quantity", paceline::to_text(claim.quantity)},
          {"claimed", json_of(claim.claimed)},
          {"given", std::move(given)},
          {"predicted", json_of(Range{finding.least, finding.most})},
          {"conditions_counted", finding.counted},
          {"conditions_held", finding.held},
          {"verdict", paceline::to_text(finding.verdict)},
          {"where", finding.where ? ordered_json(finding.where->text) : ordered_json(nullptr)},
          {"reason", finding.reason},
          {"note", claim.note},
          {"conditions", std::move(conditions)}};
}

}  // namespace

void write_text(std::ostream& out, const std::vector<Finding>& findings, bool with_conditions) {
  for (const Finding& finding : findings) {
    write_finding(out, finding);
    if (with_conditions) write_conditions(out, finding);
    out << '\n';
  }
  if (findings.size() > 1) write_summary(out, findings);
}

void write_json(std::ostream& out, const std::vector<Finding>& findings, bool is_complete) {
  ordered_json claims = ordered_json::array();
  for (const Finding& finding : findings) claims.push_back(json_of(finding));
  const ordered_json all{
      {"schema", "paceline.claims/1"}, {"complete", is_complete}, {"claims", std::move(claims)}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::claims
