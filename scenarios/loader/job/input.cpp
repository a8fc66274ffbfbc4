#include "scenarios/loader/job/input.h"

#include <array>
#include <cstdint>
#include <span>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

// One core's part, by kind: of a sample, or of a token where samples are sequences.
struct InputRate {
  InputKind kind;
  std::optional<double> per_s;
  double factor, bytes;
};

constexpr std::array input_rates{
    // Of a DGX-1, whose 40 cores are two Xeon E5-2698 v4: 5,600 images/s by a loader in Python, 140
    // a core, and 10,000 by tf.data, 250 (tensorpack/benchmarks at 6ae5c20, ImageNet/README.md; its
    // CPU: zhengxiawu/pytorch-cls at 0c09ca7, doc/dataload_test.md). Ten workers of PyTorch: 192
    // images/s each with Pillow, 250 with Pillow-SIMD (huggingface/pytorch-image-models, issue
    // 1491). Between their means, 200. Heavier augmentation halves that (AutoAugment takes as long
    // as all else but decoding: pytorch/vision, issue 7497), newer CPUs may double it: a judgement.
    // Bytes: DLIO of MLPerf Storage (argonne-lcf/dlio_benchmark at 2b5720d, resnet50_a100.yaml).
    InputRate{InputKind::jpeg, 200, 2, 114'660},
    // GPT-2's vocabulary on one thread of an EPYC: 2.7 MiB/s of English by tokenizers 0.21.4, 19.9
    // by tiktoken 0.12.0, both from Python (benvanik's gist 9090b155, February 2026); their
    // geometric mean, at 4 bytes a token (openai/tiktoken at 05e66e8, README.md), and a factor that
    // has both.
    InputRate{InputKind::text, 1.9e6, 3, 4},
    // Copied: a million tokens a second are 4 MB, of which a core moves thousands.
    InputRate{InputKind::tokens, std::nullopt, 1, 4},
    InputRate{InputKind::none, std::nullopt, 1, 0},
};

constexpr std::array rate_forms{Form{Throughput{.or_tokens = true}}};

constexpr std::array input_table{
    Key{"kind", OneOf{texts_of<InputKind>},
        "tokens for networks with a sequence, jpeg for others, none for `layers`",
        "of samples. jpeg: images as of ImageNet, decoded and augmented; text: tokenised when "
        "read; tokens: ready ids, which take no core's time; none: not of CPUs, as decoded by "
        "GPUs (DALI), which takes time of theirs"},
    Key{"per_core", Structure{"a throughput", rows<rate_forms>}, "by `kind`",
        "what a core gets ready, which is two of a machine's `vcpus`, in samples/s or, of a "
        "network with a sequence, tokens/s",
        "120 samples/s"},
    Key{"bytes", Size{}, "by `kind`", "of a sample, which a machine's `disk` reads"},
};

}  // namespace

std::span<const Key> input_keys() { return input_table; }

JobInput read_input(Section section, const workload::Network* network) {
  JobInput input;
  const std::uint64_t sequence = network == nullptr ? 0 : network->sequence;
  if (const auto kind = section.field("kind")) {
    input.kind = kind->word<InputKind>();
    if (input.kind == InputKind::text && sequence == 0) {
      kind->fail("is of sequences, and the workload has none", "write jpeg or none");
    }
  } else if (network != nullptr) {
    input.kind = sequence > 0 ? InputKind::tokens : InputKind::jpeg;
  }
  const InputRate& rate = input_rates[static_cast<std::size_t>(input.kind)];
  const double parts = sequence > 0 ? static_cast<double>(sequence) : 1;
  if (const auto told = section.field("per_core")) {
    input.per_core = throughput_of(*told, network);
  } else if (rate.per_s) {
    input.per_core = SamplesPerSecond(*rate.per_s / parts);
    input.factor = rate.factor;
  }
  input.bytes = section.find<Bytes>("bytes");
  if (!input.bytes && rate.bytes > 0) {
    input.bytes = Bytes(static_cast<std::uint64_t>(rate.bytes * parts));
  }
  section.finish();
  return input;
}

}  // namespace paceline::loader
