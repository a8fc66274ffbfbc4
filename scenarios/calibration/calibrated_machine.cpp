#include "scenarios/calibration/calibrated_machine.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <utility>
#include <vector>

#include "scenarios/calibration/yaml_text.h"

namespace paceline {

using loader::Field;
using loader::Overrides;
using loader::Reader;

namespace {

// `ranks`: that the entry has to be of.
cost::RingPart read_part(const Field& entry, std::uint64_t ranks) {
  constexpr double least = 1e-6, most = 1e6;
  Reader reader(entry);
  const Field name = reader.require("ranks_per_node", "2");
  if (name.count(1, 1'000'000) != ranks) {
    name.fail(fmt::format("is where {} belongs", ranks),
              "list 1, 2, 3, ... ranks a node, in this order");
  }
  cost::RingPart part{reader.require("local", "0.5").number(least, most),
                      reader.require("remote", "0.25").number(least, most)};
  if (const auto way = reader.find("over")) {
    const auto known = from_text<topology::RingWay>(way->text());
    if (!known) way->fail("is no way of rings", "write nvlink, neighbours or hosts");
    part.way = *known;
  }
  reader.finish();
  return part;
}

}  // namespace

std::optional<std::string> fault_of(const std::optional<CalibratedMachine>& machine,
                                    std::uint32_t ranks_per_node) {
  if (!machine || machine->rings.reach(ranks_per_node)) return std::nullopt;
  return fmt::format("has {} ranks a node, and {} {}", ranks_per_node, machine->cluster,
                     machine->rings.by_ranks().size());
}

void write_machine(std::ostream& out, const std::optional<CalibratedMachine>& machine) {
  if (!machine) return;
  fmt::print(out, "machine:\n  cluster: {}\n", quoted(machine->cluster));
  fmt::print(out,
             "  # what rings of so many ranks carry in a node and between nodes, over what those "
             "of all its GPUs do;\n  # and what they cross in a node where it is not NVLink of "
             "the two\n  rings:\n");
  const auto between_nodes = machine->rings.between_nodes();
  std::size_t ranks = 0;
  for (const cost::RingPart& part : machine->rings.by_ranks()) {
    fmt::print(
        out, "    - {{ranks_per_node: {}, local: {}, remote: {}{}}}\n", ++ranks, exact(part.local),
        exact(part.remote),
        part.way == topology::RingWay::nvlink ? "" : fmt::format(", over: {}", to_text(part.way)));
  }
  if (!between_nodes) return;
  fmt::print(out,
             "  # what rings of all GPUs carry between two nodes, as described: for collectives "
             "without a log of several\n  between_nodes: {}Bps\n",
             exact(between_nodes->value()));
}

std::optional<CalibratedMachine> read_machine(Reader& calibration) {
  if (!calibration.has("machine")) return std::nullopt;
  Reader reader = calibration.map("machine");
  CalibratedMachine machine;
  machine.cluster = reader.require("cluster", "dgx1-v100").text();
  std::vector<cost::RingPart> parts;
  for (const Field& entry : reader.require("rings", "").list()) {
    parts.push_back(read_part(entry, parts.size() + 1));
  }
  std::optional<BytesPerSecond> between_nodes;
  if (reader.has("between_nodes")) {
    between_nodes = reader.require("between_nodes", "92GBps").bandwidth();
  }
  reader.finish();
  machine.rings = cost::RingParts(std::move(parts), between_nodes);
  return machine;
}

}  // namespace paceline
