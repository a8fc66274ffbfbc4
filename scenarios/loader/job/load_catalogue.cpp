#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "models/shipped_file.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/loader/job/catalogue.h"

namespace paceline::loader {
namespace {

constexpr Text price_of_time{.what = "a price of time", .pattern = price_of_time_pattern};

constexpr Text date{.what = "a date, or unknown",
                    .pattern = "^([0-9]{4}-[01][0-9]-[0-3][0-9]|unknown)$"};

constexpr std::array machines_forms{Form{Map{machine_keys}, Form::Of::list}};

std::span<const Key> nodes_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> of_nodes(cluster_keys().begin(), cluster_keys().end());
    std::erase_if(of_nodes, [](const Key& key) { return key.name == "nodes"; });
    return of_nodes;
  }();
  return keys;
}

constexpr std::array nodes_forms{Form{Map{nodes_keys}}};

constexpr std::array spot_forms{Form{price_of_time}, Form{Map{spot_keys}}};

constexpr std::array catalogue_table{
    schema_key("paceline.catalogue/1"),
    Key{"name", Text{"text"}, required, "what reports call it", "ours"},
    Key{"source", Text{"text"}, required, "where its prices are from", "the invoice of March"},
    Key{"date", date, required, "when they were, by the source's own word", "2026-11-26"},
    Key{"machines", Structure{"a list of maps", rows<machines_forms>}, required,
        "kinds of nodes that can be had",
        "[{name: ours, cluster: {preset: dgx-a100}, price: 20 USD/h}]"},
};

constexpr std::array owned_table{
    Key{"price", Text{.what = "a price", .pattern = price_pattern}, required,
        "of a node, with what it needs of a network", "42000 USD"},
    Key{"lifetime", Time{.above_zero = true, .is_long = true}, required,
        "after which it is worth nothing", "4y"},
    Key{"in_use", Fraction{0.01, 1}, required, "part of its lifetime in which it is used", "80%"},
    Key{"upkeep", Fraction{0, 1}, 0.0, "of its price a year: space, people, repairs"},
    Key{"power", Text{.what = "a power", .pattern = R"(^\s*[0-9.eE+-]+\s*[kM]?W\s*$)"},
        "not counted", "of a node in use, with its cooling", "4.2kW"},
    Key{"electricity",
        Text{.what = "a price of energy", .pattern = price_of_energy_pattern},
        required,
        "what its power costs",
        "0.15 USD/kWh",
        {"power"}},
};

constexpr std::array reserved_table{
    Key{"price", price_of_time, required, "of a node", "14 USD/h"},
    Key{"term", Time{.above_zero = true, .is_long = true}, required,
        "which is paid as a whole, used or not", "1y"},
};

constexpr std::array machine_table{
    Key{"name", Text{"text"}, required,
        "what its seller calls it; with its `region` it stands once in a catalogue",
        "p4d.24xlarge"},
    Key{"cluster", Structure{"a map", rows<nodes_forms>}, required,
        "a scenario's `cluster`, without `nodes`: what the nodes are and what joins them",
        "{preset: aws-p4d-24xlarge}"},
    Key{"device", Text{"a name, or a file", shipped_devices}, "the preset's `gpu`",
        "as a scenario's `workload.device`", "a100-sxm4-40gb"},
    Key{"region", Text{"text"}, "none", "where the price holds, in its seller's words",
        "us-east-1"},
    Key{"area", Text{"text"}, "none", "where that is, in words that sellers share: us, eu", "us"},
    Key{"price", price_of_time, "none", "of a node, on demand", "21.96 USD/h"},
    Key{"spot", Structure{"a price of time, or a map", rows<spot_forms>}, "none",
        "of a node that may be taken away at any time", "6.29 USD/h"},
    Key{"reserved", Map{rows<reserved_table>}, "", "of a node that one commits to for a term"},
    Key{"owned", Map{rows<owned_table>}, "",
        "of a node of one's own, in place of `price`: (price (1 / lifetime + upkeep)) / in_use + "
        "power x electricity"},
    Key{"source", Text{"text"}, "the catalogue's", "where its prices are from, if elsewhere"},
    Key{"date",
        date,
        required,
        "when they were, by that source's own word",
        "2026-11-26",
        {"source"}},
    Key{"vcpus", Count{1, 1'000'000}, "not known", "of a node: threads of its CPUs, two a core",
        "96"},
    Key{"disk", Bandwidth{}, "not counted", "at which a node reads samples", "2GBps"},
    Key{"at_most", Count{1, 1'000'000}, "any number",
        "nodes that can be had of it; one where its `cluster` has no `network.bandwidth`"},
};

