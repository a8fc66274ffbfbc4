#include "scenarios/report/nccl_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using collectives::Collective;
using cost::nccl::Algorithm, cost::nccl::algorithms_all;
using cost::nccl::Protocol, cost::nccl::protocols_all;
using cost::nccl::Tuning;

constexpr std::string_view none = "-";

// Of latency, in us, and bandwidth, in GB/s, as NCCL's table has them.
std::string cell(const Tuning& tuning, Collective collective, Algorithm algorithm,
                 Protocol protocol) {
  const auto cost = tuning.cost(collective, algorithm, protocol);
  if (cost.bandwidth <= BytesPerSecond(0)) return std::string(none);
  return fmt::format("{:.1f}/{:.1f}", cost.latency.value() * 1e6, cost.bandwidth.value() * 1e-9);
}

void write_costs(std::ostream& out, const Tuning& tuning) {
  std::vector<std::pair<Algorithm, Protocol>> columns;
  for (const Algorithm algorithm : algorithms_all) {
    for (const Protocol protocol : protocols_all) {
      const bool is_any = std::ranges::any_of(nccl_collectives, [&](Collective one) {
        return cell(tuning, one, algorithm, protocol) != none;
      });
      if (is_any) columns.emplace_back(algorithm, protocol);
    }
  }
  std::vector<std::string> header{"us / GB/s"};
  for (const auto& [algorithm, protocol] : columns) {
    header.push_back(fmt::format("{} {}", to_text(algorithm), to_text(protocol)));
  }
  TextTable table(header, 1);
  for (const Collective collective : nccl_collectives) {
    std::vector<std::string> row{std::string(to_text(collective))};
    for (const auto& [algorithm, protocol] : columns) {
      row.push_back(cell(tuning, collective, algorithm, protocol));
    }
    table.add(std::move(row));
  }
  table.write(out);
}

std::string in_lower_case(std::string_view text, std::string_view without) {
  std::string lower;
  for (const char letter : text) {
    if (without.find(letter) != without.npos) continue;
    lower += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return lower;
}

}  // namespace

void write_text(std::ostream& out, const NcclChoices& choices) {
  const auto& group = choices.tuning.group();
  fmt::print(out, "NCCL 2.{}, {} ranks on {}, {} channels\n\n", group.release.minor,
             group.ranks.value(), counted(group.nodes, "node"), group.ring.channels);
  write_costs(out, choices.tuning);
  fmt::print(out, "\n{}\n", to_text(choices.collective));
  TextTable table({"size (B)", "algorithm", "protocol", "channels", "threads", "time (us)"}, 0);
  for (const auto& [size, choice] : choices.rows) {
    table.add({std::to_string(size.value()), std::string(to_text(choice.algorithm)),
               std::string(to_text(choice.protocol)), std::to_string(choice.channels),
               std::to_string(choice.threads), fmt::format("{:.3f}", choice.time.value() * 1e6)});
  }
  table.write(out);
}

constexpr auto fields_of(const NcclChoices::Row*) {
  using Row = NcclChoices::Row;
  using cost::nccl::Choice;
  return Fields(field("size_bytes", &Row::size),
                field("algorithm", at<&Row::choice, &Choice::algorithm>),
                field("protocol", at<&Row::choice, &Choice::protocol>),
                field("channels", at<&Row::choice, &Choice::channels>),
                field("threads", at<&Row::choice, &Choice::threads>),
                field("time_s", at<&Row::choice, &Choice::time>));
}

void write_json(std::ostream& out, const NcclChoices& choices) {
  const auto& group = choices.tuning.group();
  JsonWriter json(out);
  const auto write_costs = [&] {
    for (const Collective collective : nccl_collectives) {
      for (const Algorithm algorithm : algorithms_all) {
        for (const Protocol protocol : protocols_all) {
          const auto cost = choices.tuning.cost(collective, algorithm, protocol);
          if (cost.bandwidth <= BytesPerSecond(0)) continue;
          json.object([&] {
            json.put("collective", collective);
            json.put("algorithm", algorithm);
            json.put("protocol", protocol);
            json.put("latency_s", cost.latency);
            json.put("bandwidth_bytes_per_s", cost.bandwidth);
          });
        }
      }
    }
  };
  json.object([&] {
    json.put("schema", "paceline.nccl/1");
    json.put("release", "2." + std::to_string(group.release.minor));
    json.put("ranks", group.ranks);
    json.put("nodes", group.nodes);
    json.put_list("costs", write_costs);
    json.put("collective", choices.collective);
    json.put("choices", choices.rows);
  });
}

// The plugin takes the first line that fits. A size stands for all up to the next one; -1: whatever
// it is, or what NCCL does.
void write_tuner(std::ostream& out, const NcclChoices& choices) {
  const auto& [tuning, collective, rows] = choices;
  const auto same = [](const NcclChoices::Row& a, const NcclChoices::Row& b) {
    return a.choice.algorithm == b.choice.algorithm && a.choice.protocol == b.choice.protocol;
  };
  fmt::print(out,
             "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n");
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t next = first + 1;
    while (next < rows.size() && same(rows[first], rows[next])) ++next;
    const std::uint64_t last =
        next < rows.size() ? rows[next].size.value() - 1 : rows.back().size.value();
    fmt::print(out, "{},{},{},{},{},-1,{},{}\n", in_lower_case(to_text(collective), "_"),
               first == 0 ? 0 : rows[first].size.value(), last,
               in_lower_case(to_text(rows[first].choice.algorithm), ""),
               in_lower_case(to_text(rows[first].choice.protocol), ""), tuning.group().nodes,
               tuning.group().ranks.value());
    first = next;
  }
}

}  // namespace paceline
