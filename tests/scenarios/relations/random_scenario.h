#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/stats/mixed.h"

namespace paceline::test {

// The numbers of a seed, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(stats::mixed(seed)) {}

  // From 0, below 1.
  double part() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  bool chance(double of) { return part() < of; }
  // Of a closed range.
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) {
    return least + bits() % (most - least + 1);
  }
  // Whose logarithm is uniform; of three digits, so that a file spells it exactly.
  double spread(double least, double most) {
    const double drawn = least * std::pow(most / least, part());
    return std::strtod(fmt::format("{:.3g}", drawn).c_str(), nullptr);
  }
  std::string any(std::initializer_list<std::string_view> words) {
    return std::string(words.begin()[whole(0, words.size() - 1)]);
  }

 private:
  std::uint64_t bits() { return stats::mixed(seed_ + ++drawn_ * stats::golden_step); }

  std::uint64_t seed_, drawn_ = 0;
};

// A scenario as values by path, which is also how a relation changes one: layers are
// `workload.layers.0.forward` and so on, numbered as they run.
class Values {
 public:
  [[nodiscard]] bool has(const std::string& path) const { return by_path_.contains(path); }
  // Empty: it is not given.
  [[nodiscard]] std::string at(const std::string& path) const {
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? "" : found->second;
  }
  [[nodiscard]] bool is(const std::string& path, std::string_view value) const {
    return at(path) == value;
  }
  // Precondition: a number, with or without a unit.
  [[nodiscard]] double number(const std::string& path) const {
    return std::strtod(at(path).c_str(), nullptr);
  }
  [[nodiscard]] std::size_t layers() const { return layers_; }

  void set(const std::string& path, const std::string& value) { by_path_[path] = value; }
  void set(const std::string& path, double number, std::string_view unit) {
    by_path_[path] = fmt::format("{}{}", number, unit);
  }
  void scale(const std::string& path, double factor) {
    const std::string text = at(path);
    char* unit = nullptr;
    const double number = std::strtod(text.c_str(), &unit);
    set(path, number * factor, unit);
  }
  void take_out(const std::string& path) { by_path_.erase(path); }
  // The paths that begin so.
  [[nodiscard]] std::vector<std::string> below(const std::string& prefix) const {
    std::vector<std::string> paths;
    for (const auto& [path, value] : by_path_) {
      if (path.starts_with(prefix)) paths.push_back(path);
    }
    return paths;
  }
  [[nodiscard]] std::string layer(std::size_t number, std::string_view key) const {
    return fmt::format("workload.layers.{}.{}", number, key);
  }
  void add_layer() { ++layers_; }
  void take_out_layers() {
    for (const std::string& path : below("workload.layers.")) take_out(path);
    layers_ = 0;
  }

  // As a scenario file.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, std::string> by_path_;
  std::size_t layers_ = 0;
};

// Lines of `{key: value, ...}`, a section each: of the paths below `prefix`.
inline std::string map_text(const std::map<std::string, std::string>& by_path,
                            const std::string& prefix) {
  std::string text;
  std::string done;  // the last map below
  for (auto at = by_path.lower_bound(prefix); at != by_path.end(); ++at) {
    const auto& [path, value] = *at;
    if (!path.starts_with(prefix)) break;
    const std::string rest = path.substr(prefix.size());
    const std::string key = rest.substr(0, rest.find('.'));
    if (key == done) continue;
    const bool is_map = key.size() < rest.size();
    if (is_map) done = key;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        is_map ? map_text(by_path, prefix + key + ".") : value);
  }
  return "{" + text + "}";
}

inline std::string Values::text() const {
  constexpr std::string_view of_layers = "workload.layers.";
  std::map<std::string, std::string> others;
  for (const auto& [path, value] : by_path_) {
    if (!path.starts_with(of_layers)) others.emplace(path, value);
  }
  std::string list;
  for (std::size_t i = 0; i < layers_; ++i) {
    list += (list.empty() ? "" : ", ") + map_text(by_path_, layer(i, ""));
  }
  if (layers_ > 0) others.emplace("workload.layers", "[" + list + "]");
  std::string text = "schema: paceline/1\nname: random\n", done;
  for (const auto& [path, value] : others) {
    const std::string key = path.substr(0, path.find('.'));
    if (key == done) continue;
    done = key;
    text += fmt::format("{}: {}\n", key, key == path ? value : map_text(others, key + "."));
  }
  return text;
}

