#include "traces/topology/foreign_topology.h"

#include <array>

namespace paceline::traces {
namespace {

// Words that a tool prints and others do not, as its documentation or source shows them.
struct ForeignTool {
  std::string_view mark, also, prints;
};
constexpr std::array foreign_tools{
    ForeignTool{"Link Type between two GPUs", "", "what rocm-smi --showtopo prints"},
    ForeignTool{"Weight between two GPUs", "", "what rocm-smi --showtopo prints"},
    ForeignTool{"Hops between two GPUs", "", "what rocm-smi --showtopo prints"},
    ForeignTool{"LINK TYPE TABLE", "", "what amd-smi topology prints"},
    ForeignTool{"ACCESS TABLE", "", "what amd-smi topology prints"},
    ForeignTool{"WEIGHT TABLE", "", "what amd-smi topology prints"},
    ForeignTool{"GPU 0/0", "", "what xpu-smi topology prints"},
    ForeignTool{"HCCS", "NPU0", "what npu-smi info -t topo prints"},
    ForeignTool{"L#0", "PU ", "what lstopo prints"},
    ForeignTool{"L#0", "Core ", "what lstopo prints"},
    ForeignTool{"<topology", "<object", "what lstopo writes"},
    ForeignTool{"<nvidia_smi_log", "", "what nvidia-smi -q -x prints"},
    ForeignTool{"NVIDIA-SMI ", "Driver Version", "nvidia-smi's list of GPUs"}};

}  // namespace

std::string foreign_topology(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  for (const ForeignTool& tool : foreign_tools) {
    if (has(tool.mark) && has(tool.also)) return "is " + std::string(tool.prints);
  }
  return "";
}

}  // namespace paceline::traces
