#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/workload.h"

namespace paceline::training {

// The parameter tensors of torchvision's ResNets in registration order:
// torchvision/models/resnet.py, BasicBlock (expansion 1) and Bottleneck (expansion 4). Convolutions
// have no bias; a batch normalisation has a weight and a bias; the downsample branch of a stage
// comes last in its first block, and is there when the shape changes.
class ResNet {
 public:
  static std::vector<workload::ParameterTensor> resnet18() {
    return ResNet(1, {2, 2, 2, 2}).tensors_;
  }
  static std::vector<workload::ParameterTensor> resnet50() {
    return ResNet(4, {3, 4, 6, 3}).tensors_;
  }

 private:
  ResNet(std::uint64_t expansion, const std::vector<std::uint64_t>& blocks) {
    convolution(3, 64, 7);
    std::uint64_t in = 64;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      const std::uint64_t width = std::uint64_t{64} << stage;
      for (std::uint64_t block = 0; block < blocks[stage]; ++block) {
        const std::uint64_t out = width * expansion;
        if (expansion == 1) {
          convolution(in, width, 3);
          convolution(width, width, 3);
        } else {
          convolution(in, width, 1);
          convolution(width, width, 3);
          convolution(width, out, 1);
        }
        const bool shape_changes = in != out || (stage > 0 && block == 0);
        if (shape_changes) convolution(in, out, 1);
        in = out;
      }
    }
    tensor(in * 1000, 1000);  // fc
    tensor(1000, 1000);
  }

  // By its first dimension, `rows`.
  void tensor(std::uint64_t count, std::uint64_t rows) {
    tensors_.push_back({"t" + std::to_string(tensors_.size()), ElementCount(count),
                        workload::DataType::float32, 0, ElementCount(rows)});
  }
  // And its batch normalisation.
  void convolution(std::uint64_t in, std::uint64_t out, std::uint64_t kernel) {
    tensor(in * out * kernel * kernel, out);
    tensor(out, out);
    tensor(out, out);
  }

  std::vector<workload::ParameterTensor> tensors_;
};

}  // namespace paceline::training
