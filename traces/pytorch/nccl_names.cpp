#include "traces/pytorch/nccl_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "traces/text/lines.h"

namespace paceline::traces::pytorch {
namespace {

using collectives::Collective;

std::string folded(std::string_view name) {
  std::string out = in_lower(name);
  std::erase(out, '_');
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

// allReduceKernel of void ns::(anonymous namespace)::allReduceKernel<float, 2>(float*).
std::string_view own_name(std::string_view name) {
  constexpr std::string_view unnamed = "(anonymous namespace)::", other_unnamed = "<unnamed>::";
  for (const std::string_view scope : {unnamed, other_unnamed}) {
    const std::size_t at = name.find(scope);
    const bool is_of_template = at > name.find('<');  // and so of an argument
    if (at != std::string_view::npos && !is_of_template) name.remove_prefix(at + scope.size());
  }
  name = name.substr(0, name.find_first_of("(<"));
  if (const std::size_t at = name.find_last_of(" :"); at != std::string_view::npos) {
    name.remove_prefix(at + 1);
  }
  return name;
}

bool is_of_nccl(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("rccl");
}

// Of kernels that are not NCCL's: part of the folded name, and what NCCL calls that; empty: a
// collective of another kind. NVSHMEM's fcollect is an all-gather, its rdxn an all-reduce
// (OpenSHMEM 1.5, 9.9).
using OtherKernel = std::pair<std::string_view, std::string_view>;
constexpr OtherKernel other_kernels[] = {{"allreduce", "AllReduce"},
                                         {"oneshotreduce", "Reduce"},
                                         {"crossdevicereduce", "AllReduce"},
                                         {"reducescatter", "ReduceScatter"},
                                         {"allgather", "AllGather"},
                                         {"alltoall", "AllToAll"},
                                         {"exchangesplitandoffset", "AllToAll"},
                                         {"fcollectonstream", "AllGather"},
                                         {"rdxnonstream", "AllReduce"},
                                         {"broadcastonstream", "Broadcast"},
                                         {"barrieronstream", ""},
                                         {"syncallonstream", ""},
                                         {"barrierallonstream", ""},
                                         {"nvshmem", ""}};

const OtherKernel* other_kernel(std::string_view name) {
  const std::string_view own = own_name(name);
  if (own.starts_with("triton_")) return nullptr;
  const std::string what = folded(own);
  const auto found = std::ranges::find_if(
      other_kernels, [&](const OtherKernel& one) { return contains(what, one.first); });
  return found == std::end(other_kernels) ? nullptr : &*found;
}

// What stands before a collective's name where it is not of a process group.
std::string_view without_manner(std::string_view name) {
  for (const std::string_view manner : {"nvshmem", "nccl", "multimem", "oneshot", "twoshot"}) {
    if (name.starts_with(manner)) name.remove_prefix(manner.size());
  }
  return name;
}

}  // namespace

std::optional<Collective> collective_of(std::string_view kind) {
  constexpr std::pair<std::string_view, Collective> beginnings[] = {
      {"allreduce", Collective::all_reduce}, {"reducescatter", Collective::reduce_scatter},
      {"allgather", Collective::all_gather}, {"broadcast", Collective::broadcast},
      {"alltoall", Collective::all_to_all},  {"scatter", Collective::scatter},
      {"gather", Collective::gather}};
  const std::string all = folded(kind.substr(0, 64));
  const std::string_view name = without_manner(all);
  for (const auto& [beginning, collective] : beginnings) {
    if (name.starts_with(beginning)) return collective;
  }
  if (name == "reduce" || name == "reduceoop" || name == "reduceout") return Collective::reduce;
  return std::nullopt;
}

bool takes_parts(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::gather ||
         collective == Collective::scatter;
}

bool is_collective_kernel(std::string_view name) {
  return is_of_nccl(name) || other_kernel(name) != nullptr;
}

bool is_symmetric_collective(std::string_view name) {
  if (!name.starts_with(symmetric_call)) return false;
  name.remove_prefix(symmetric_call.size());
  return !name.starts_with('_') && !name.starts_with("fused") && collective_of(name).has_value();
}

std::string_view kernel_kind(std::string_view name) {
  if (!is_of_nccl(name)) {
    const OtherKernel* other = other_kernel(name);
    if (other != nullptr) return other->second;
  }
  const auto parts = parts_of(name);
  if (parts.size() < 2 || !parts[0].ends_with("Kernel") || parts[1] == "Generic") return {};
  return parts[1];
}

std::string algorithm_of(std::string_view name) {
  constexpr std::string_view algorithms[] = {"RING", "TREE", "COLLNET", "NVLS", "PAT"};
  constexpr std::string_view others[] = {"DIRECT", "CHAIN", "TREE", "LL", "LL128", "SIMPLE"};
  constexpr std::string_view reductions[] = {"sum", "avg", "profile"};
  if (!is_of_nccl(name)) {
    const std::string what = folded(own_name(name));
    std::string manner;
    for (const auto& [part, words] :
         {std::pair{"multimem", "multimem"}, {"oneshot", "one_shot"}, {"twoshot", "two_shot"}}) {
      if (contains(what, part)) manner += (manner.empty() ? "" : "_") + std::string(words);
    }
    if (!manner.empty()) return manner;
  }
  const auto parts = parts_of(name);
  if (parts[0].starts_with("ncclSym") && parts.size() > 2) {
    std::string found;  // up to the reduction
    for (std::size_t i = 2; i < parts.size() && !is_one_of(parts[i], reductions); ++i) {
      found.append(found.empty() ? "" : "_").append(parts[i]);
    }
    return found;
  }
  auto part = std::ranges::find_if(parts, [&](auto one) { return is_one_of(one, algorithms); });
  if (part == parts.end()) return {};
  std::string found(*part);
  for (++part; part != parts.end() && is_one_of(*part, others); ++part) {
    found.append("_").append(*part);
  }
  return found;
}

std::string kernel_class(std::string_view kernel) {
  const bool by_messages = kernel == "Send" || kernel == "Recv" || kernel == "AllToAll";
  return by_messages ? "sendrecv" : folded(kernel);
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
  // PyTorch makes uneven ones of these, and a reduce-scatter on symmetric memory of the first half
  // of its all-reduce of two shots.
  return (wanted == "allgather" && is == "broadcast") ||
         (wanted == "reducescatter" && (is == "reduce" || is == "allreduce"));
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
