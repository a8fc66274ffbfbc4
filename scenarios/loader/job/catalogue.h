#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/errors.h"
#include "scenarios/loader/job/money.h"

namespace paceline {

namespace loader {
class Field;
}

// Nodes that can be taken away at any time.
struct Spot {
  MoneyPerSecond price;                     // of a node
  std::optional<double> preemptions_per_s;  // of a node; nullopt: nobody says
};

// A kind of node that can be had. What it is made of stands in its catalogue as a scenario's
// `cluster` section.
struct Machine {
  std::string catalogue, name;
  std::string device;        // a shipped one, or a file's path from the working directory
  std::string region, area;  // "us-east-1" and "us"; either may be empty
  bool is_owned = false;     // its price is of depreciation, upkeep and power
  std::optional<MoneyPerSecond> price;  // of a node, on demand, or owned
  std::optional<Spot> spot;
  std::optional<std::uint32_t> at_most;  // nodes
  std::string source, date;              // of its prices; the date as 2026-11-26
  std::uint32_t gpus_per_node = 1;
  Location where;
  std::shared_ptr<const loader::Field> cluster;       // never null
  std::shared_ptr<const loader::Field> device_field;  // likewise; messages about it point there

  // "aws p4d.24xlarge".
  [[nodiscard]] std::string full_name() const { return catalogue + " " + name; }
};

// scenarios/library/catalogues
[[nodiscard]] std::span<const ShippedFile> shipped_catalogues();

}  // namespace paceline
