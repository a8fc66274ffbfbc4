#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/claims/verdict.h"
#include "scenarios/data_files/shipped.h"

namespace paceline::claims {

using loader::DocumentPtr;
using loader::Field;
using loader::Reader;

namespace {

constexpr std::string_view schema = "paceline.claim/1";
constexpr double number_max = 1e6;
constexpr std::size_t conditions_max = 1000;

// "50%" is 0.5.
double number_of(const Field& field) {
  return field.text().ends_with('%') ? field.fraction(number_max)
                                     : field.number(-number_max, number_max);
}

Range read_range(Reader range) {
  Range read;
  if (const auto least = range.find("least")) read.least = number_of(*least);
  if (const auto most = range.find("most")) read.most = number_of(*most);
  range.finish();
  if (!read.least && !read.most) {
    throw InputError(range.location(), fmt::format("{} has no bounds", range.path()),
                     "write {least: 50%, most: 70%}, or one of them");
  }
  if (read.least && read.most && *read.least > *read.most) {
    throw InputError(range.location(), fmt::format("{} is empty", range.path()),
                     "write the smaller number as least");
  }
  return read;
}

Settings read_settings_of(Reader map) {
  Settings settings;
  for (const auto& [path, field] : map.entries()) settings.push_back({path, field.text()});
  map.finish();
  return settings;
}

// A map, or a list of maps.
std::vector<Settings> read_sides(Reader& claim, const std::string& key) {
  const auto field = claim.find(key);
  if (!field) return {Settings{}};
  if (!field->node().is_list()) return {read_settings_of(Reader(*field))};
  std::vector<Settings> sides;
  for (const Field& side : field->list()) sides.push_back(read_settings_of(Reader(side)));
  return sides;
}

std::vector<ClaimAxis> read_conditions(Reader map) {
  std::vector<ClaimAxis> axes;
  std::size_t count = 1;
  for (const auto& [path, list] : map.entries()) {
    ClaimAxis& axis = axes.emplace_back(ClaimAxis{path, {}});
    for (const Field& value : list.list()) axis.values.push_back(value.text());
    count *= axis.values.size();
    if (count > conditions_max) {
      list.fail(fmt::format("makes more than {} conditions", conditions_max), "give fewer values");
    }
  }
  map.finish();
  return axes;
}

std::optional<Given> read_given(Reader& claim) {
  if (!claim.has("given")) return std::nullopt;
  Reader map = claim.map("given");
  Given given;
  given.quantity = map.require("quantity", "communication_share").word<Quantity>();
  given.range = read_range(map.map("range"));
  map.finish();
  return given;
}

// Its scenario: `scenario`, a path beside the claim, or `base`.
void read_scenario(Reader& reader, Claim& claim) {
  if (const auto path = reader.find("scenario")) {
    if (reader.has("base")) path->fail("stands beside base", "keep one of them");
    claim.scenario = path->file_path();
    return;
  }
  if (!reader.has("base")) (void)reader.require("base", "{workload.model: resnet50, ...}");
  for (const ScenarioFile::Setting& one : read_settings_of(reader.map("base"))) {
    claim.base.by_path.insert_or_assign(one.path, one.value);
  }
  claim.base.by_path.insert_or_assign("name", claim.name);
}

Claim claim_of(const DocumentPtr& document, const std::string& name) {
  if (!document->root.is_map()) {
    throw InputError({document->name}, "is not a claim",
                     fmt::format("write schema: {} and its keys", schema));
  }
  Reader reader(document);
  reader.expect_schema(schema);
  Claim claim;
  claim.name = name;
  claim.sentence = reader.require("claim", "a sentence").text();
  claim.source = reader.require("source", "folklore").text();
  read_scenario(reader, claim);
  claim.before = read_sides(reader, "before");
  claim.after = read_sides(reader, "after");
  claim.quantity = reader.require("quantity", "time_saved").word<Quantity>();
  if (!reader.has("range")) (void)reader.require("range", "{least: 15%, most: 20%}");
  claim.claimed = read_range(reader.map("range"));
  claim.given = read_given(reader);
  claim.conditions = read_conditions(reader.map("conditions"));
  if (const auto text = reader.find("not_modelled")) claim.not_modelled = text->text();
  if (const auto text = reader.find("note")) claim.note = text->text();
  reader.finish();
  return claim;
}

}  // namespace

bool Range::holds(double value) const {
  return (!least || value >= *least) && (!most || value <= *most);
}

void Range::include(double value) {
  least = std::min(least.value_or(value), value);
  most = std::max(most.value_or(value), value);
}

Claim load_claim(const std::string& name) {
  if (loader::names_a_file(name)) {
    return claim_of(loader::read_document(name), std::filesystem::path(name).stem().string());
  }
  const auto found = std::ranges::find(shipped_claims(), name, &ShippedFile::name);
  if (found == shipped_claims().end()) {
    throw InputError({name}, "is no claim",
                     loader::known_ones(name, loader::names_of(shipped_claims())) +
                         ", or the path of a .yaml file");
  }
  return claim_of(loader::parse_document("claim " + name, found->text), name);
}

std::vector<Claim> load_shipped_claims() {
  std::vector<Claim> claims;
  for (const ShippedFile& file : shipped_claims()) {
    claims.push_back(load_claim(std::string(file.name)));
  }
  std::ranges::sort(claims, {}, &Claim::name);
  return claims;
}

}  // namespace paceline::claims
