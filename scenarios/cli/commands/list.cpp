#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "models/collectives/registry.h"
#include "models/shipped_file.h"
#include "models/training/strategy.h"
#include "scenarios/cli/command.h"
#include "scenarios/doctor/doctor.h"
#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline::cli {
namespace list_command {

struct Entry {
  std::string name, summary;
};

// The first sentence of a shipped file's comment.
std::string first_sentence(std::string_view text) {
  std::string comment;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    comment += text.substr(1, end - 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::size_t end = std::min(comment.find(". "), comment.find_last_not_of(" .") + 1);
  return comment.substr(std::min<std::size_t>(1, comment.size()), end - 1);
}

template <class Rows, class ToEntry>
std::vector<Entry> entries_of(const Rows& rows, const ToEntry& to_entry) {
  std::vector<Entry> entries;
  for (const auto& row : rows) entries.push_back(to_entry(row));
  return entries;
}

template <std::span<const ShippedFile> (*files)()>
std::vector<Entry> shipped() {
  return entries_of(files(), [](const ShippedFile& file) {
    return Entry{std::string(file.name), first_sentence(file.text)};
  });
}

std::vector<Entry> strategies() {
  return entries_of(training::strategies(), [](const training::Strategy* one) {
    return Entry{std::string(one->name), std::string(one->summary)};
  });
}

std::vector<Entry> algorithms() {
  return entries_of(collectives::algorithms(), [](const collectives::Algorithm& row) {
    return Entry{fmt::format("{} {}", to_text(row.collective), row.name), std::string(row.summary)};
  });
}

std::string title_of(std::string_view text) {
  constexpr std::string_view key = "\nname: ";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + key.size());
  return std::string(text.substr(0, text.find('\n')));
}

std::vector<Entry> scenarios() {
  return entries_of(shipped_scenarios(), [](const ShippedFile& file) {
    return Entry{std::string(file.name), title_of(file.text)};
  });
}

std::vector<Entry> backends() {
  return entries_of(doctor::examine().backends, [](const doctor::BackendState& one) {
    return Entry{one.name, one.can_be_used()
                               ? one.summary
                               : fmt::format("{}; not here: {}", one.summary, one.missing)};
  });
}

struct Kind {
  std::string_view name, summary;
  std::vector<Entry> (*entries)();
};

constexpr std::array kinds{
    Kind{"models", "networks, for workload.model", shipped<shipped_networks>},
    Kind{"devices", "GPUs, for workload.device", shipped<shipped_devices>},
    Kind{"presets", "clusters, for cluster.preset and paceline collective",
         shipped<shipped_clusters>},
    Kind{"catalogues", "machines and their prices, for the catalogue of paceline capacity",
         shipped<shipped_catalogues>},
    Kind{"strategies", "how gradients are reduced, for training.strategy", strategies},
    Kind{"algorithms", "of collectives, for collective.algorithm", algorithms},
    Kind{"backends", "what runs on hardware, for real.backend; paceline doctor says more",
         backends},
    Kind{"scenarios", "in scenarios/library, for paceline run", scenarios},
};

void write(std::ostream& out, const Kind& kind) {
  const std::vector<Entry> entries = kind.entries();
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  fmt::print(out, "{}: {}\n", kind.name, kind.summary);
  for (const Entry& entry : entries) {
    fmt::print(out, "  {:<{}}  {}\n", entry.name, width, entry.summary);
  }
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

int run(const std::string& wanted) {
  const auto found = std::ranges::find(kinds, wanted, &Kind::name);
  if (!wanted.empty() && found == kinds.end()) {
    throw InputError({"list"}, fmt::format("has no {}", wanted),
                     fmt::format("it has {}", fmt::join(names_of_kinds(), ", ")));
  }
  for (const Kind& kind : kinds) {
    if (!wanted.empty() && kind.name != wanted) continue;
    if (wanted.empty() && &kind != kinds.data()) fmt::print(std::cout, "\n");
    write(std::cout, kind);
  }
  return exit_done;
}

}  // namespace list_command

Action attach_list(CommandOptions& app) {
  auto wanted = std::make_shared<std::string>();
  app.add_option("kind", *wanted,
                 "What to list: models, devices, presets, catalogues, strategies, algorithms, "
                 "backends or scenarios (default: everything).")
      .suggests(list_command::names_of_kinds);
  return [wanted] { return list_command::run(*wanted); };
}

}  // namespace paceline::cli
