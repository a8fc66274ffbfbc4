#include "traces/pytorch/nccl_names.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace paceline::traces::pytorch {
namespace {

using collectives::Collective;

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

// A kernel's name in parts, without its arguments and template.
std::vector<std::string_view> parts_of(std::string_view name) {
  name = name.substr(0, name.find_first_of("(<"));
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = name.find('_');
    parts.push_back(name.substr(0, end));
    if (end == std::string_view::npos) return parts;
    name.remove_prefix(end + 1);
  }
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::optional<Collective> collective_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, Collective>, 7> beginnings{
      {{"allreduce", Collective::all_reduce},
       {"reducescatter", Collective::reduce_scatter},
       {"allgather", Collective::all_gather},
       {"broadcast", Collective::broadcast},
       {"alltoall", Collective::all_to_all},
       {"scatter", Collective::scatter},
       {"gather", Collective::gather}}};
  const std::string name = folded(kind.substr(0, 64));
  for (const auto& [beginning, collective] : beginnings) {
    if (name.starts_with(beginning)) return collective;
  }
  if (name == "reduce" || name == "reduceoop") return Collective::reduce;
  return std::nullopt;
}

bool takes_parts(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::gather ||
         collective == Collective::scatter;
}

std::string_view kernel_kind(std::string_view name) {
  const auto parts = parts_of(name);
  if (parts.size() < 2 || !parts[0].ends_with("Kernel") || parts[1] == "Generic") return {};
  return parts[1];
}

std::string algorithm_of(std::string_view name) {
  constexpr std::array<std::string_view, 5> algorithms{"RING", "TREE", "COLLNET", "NVLS", "PAT"};
  constexpr std::array<std::string_view, 6> others{"DIRECT", "CHAIN", "TREE",
                                                   "LL",     "LL128", "SIMPLE"};
  const auto parts = parts_of(name);
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](std::string_view one) { return is_one_of(one, algorithms); });
  if (part == parts.end()) return {};
  std::string found(*part);
  for (++part; part != parts.end() && is_one_of(*part, others); ++part) {
    found.append("_").append(*part);
  }
  return found;
}

std::string kernel_class(std::string_view kernel) {
  return kernel == "Send" || kernel == "Recv" ? "sendrecv" : folded(kernel);
}

std::string kernel_class(const TracedCollective& call) {
  const bool by_messages = call.collective == Collective::all_to_all ||
                           call.collective == Collective::scatter ||
                           call.collective == Collective::gather;
  if (by_messages) return "sendrecv";
  if (call.collective) return folded(collectives::to_text(*call.collective));
  const std::string name = folded(std::string_view(call.kind).substr(0, 64));
  return name.starts_with("send") || name.starts_with("recv") ? "sendrecv" : "";
}

bool may_run(const TracedCollective& call, std::string_view kernel) {
  const std::string wanted = kernel_class(call), is = kernel_class(kernel);
  if (wanted.empty() || is.empty() || wanted == is) return true;
  // PyTorch makes those of uneven sizes of these.
  return (wanted == "allgather" && is == "broadcast") ||
         (wanted == "reducescatter" && is == "reduce");
}

void complete(TracedCollective& call, TracedCollective other) {
  // A barrier of NCCL is an all-reduce of one element, which is recorded inside it.
  const bool better = other.collective && !call.collective;
  if (call.kind.empty() || better) {
    call.kind = std::move(other.kind);
    call.collective = other.collective;
    if (other.count) call.count = other.count;
    if (other.element_size) call.element_size = other.element_size;
  }
  if (!call.count) call.count = other.count;
  if (!call.element_size) call.element_size = other.element_size;
  if (call.group_size == 0) call.group_size = other.group_size;
  if (call.group.empty()) call.group = std::move(other.group);
  if (call.ranks.empty()) call.ranks = std::move(other.ranks);
  if (!call.sequence) call.sequence = other.sequence;
}

}  // namespace paceline::traces::pytorch