constexpr std::array spot_table{
    Key{"price", price_of_time, required, "of a node", "6.29 USD/h"},
    Key{"preemptions",
        Text{.what = "a part a time", .pattern = R"(^(100(\.0*)?|[0-9]{1,2}(\.[0-9]*)?)%/[a-z]+$)"},
        "not known",
        "part of the nodes, 0% to 100%, that is taken away in a time, on average, each of which is "
        "replaced",
        "2%/h"},
};

std::string read_date(const Field& field) {
  std::string text = field.text();
  if (text == "unknown") return text;
  const auto number = [&](std::size_t from, std::size_t length) {
    return number_of<unsigned>(std::string_view(text).substr(from, length)).value_or(0);
  };
  const bool has_form = text.size() == 10 && text[4] == '-' && text[7] == '-';
  const bool is_date =
      has_form &&
      std::chrono::year_month_day(std::chrono::year(static_cast<int>(number(0, 4))),
                                  std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2)))
          .ok();
  if (!is_date) field.fail("is not a date", "write 2026-11-26, or unknown");
  return text;
}

// "2%/h": of a node, per second.
double preemptions_of(const Field& field) {
  const std::string text = field.text();
  constexpr const char* hint = "write 2%/h";
  const auto slash = text.find("%/");
  const auto percent = number_of<double>(std::string_view(text).substr(0, slash));
  if (slash == text.npos || !percent) field.fail("is not a part a time", hint);
  if (!(*percent >= 0 && *percent <= 100)) field.fail("is not from 0% to 100% a time", hint);
  const auto time = parse_seconds("1 " + text.substr(slash + 2));
  if (!std::holds_alternative<Seconds>(time)) field.fail("has no unit of time", hint);
  return *percent / 100 / std::get<Seconds>(time).value();
}

Spot read_spot(Section& machine, const Field& field, Prices& prices) {
  if (!field.node().is_map()) return {prices.of_time(field), std::nullopt};
  Section section(machine.map().map("spot"), spot_table);
  Spot spot{prices.of_time(section.require("price")), std::nullopt};
  if (const auto part = section.field("preemptions"))
    spot.preemptions_per_s = preemptions_of(*part);
  section.finish();
  return spot;
}

// Price (1 / lifetime + upkeep) / in_use + power x electricity; a year has 365.25 days.
MoneyPerSecond read_owned(Section section, Prices& prices) {
  constexpr Seconds year(31557600);
  const Money price = prices.amount(section.require("price"));
  const MoneyPerSecond standing =
      price / section.get<Seconds>("lifetime") + section.get<double>("upkeep") * (price / year);
  MoneyPerSecond in_use = standing / section.get<double>("in_use");
  if (const auto power = section.field("power")) {
    const auto parsed = parse_power(power->text());
    if (const auto* error = std::get_if<UnitError>(&parsed)) power->fail(error->what, error->hint);
    in_use += std::get<Watts>(parsed) * prices.of_energy(section.require("electricity"));
  }
  section.finish();
  return in_use;
}

