#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/stats/mixed.h"

namespace paceline::test {

// A job and its catalogue, small.yaml, as texts.
struct DrawnJob {
  std::string job, catalogue;
  std::string workload;  // of the job, with what was measured of it
};

// Random jobs: all that a job's file can ask of the search, over few workloads and machines, so
// that the predictions of one job are those of others. Amounts and targets are drawn around what
// such machines do, so that about half of the jobs have an answer. The same number gives the same
// job.
class JobDrawer {
 public:
  explicit JobDrawer(std::uint64_t number) : state_(number * 1'000'003), input_state_(~state_) {}

  // `nodes`: the most that a job allows, 2 or more.
  [[nodiscard]] DrawnJob draw(std::uint64_t nodes) {
    DrawnJob made{"schema: paceline.job/1\nname: drawn\ncatalogue: [small.yaml]\n", catalogue(),
                  workload()};
    const int start_min = one_of<int>({0, 1, 10, 40, -1});  // -1: not told
    made.job += made.workload + amount_and_targets(start_min) + batches() + strategies();
    made.job += fmt::format("probability: {}%\n", one_of<int>({50, 60, 75, 90, 95, 99}));
    made.job += fmt::format("limits: {{nodes: {}", between(2, nodes));
    if (one_in(4)) made.job += fmt::format(", gpus: {}", one_of<int>({4, 8, 12, 30, 64}));
    if (one_in(3)) made.job += ", regions: [us]";
    made.job += "}\n" + overheads(start_min);
    made.job += input();
    made.job += fmt::format("pricing: {}\n", one_of<const char*>({"on_demand", "spot", "both"}));
    return made;
  }

