#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <ostream>

#include "models/text/json_writer.h"
#include "scenarios/claims/verdict.h"
#include "scenarios/text_table.h"

namespace paceline::claims {
namespace {

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
  fmt::print(out, "  predicted  {}; in the range claimed at {} of {}\n",
             to_text(claim.quantity, finding.predicted), finding.held, finding.counted);
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
               to_text(finding.claim.quantity, finding.predicted),
               fmt::format("{} of {}", finding.held, finding.counted), std::move(verdict)});
  }
  table.write(out);
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

constexpr auto fields_of(const Range*) {
  return Fields(field("least", &Range::least), field("most", &Range::most));
}

constexpr auto fields_of(const Given*) {
  return Fields(field("quantity", &Given::quantity), field("range", &Given::range));
}

constexpr auto fields_of(const Trial*) {
  constexpr auto holds = [](const Trial& trial) {
    return trial.value ? std::optional(trial.holds) : std::nullopt;
  };
  return Fields(field("value", &Trial::value), field("holds", holds),
                field("before", &Trial::before), field("after", &Trial::after),
                field("left_out", &Trial::left_out));
}

constexpr auto fields_of(const Finding*) {
  return Fields(
      field("name", at<&Finding::claim, &Claim::name>),
      field("claim", at<&Finding::claim, &Claim::sentence>),
      field("source", at<&Finding::claim, &Claim::source>),
      field("quantity", at<&Finding::claim, &Claim::quantity>),
      field("claimed", at<&Finding::claim, &Claim::claimed>),
      field("given", at<&Finding::claim, &Claim::given>), field("predicted", &Finding::predicted),
      field("conditions_counted", &Finding::counted), field("conditions_held", &Finding::held),
      field("verdict", &Finding::verdict), field("where", at<&Finding::where, &Where::text>),
      field("reason", &Finding::reason), field("note", at<&Finding::claim, &Claim::note>));
}

void write_json(std::ostream& out, const std::vector<Finding>& findings, bool is_complete) {
  JsonWriter json(out);
  const auto write_condition = [&](const Claim& claim, const Trial& trial) {
    json.object([&] {
      json.put_list("axes", [&] {
        for (std::size_t axis = 0; axis < trial.at.size(); ++axis) {
          const ClaimAxis& of = claim.conditions[axis];
          json.object([&] {
            json.put("path", of.path);
            json.put("value", of.values[trial.at[axis]]);
          });
        }
      });
      json.put_fields(trial);
    });
  };
  json.object([&] {
    json.put("schema", "paceline.claims/1");
    json.put("complete", is_complete);
    json.put_list("claims", findings, [&](const Finding& finding) {
      json.object([&] {
        json.put_fields(finding);
        json.put_list("conditions", finding.trials,
                      [&](const Trial& trial) { write_condition(finding.claim, trial); });
      });
    });
  });
}

}  // namespace paceline::claims