void read_prices(Section& section, Prices& prices, Machine& machine) {
  const auto price = section.field("price"), spot = section.field("spot"),
             owned = section.field("owned"), reserved = section.field("reserved");
  if (!price && !spot && !owned && !reserved) {
    throw InputError(
        section.location(), fmt::format("machine \"{:.60}\" has no price", machine.name),
        "write price: 21.96 USD/h, spot: 6.29 USD/h or owned: {price: 42000 USD, ...}");
  }
  if (price && owned) price->fail("stands beside owned", "keep one of them");
  if (price) machine.price = prices.of_time(*price);
  if (spot) machine.spot = read_spot(section, *spot, prices);
  if (reserved) {
    Section terms = section.below("reserved");
    machine.reserved = {prices.of_time(terms.require("price")), terms.get<Seconds>("term"),
                        terms.require("term").text()};
    terms.finish();
  }
  if (!owned) return;
  machine.is_owned = true;
  machine.price = read_owned(section.below("owned"), prices);
}

// Loads both, to see that they can be.
void read_nodes(Section& section, Machine& machine) {
  const Field cluster = section.require("cluster");
  Section described(Reader(cluster), cluster_keys());
  if (const auto nodes = described.field("nodes")) {
    nodes->fail("is of a scenario, and a catalogue's machines come in any number",
                "leave it out, or write at_most beside cluster");
  }
  const auto loaded = load_described_cluster(std::move(described)).cluster;
  machine.gpus_per_node = loaded.gpus_per_node;
  if (loaded.network.bandwidth == BytesPerSecond(0)) machine.at_most = 1;
  machine.cluster.emplace(cluster.document(), cluster.node(), "cluster");
  const auto named = section.field("device");
  if (!named && loaded.gpu.empty()) {
    throw InputError(section.location(), "device is missing", "write device: a100-sxm4-40gb");
  }
  const Field device(cluster.document(), named ? named->node() : Node(loaded.gpu),
                     "workload.device");
  (void)load_device(device);
  machine.device = device_named_by(device);
  machine.device_field = device;
}

// `machine` has what is the same for all of a catalogue.
Machine read_machine(const Field& entry, Machine machine, Prices& prices) {
  Section section(Reader(entry.document(), entry.node(), "", no_overrides), machine_table);
  machine.where = entry.location();
  machine.name = section.text("name");
  machine.region = section.text("region");
  machine.area = section.text("area");
  machine.at_most = section.find<std::uint32_t>("at_most");
  if (const auto source = section.field("source")) {
    machine.source = source->text();
    machine.date = read_date(section.require("date"));
  }
  machine.vcpus = section.find<std::uint32_t>("vcpus");
  machine.disk = section.find<BytesPerSecond>("disk");
  read_prices(section, prices, machine);
  read_nodes(section, machine);
  section.finish();
  return machine;
}

using Entries = std::map<std::string, Node>;

Entries entries_but_name(const Node& cluster) {
  Entries entries;
  for (const auto& [key, value] : cluster.entries()) {
    if (key.scalar() != "name") entries.emplace(key.scalar(), value);
  }
  return entries;
}

// A list of words that machines are chosen by.
struct Choice {
  const char* key;
  bool (*is_of)(const Machine& machine, const Field& word);
  std::vector<std::string> (*words_of)(const Machine& machine);  // that messages suggest
};

bool is_anywhere(const Machine& machine) { return machine.region.empty() && machine.area.empty(); }

bool is_in(const Machine& machine, const Field& word) {
  const std::string region = word.text();
  return machine.region.starts_with(region) || machine.area == region;
}

bool has_device(const Machine& machine, const Field& word) {
  return machine.device == device_named_by(word);
}

bool is_named(const Machine& machine, const Field& word) {
  const std::string name = word.text();
  return machine.name == name || machine.full_name() == name;
}

constexpr Choice regions{"regions", is_in, [](const Machine& machine) {
                           return std::vector{machine.area, machine.region};
                         }};
constexpr Choice devices{"devices", has_device,
                         [](const Machine& machine) { return std::vector{machine.device}; }};
constexpr Choice names{"machines", is_named,
                       [](const Machine& machine) { return std::vector{machine.name}; }};

