#include "traces/kineto/call_arguments.h"

#include <algorithm>
#include <cstdint>

#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces::kineto {

using pytorch::collective_of;
using pytorch::element_size_of;

TracedCollective described(const Arguments& arguments) {
  TracedCollective call;
  call.kind = arguments.collective.substr(0, 64);
  call.collective = collective_of(call.kind);
  if (!call.kind.empty()) {
    call.count = pytorch::larger_count(arguments.in_count, arguments.out_count);
    call.element_size = element_size_of(arguments.dtype);
  }
  call.group_size = number_of<std::uint32_t>(arguments.group_size).value_or(0);
  call.group = arguments.group.empty() ? arguments.group_number : arguments.group;
  call.ranks = pytorch::ranks_of(arguments.ranks);
  call.sequence = number_of<std::uint64_t>(arguments.sequence);
  return call;
}

TracedCollective annotated(std::string_view name, const Arguments& arguments) {
  TracedCollective call;
  call.kind = name.substr(pytorch::annotated_call.size(), 64);
  call.collective = collective_of(call.kind);
  const auto inputs = pytorch::tensors_of(arguments.input_dims, arguments.input_types);
  if (!inputs) return call;
  call.element_size = inputs->element_size;
  if (!call.collective || !pytorch::takes_parts(*call.collective)) {
    call.count = ElementCount(inputs->elements);
  }
  return call;
}

TracedCollective on_symmetric_memory(std::string_view name, const Arguments& arguments) {
  TracedCollective call;
  call.kind = name.substr(pytorch::symmetric_call.size(), 64);
  call.collective = collective_of(call.kind);
  const auto tensors = pytorch::each_tensor_of(arguments.input_dims, arguments.input_types);
  if (tensors.empty()) return call;
  call.element_size = tensors.front().element_size;
  // Inputs and outputs stand side by side; what is copied into a buffer may be less than that has.
  const bool is_copy = call.kind.find("_copy") != std::string::npos;
  std::uint64_t count = tensors.front().elements;
  for (const pytorch::Tensors& one : tensors) {
    if (one.element_size != *call.element_size) continue;
    count = is_copy ? std::min(count, one.elements) : std::max(count, one.elements);
  }
  const bool is_of_one =
      call.collective && pytorch::takes_parts(*call.collective) && tensors.size() < 2;
  if (!is_of_one) call.count = ElementCount(count);
  return call;
}

}  // namespace paceline::traces::kineto
