#include "scenarios/import/records_summary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "models/units/parse.h"
#include "scenarios/import/known_networks.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using traces::RunRecord;
using Cell = RunRecord::Cell;
using Json = nlohmann::ordered_json;

std::string text_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return value;
        } else if constexpr (std::is_same_v<Value, double>) {
          return fmt::format("{:.3g}", value);
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          return std::to_string(value);
        } else {
          return to_text(value);
        }
      },
      cell);
}

// "step time" of seconds is step_time_s.
std::string key_of(std::string name, const Cell& cell) {
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '/' || c == ','; }, '_');
  if (std::holds_alternative<Seconds>(cell)) return name + "_s";
  if (std::holds_alternative<Bytes>(cell)) return name + "_bytes";
  if (std::holds_alternative<BytesPerSecond>(cell)) return name + "_bytes_per_s";
  return name;
}

Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (requires { value.value(); }) {
          return value.value();
        } else {
          return value;
        }
      },
      cell);
}

void write_table(std::ostream& out, const RunRecord::Table& table, Rows rows) {
  const std::size_t all = table.rows.size();
  const std::size_t written = rows == Rows::all ? all : std::min(all, worst_rows);
  fmt::print(out, "\n{}\n", table.title);
  TextTable text(table.columns, 1);
  for (std::size_t row = 0; row < written; ++row) {
    std::vector<std::string> cells;
    for (const Cell& cell : table.rows[row]) cells.push_back(text_of(cell));
    text.add(std::move(cells));
  }
  text.write(out);
  if (written < all) fmt::print(out, "the first {} of {}; --all writes the others\n", written, all);
}

template <class T>
const T* fact_of(const RunRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.facts, name, &RunRecord::Fact::name);
  return found == record.facts.end() ? nullptr : std::get_if<T>(&found->value);
}

// Which shipped networks have the gradients of a run of DistributedDataParallel's, and so what its
// buckets should be.
void write_networks(std::ostream& out, const RunRecord& record) {
  const auto* tensors = fact_of<std::uint64_t>(record, "tensors");
  const auto* bytes = fact_of<Bytes>(record, "gradients");
  if (tensors == nullptr || bytes == nullptr) return;
  const auto* cap = fact_of<Bytes>(record, "bucket cap");
  for (const std::string& name : networks_with_gradients(*tensors, *bytes)) {
    fmt::print(out,
               "{0} has as many gradients, of as many bytes; its buckets: paceline buckets {0}",
               name);
    if (cap != nullptr) fmt::print(out, " --bucket-cap {}B", cap->value());
    out << '\n';
  }
}

}  // namespace

void write_records(std::ostream& out, const std::vector<Import::Record>& records, Rows rows) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RunRecord& record = records[i].record;
    fmt::print(out, "{}{}: {}\n", i > 0 ? "\n" : "", records[i].file, record.title);
    TextTable facts({"figure", ""}, 1);
    for (const auto& [name, value] : record.facts) facts.add({name, text_of(value)});
    if (!record.facts.empty()) facts.write(out);
    for (const RunRecord::Table& table : record.tables) write_table(out, table, rows);
    if (!record.notes.empty()) out << '\n';
    for (const std::string& note : record.notes) fmt::print(out, "{}\n", note);
    write_networks(out, record);
    if (!record.settings.empty()) fmt::print(out, "\nas keys of a scenario:\n");
    for (const auto& [key, value] : record.settings) fmt::print(out, "  {}: {}\n", key, value);
  }
}

Json json_of(const std::vector<Import::Record>& records) {
  Json all = Json::array();
  for (const auto& [file, record] : records) {
    Json one{{"file", file}, {"title", record.title}};
    Json& facts = one["facts"] = Json::object();
    for (const auto& [name, value] : record.facts) facts[key_of(name, value)] = json_of(value);
    Json& tables = one["tables"] = Json::array();
    for (const RunRecord::Table& table : record.tables) {
      Json rows = Json::array();
      for (const auto& cells : table.rows) {
        Json row = Json::object();
        for (std::size_t c = 0; c < cells.size(); ++c) {
          row[key_of(table.columns[c], cells[c])] = json_of(cells[c]);
        }
        rows.push_back(std::move(row));
      }
      tables.push_back({{"title", table.title}, {"rows", std::move(rows)}});
    }
    one["notes"] = record.notes;
    Json& settings = one["settings"] = Json::object();
    for (const auto& [key, value] : record.settings) settings[key] = value;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace paceline