[[noreturn]] void fail_unknown(const Field& word, const Choice& choice,
                               const std::vector<Machine>& machines) {
  std::set<std::string> known;
  for (const Machine& machine : machines) {
    for (std::string& one : choice.words_of(machine)) known.insert(std::move(one));
  }
  known.erase("");
  const std::vector<std::string> all(known.begin(), known.end());
  word.fail("matches no machine of the catalogues",
            all.empty() ? "known: none" : known_ones(word.text(), all));
}

// The words of the list, each of a machine or more; empty: there is no list.
std::vector<Field> words_of(Section& limits, const Choice& choice,
                            const std::vector<Machine>& machines) {
  const auto list = limits.field(choice.key);
  if (!list) return {};
  std::vector<Field> words = list->list();
  for (const Field& word : words) {
    if (word.text().empty()) word.fail("is empty", "");
    const bool is_known = std::ranges::any_of(
        machines, [&](const Machine& machine) { return choice.is_of(machine, word); });
    if (!is_known) fail_unknown(word, choice, machines);
  }
  return words;
}

bool is_chosen(const Machine& machine, const std::vector<Field>& words, const Choice& choice) {
  return words.empty() ||
         std::ranges::any_of(words, [&](const Field& word) { return choice.is_of(machine, word); });
}

}  // namespace

std::span<const Key> catalogue_keys() { return catalogue_table; }
std::span<const Key> machine_keys() { return machine_table; }
std::span<const Key> spot_keys() { return spot_table; }

Catalogue load_catalogue(const Field& name, Prices& prices) {
  return read_catalogue(named_document(name, shipped_catalogues(), catalogue_table), prices);
}

Catalogue read_catalogue(const DocumentPtr& document, Prices& prices) {
  Section file(Reader(document), catalogue_table);
  (void)file.require("schema");  // named_document has looked at it
  Machine any;
  any.catalogue = file.text("name");
  any.source = file.text("source");
  any.date = read_date(file.require("date"));
  Catalogue catalogue{any.catalogue, {}};
  std::set<std::pair<std::string, std::string>> known;  // names and regions
  for (const Field& entry : file.require("machines").list()) {
    catalogue.machines.push_back(read_machine(entry, any, prices));
    const Machine& machine = catalogue.machines.back();
    if (known.emplace(machine.name, machine.region).second) continue;
    throw InputError(
        entry.location(),
        fmt::format(
            "machine \"{:.60}\" is twice in the catalogue{}", machine.name,
            machine.region.empty() ? "" : fmt::format(", in region \"{:.60}\"", machine.region)),
        "leave one of them out, or give each its region");
  }
  file.finish();
  return catalogue;
}

std::string device_named_by(const Field& field) {
  const std::string text = field.text();
  return names_a_file(text) ? std::filesystem::path(field.file_path()).lexically_normal().string()
                            : text;
}

bool has_same_hardware(const Machine& one, const Machine& other) {
  // Their files' paths start there.
  const bool is_of_same_folder =
      one.cluster->document()->folder == other.cluster->document()->folder;
  return is_of_same_folder && one.device == other.device &&
         entries_but_name(one.cluster->node()) == entries_but_name(other.cluster->node());
}

WithinLimits within_limits(std::vector<Machine> machines, Section& limits) {
  const auto in = words_of(limits, regions, machines), with = words_of(limits, devices, machines),
             called = words_of(limits, names, machines);
  WithinLimits within;
  const std::size_t count = machines.size();
  for (Machine& machine : machines) {
    if (!is_anywhere(machine) && !is_chosen(machine, in, regions)) {
      ++within.elsewhere;
    } else if (is_chosen(machine, with, devices) && is_chosen(machine, called, names)) {
      within.machines.push_back(std::move(machine));
    }
  }
  if (within.machines.empty()) {
    throw InputError(limits.location(),
                     fmt::format("limits exclude all {} machines of the catalogues", count),
                     "allow more regions, devices or machines");
  }
  return within;
}

}  // namespace paceline::loader