 private:
  [[nodiscard]] std::uint64_t next() { return stats::mixed(++state_); }
  [[nodiscard]] bool one_in(std::uint64_t n) { return next() % n == 0; }
  [[nodiscard]] std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + next() % (most - least + 1);
  }
  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> words) {
    return *std::next(words.begin(), static_cast<std::ptrdiff_t>(next() % words.size()));
  }
  // Evenly in its logarithm.
  [[nodiscard]] double about(double least, double most) {
    return least * std::pow(most / least, static_cast<double>(next() >> 11) * 0x1.0p-53);
  }

  [[nodiscard]] std::string catalogue() {
    constexpr std::array<std::string_view, 8> pool{
        "name: v100, cluster: {preset: dgx1-v100}",
        "name: p3.8xlarge, cluster: {preset: aws-p3-8xlarge}",
        "name: p4d, cluster: {preset: aws-p4d-24xlarge}",
        "name: g4dn, cluster: {preset: aws-g4dn-12xlarge}",
        "name: g5, cluster: {preset: aws-g5-48xlarge}",
        "name: 4090, cluster: {preset: rtx-4090-pcie-8}",
        "name: one, cluster: {preset: flat, network: {bandwidth: 10Gbps, latency: 25us, "
        "transport: tcp}}, device: v100-sxm2-16gb",
        "name: h100, cluster: {preset: dgx-h100}"};
    std::string text =
        "schema: paceline.catalogue/1\nname: small\nsource: drawn\ndate: 2026-11-26\nmachines:\n";
    const std::uint64_t machines = between(2, 6);
    // A stride that has nothing in common with the pool's size comes to none twice.
    const std::uint64_t first = next(), stride = one_of<std::uint64_t>({1, 3, 5, 7});
    for (std::uint64_t i = 0; i < machines; ++i) {
      const std::string_view machine = pool[(first % pool.size() + i * stride) % pool.size()];
      const std::uint64_t regions = between(1, 3);
      for (std::uint64_t region = 0; region < regions; ++region) {
        const bool is_first = i + region == 0;
        const char* area = one_in(3) && !is_first ? "eu" : "us";
        text += fmt::format("  - {{{}, region: {}-{}, area: {}, {}", machine, area, region, area,
                            prices(is_first));
        if (one_in(5)) text += fmt::format(", at_most: {}", between(1, 5));
        text += input_of_machine();
        text += "}\n";
      }
    }
    return text;
  }

  // The first machine has both, so that every job has a price to pay.
  [[nodiscard]] std::string prices(bool is_first) {
    const double price = about(2, 60);
    if (!is_first && one_in(6)) {
      return fmt::format("owned: {{price: {:.0f} USD, lifetime: 4y, in_use: {}%, upkeep: 5%}}",
                         price * 8'000, between(20, 100));
    }
    std::string text;
    if (is_first || !one_in(6)) text = fmt::format("price: {:.3f} USD/h", price);
    if (!is_first && !text.empty() && one_in(3)) return text;
    if (!text.empty()) text += ", ";
    text += fmt::format("spot: {{price: {:.3f} USD/h", price * about(0.15, 0.9));
    if (one_in(2)) {
      text += fmt::format(", preemptions: {}%/h", one_of<const char*>({"0.1", "1", "5", "20"}));
    }
    return text + "}";
  }

  // Drawn apart, so that jobs are else what they are without.
  [[nodiscard]] std::string input_of_machine() {
    std::swap(state_, input_state_);
    std::string text;
    if (one_in(2)) text += fmt::format(", vcpus: {}", one_of<int>({8, 32, 96}));
    if (one_in(6)) text += fmt::format(", disk: {}MBps", one_of<int>({100, 400}));
    std::swap(state_, input_state_);
    return text;
  }
  [[nodiscard]] std::string input() {
    std::swap(state_, input_state_);
    const std::string told =
        one_of<const char*>({"", "", "input: {kind: none}\n", "input: {per_core: 120 samples/s}\n",
                             "input: {bytes: 40kB}\n"});
    std::swap(state_, input_state_);
    return told;
  }

  [[nodiscard]] std::string workload() {
    const auto which = next() % 8;
    if (which < 3) return "workload: {model: resnet18, precision: amp}\n";
    if (which < 7) return "workload: {model: vgg16, precision: amp}\n";  // calls take the longest
    return "workload: {model: resnet18, precision: amp}\n"
           "measured_on: [{device: v100-sxm2-16gb, batch: 40, throughput: 1700 samples/s}]\n";
  }

  [[nodiscard]] std::string amount_and_targets(int start_min) {
    const double samples = about(1e6, 1e8);
    std::string text = fmt::format("amount: {{samples: {:.0f}}}\ntarget: {{", samples);
    const auto kinds = between(1, 7);  // each of three is one of its bits
    std::string comma;
    const auto add = [&](const std::string& target) {
      text += comma + target;
      comma = ", ";
    };
    if ((kinds & 1) != 0) {
      add(fmt::format("deadline: {:.1f}min",
                      std::max(start_min, 5) + samples / about(400, 30e3) / 60));
    }
    if ((kinds & 2) != 0) add(fmt::format("budget: {:.2f} USD", samples / about(1e5, 4e6)));
    if ((kinds & 4) != 0) add(fmt::format("throughput: {:.1f} samples/s", about(300, 20e3)));
    return text + "}\n";
  }

  [[nodiscard]] std::string batches() {
    std::string text;
    const auto kind = next() % 4;
    const int per_gpu = one_of<int>({16, 48, 64, 128, 256});
    if (kind == 0) text = fmt::format("batch_per_gpu: {{exactly: {}}}\n", one_of<int>({8, 24, 64}));
    if (kind == 1) text = fmt::format("batch_per_gpu: {{at_most: {}}}\n", per_gpu);
    if (kind == 2) {
      text = fmt::format("global_batch: {{exactly: {}}}\n",
                         one_of<int>({64, 96, 256, 720, 768, 1024, 4096}));
    }
    if (kind == 3) {
      text = fmt::format("global_batch: {{at_most: {}}}\n", one_of<int>({200, 512, 2048, 8192}));
    }
    if (kind > 1 && one_in(2)) text += fmt::format("batch_per_gpu: {{at_most: {}}}\n", per_gpu);
    if (kind != 2 && one_in(3)) {
      text += fmt::format("gradient_accumulation: {{at_most: {}}}\n", between(2, 4));
    }
    return text;
  }

  [[nodiscard]] std::string strategies() {
    constexpr std::array<const char*, 4> all{"ddp", "fsdp", "horovod", "deepspeed_zero"};
    std::string text = "strategies: [";
    std::string comma;
    const auto which = between(1, 15);
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (((which >> i) & 1) == 0 || taken == 2) continue;
      text += comma + all[i];
      comma = ", ";
      ++taken;
    }
    text += "]\n";
    return text + fmt::format("bucket_caps: {}\n",
                              one_of<const char*>({"[25MiB]", "[100MiB]", "[25MiB, 100MiB]"}));
  }

  [[nodiscard]] std::string overheads(int start_min) {
    std::string text = "overheads: {";
    std::string comma;
    const auto add = [&](const std::string& overhead) {
      text += comma + overhead;
      comma = ", ";
    };
    if (start_min >= 0) add(fmt::format("start: {}min", start_min));
    const auto checkpoints = next() % 3;
    if (checkpoints == 1) add("checkpoint: {takes: 30s}");
    if (checkpoints == 2) add("checkpoint: {every: 30min, takes: 1min}");
    if (one_in(2)) add(fmt::format("mtbf_per_node: {}h", one_of<int>({100, 1000, 10000})));
    return text + "}\n";
  }

  std::uint64_t state_, input_state_;
};

}  // namespace paceline::test