// A small one: of a few layers and up to 16 GPUs, of any strategy, library and kind of cluster.
[[nodiscard]] Values random_scenario(std::uint64_t seed);

namespace drawn {

inline void layers(Random& random, Values& values) {
  const std::uint64_t count = random.whole(1, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    values.add_layer();
    const double forward_us = random.spread(20, 5000);
    values.set(values.layer(i, "forward"), forward_us, "us");
    values.set(values.layer(i, "backward"), random.spread(1, 3) * forward_us, "us");
    if (random.chance(0.1)) continue;
    std::string counts;
    for (std::uint64_t tensor = random.whole(1, 3); tensor > 0; --tensor) {
      counts += fmt::format("{}{}", counts.empty() ? "" : ", ",
                            static_cast<std::uint64_t>(random.spread(1, 3e6)));
    }
    values.set(values.layer(i, "parameters"), "[" + counts + "]");
  }
}

inline void intra_node(Random& random, Values& values) {
  const std::string section = "cluster.intra_node.",
                    kind = random.any({"nvswitch", "nvlink_mesh", "pcie", "pcie"});
  const auto gpus = static_cast<std::uint64_t>(values.number("cluster.gpus_per_node"));
  values.set(section + "kind", kind);
  values.set(section + "bandwidth", random.spread(5, 300), "GBps");
  values.set(section + "latency", random.spread(0.5, 20), "us");
  if (random.chance(0.3)) values.set(section + "host_bandwidth", random.spread(5, 60), "GBps");
  if (kind != "pcie" || gpus < 4 || random.chance(0.3)) return;
  values.set(section + "gpus_per_switch", "2");
  values.set(section + "switch_bandwidth", random.spread(5, 60), "GBps");
  if (random.chance(0.5)) {
    values.set(section + "sockets", "2");
    values.set(section + "socket_bandwidth", random.spread(3, 40), "GBps");
  }
  if (random.chance(0.3)) values.set(section + "peer_to_peer", "false");
}

inline void network(Random& random, Values& values) {
  const std::string section = "cluster.network.";
  values.set(section + "bandwidth", random.spread(1, 400), "Gbps");
  values.set(section + "latency", random.spread(1, 200), "us");
  if (random.chance(0.3)) {
    values.set(section + "nics_per_node",
               fmt::format("{}", random.whole(1, static_cast<std::uint64_t>(
                                                     values.number("cluster.gpus_per_node")))));
  }
  values.set(section + "efficiency", random.spread(0.5, 0.99), "");
  if (random.chance(0.3)) values.set(section + "transport", "tcp");
  if (random.chance(0.2)) values.set(section + "framing", "ethernet-tcp");
  if (!random.chance(0.2)) return;
  values.set(section + "fabric", "fat_tree");
  values.set(section + "nodes_per_leaf", fmt::format("{}", random.whole(1, 4)));
  values.set(section + "oversubscription", random.spread(1, 4), "");
  values.set(section + "core_latency", random.spread(0.1, 5), "us");
  if (random.chance(0.3)) values.set(section + "placement", "spread");
}

inline void cluster(Random& random, Values& values) {
  values.set("cluster.gpus_per_node", random.any({"1", "2", "4", "4", "8"}));
  const auto nodes_most = static_cast<std::uint64_t>(16 / values.number("cluster.gpus_per_node"));
  values.set("cluster.nodes",
             fmt::format("{}", random.whole(1, std::min<std::uint64_t>(nodes_most, 5))));
  intra_node(random, values);
  network(random, values);
  if (random.chance(0.2)) values.set("cluster.reduction_bandwidth", random.spread(1, 20), "GBps");
}

inline void keys_of_strategy(Random& random, const std::string& strategy, Values& values) {
  const std::string section = "training.";
  if (strategy == "ddp") {
    values.set(section + "bucket_cap", random.spread(0.05, 25), "MB");
    if (random.chance(0.3)) values.set(section + "find_unused_parameters", "true");
    if (random.chance(0.3)) values.set(section + "gradient_as_bucket_view", "true");
    if (random.chance(0.2)) values.set(section + "zero_redundancy_optimizer", "true");
  } else if (strategy == "apex_ddp") {
    values.set(section + "message_size", fmt::format("{}", random.whole(1000, 5'000'000)));
    if (random.chance(0.3)) values.set(section + "num_allreduce_streams", "2");
  } else if (strategy == "horovod") {
    values.set(section + "cycle_time", random.spread(0.1, 10), "ms");
    values.set(section + "fusion_threshold", random.spread(0.1, 64), "MB");
    if (random.chance(0.3) && values.has("cluster.intra_node.host_bandwidth")) {
      values.set(section + "hierarchical_allreduce", "true");
    }
  } else if (strategy == "fsdp") {
    if (random.chance(0.5)) values.set(section + "reshard_after_forward", "false");
    values.set(section + "backward_prefetch", random.any({"pre", "post", "none"}));
    if (random.chance(0.3)) values.set(section + "sharding", "hybrid");
  } else if (strategy == "deepspeed_zero") {
    values.set(section + "stage", random.any({"1", "2", "3"}));
    values.set(section + "reduce_bucket_size", fmt::format("{}", random.whole(10'000, 5'000'000)));
  } else if (strategy == "parameter_server") {
    values.set(section + "partition", random.spread(0.5, 8), "MB");
    if (random.chance(0.3)) values.set(section + "server_hosts", "beside_workers");
    if (random.chance(0.3)) values.set(section + "hierarchical", "false");
    if (random.chance(0.3)) values.set(section + "credit", "4");
  }
}

inline void training(Random& random, Values& values) {
  const std::string strategy = random.any(
      {"ddp", "ddp", "apex_ddp", "horovod", "fsdp", "deepspeed_zero", "data_parallel",
       "parameter_server", "bulk_synchronous", "bulk_synchronous", "merged_gradient", "wait_free"});
  values.set("training.strategy", strategy);
  keys_of_strategy(random, strategy, values);
  if (random.chance(0.2)) values.set("training.gradient_accumulation", "2");
  if (random.chance(0.3)) values.set("training.input_time", random.spread(10, 2000), "us");
  values.set("training.optimizer.time", random.spread(10, 2000), "us");
  if (random.chance(0.2)) values.set("training.host.per_operation", random.spread(1, 100), "us");
  if (random.chance(0.2)) values.set("training.host.per_call", random.spread(1, 100), "us");
}

inline void collective(Random& random, Values& values) {
  values.set("collective.library", random.any({"plan", "plan", "gloo", "mpi", "nccl"}));
  if (values.is("collective.library", "plan")) {
    values.set("collective.algorithm",
               random.any({"ring", "ring", "halving_doubling", "recursive_doubling", "direct",
                           "binomial_tree", "double_binary_tree", "hierarchical", "ring_2d"}));
  }
}

}  // namespace drawn

inline Values random_scenario(std::uint64_t seed) {
  Random random(seed);
  Values values;
  values.set("workload.batch_per_gpu", fmt::format("{}", random.whole(1, 64)));
  values.set("workload.device",
             random.any({"v100-sxm2-16gb", "a100-sxm4-40gb", "h100-sxm5-80gb", "tesla-t4"}));
  if (random.chance(0.2)) values.set("workload.precision", "fp16");
  drawn::layers(random, values);
  drawn::cluster(random, values);
  drawn::training(random, values);
  drawn::collective(random, values);
  values.set("contention", random.any({"off", "off", "auto", "1.3"}));
  if (random.chance(0.2)) {
    values.set(fmt::format("ranks.slowdown.{}", random.whole(0, 3)), random.spread(0.8, 3), "");
  }
  if (random.chance(0.1)) values.set("ranks.jitter", random.spread(0.01, 0.2), "");
  return values;
}

}  // namespace paceline::test
