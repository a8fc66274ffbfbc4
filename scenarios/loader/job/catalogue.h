#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/shipped_file.h"
#include "models/units/units.h"
#include "scenarios/document/reader.h"
#include "scenarios/document/section.h"

namespace paceline {

// In one currency, that of the job (PlannedJob::currency); never below 0.
using Money = Quantity<struct MoneyTag, double>;
using MoneyPerSecond = Quantity<struct MoneyPerSecondTag, double>;
using MoneyPerJoule = Quantity<struct MoneyPerJouleTag, double>;

constexpr Money operator*(MoneyPerSecond rate, Seconds time) {
  return Money(rate.value() * time.value());
}
constexpr MoneyPerSecond operator*(Watts power, MoneyPerJoule price) {
  return MoneyPerSecond(power.value() * price.value());
}
constexpr MoneyPerSecond operator/(Money money, Seconds time) {
  return MoneyPerSecond(money.value() / time.value());
}
constexpr Seconds operator/(Money money, MoneyPerSecond rate) {
  return Seconds(money.value() / rate.value());
}

// "1,234 USD" from 100 on, "12.30 USD" below. Rates: "21.96 USD/h".
[[nodiscard]] std::string to_text(Money amount, std::string_view currency);
[[nodiscard]] std::string to_text(MoneyPerSecond rate, std::string_view currency);

namespace loader {

// Patterns of prices (ECMA-262) for tables of keys: an amount, and one for a time or for energy.
inline constexpr std::string_view price_pattern = R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}[ \t]*$)",
                                  price_of_time_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/[a-z]+[ \t]*$)",
                                  price_of_energy_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/kWh[ \t]*$)";

// Reads the prices of a job and its catalogues: amounts with a currency of three capital letters,
// as ISO 4217 has them, that of the first one. Throws InputError for another one, for a bare number
// and for amounts below 0.
class Prices {
 public:
  [[nodiscard]] Money amount(const Field& field);             // "500 USD"
  [[nodiscard]] MoneyPerSecond of_time(const Field& field);   // "21.96 USD/h"
  [[nodiscard]] MoneyPerJoule of_energy(const Field& field);  // "0.15 USD/kWh"

  [[nodiscard]] const std::string& currency() const { return currency_; }  // empty: of no price yet

 private:
  struct Said {
    Money amount;
    std::string per, hint;
  };
  // `per` is what hints say that it is for, with its slash: "/h"; empty: it is an amount alone.
  [[nodiscard]] Said read(const Field& field, std::string_view kind, std::string_view per);

  std::string currency_;
  Location first_;
};

}  // namespace loader

// Nodes that can be taken away at any time.
struct Spot {
  MoneyPerSecond price;                     // of a node
  std::optional<double> preemptions_per_s;  // of a node; nullopt: nobody says
};

enum class Pricing { on_demand, spot, reserved };
constexpr auto words_of(Pricing) {
  return words_up_to<Pricing::reserved>("on demand", "spot", "reserved");
}

// Nodes that are paid for a whole term, used or not.
struct Reserved {
  MoneyPerSecond price;  // of a node
  Seconds term;
  std::string words;  // of the term, as the file spells it: "1y"
};

// A kind of node, rented or owned, which its catalogue describes as a scenario's `cluster` does.
struct Machine {
  std::string catalogue, name;
  std::string device;        // a shipped one, or a file's path from the working directory
  std::string region, area;  // "us-east-1" and "us"; either may be empty
  bool is_owned = false;     // its price is of depreciation, upkeep and power
  std::optional<MoneyPerSecond> price;  // of a node, on demand, or owned
  std::optional<Spot> spot;
  std::optional<Reserved> reserved;
  std::optional<std::uint32_t> at_most;  // nodes
  std::optional<std::uint32_t> vcpus;    // of a node; nullopt: nobody tells
  std::optional<BytesPerSecond> disk;    // that a node reads samples with
  std::string source, date;              // of its prices; as 2026-11-26, or unknown
  std::uint32_t gpus_per_node = 1;
  std::size_t hardware = 0;  // the first of the job's machines that is the same but for its price
  Location where;
  std::optional<loader::Field> cluster;       // of one that was read
  std::optional<loader::Field> device_field;  // likewise; messages about it point there

  // Of a node; nullopt: it cannot be had so.
  [[nodiscard]] std::optional<MoneyPerSecond> price_of(Pricing pricing) const {
    if (pricing == Pricing::spot) return spot ? std::optional(spot->price) : std::nullopt;
    if (pricing == Pricing::on_demand) return price;
    return reserved ? std::optional(reserved->price) : std::nullopt;
  }

  // "aws p4d.24xlarge".
  [[nodiscard]] std::string full_name() const { return catalogue + " " + name; }
};

[[nodiscard]] std::span<const ShippedFile> shipped_catalogues();

namespace loader {

[[nodiscard]] std::span<const Key> catalogue_keys();
[[nodiscard]] std::span<const Key> machine_keys();  // of an entry of its `machines`
[[nodiscard]] std::span<const Key> spot_keys();     // of a machine, where it is a map

struct Catalogue {
  std::string name;
  std::vector<Machine> machines;  // in file order, one or more
};

// Loads a shipped catalogue by its name, or a file beside the document of the field (schema
// paceline.catalogue/1). Also loads each machine's cluster and device, so that errors in them are
// found with their place. Throws InputError.
[[nodiscard]] Catalogue load_catalogue(const Field& name, Prices& prices);

// The same of a document. Precondition: it is a map.
[[nodiscard]] Catalogue read_catalogue(const DocumentPtr& document, Prices& prices);

// The name of a shipped device, or the path of a file from the working directory.
[[nodiscard]] std::string device_named_by(const Field& field);

// Says whether predictions of both are the same.
[[nodiscard]] bool has_same_hardware(const Machine& one, const Machine& other);

struct WithinLimits {
  std::vector<Machine> machines;  // in their order, one or more
  std::size_t elsewhere = 0;      // left out, as they are in no allowed region
};

// The machines that `limits.regions`, `.devices` and `.machines` leave. Throws InputError where one
// of their entries is of no machine at all, and where they leave none.
[[nodiscard]] WithinLimits within_limits(std::vector<Machine> machines, Section& limits);

}  // namespace loader
}  // namespace paceline
