#include "scenarios/capacity/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <memory>
#include <optional>

#include "models/text/number.h"
#include "scenarios/capacity/bounds.h"
#include "scenarios/errors.h"
#include "scenarios/process/stop_request.h"

namespace paceline::capacity {
namespace {

constexpr std::uint32_t batch_most = 1U << 20;

std::string to_upper(std::string_view word) {
  std::string upper(word);
  for (char& letter : upper)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return upper;
}

// What is wrong, without where: the machine is named beside it.
std::string reason_of(const InputError& error) {
  const std::string text = error.what(), place = to_text(error.where()) + ": ";
  return text.starts_with(place) ? text.substr(place.size()) : text;
}

std::uint32_t nodes_most(const PlannedJob& job, const Machine& machine) {
  std::uint32_t most = job.nodes_exactly.value_or(job.nodes_at_most);
  if (machine.at_most) most = std::min(most, *machine.at_most);
  if (job.gpus_at_most) most = std::min(most, *job.gpus_at_most / machine.gpus_per_node);
  return most;
}

std::vector<std::uint32_t> counts_of(const PlannedJob& job, const Machine& machine) {
  const std::uint32_t most = nodes_most(job, machine);
  if (job.nodes_exactly) return std::vector(most == *job.nodes_exactly ? 1 : 0, most);
  if (!job.batches.global_exactly) return node_counts(most);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t nodes = 1; nodes <= most; ++nodes) {
    const std::uint64_t gpus = std::uint64_t{nodes} * machine.gpus_per_node;
    if (*job.batches.global_exactly % gpus == 0) counts.push_back(nodes);
  }
  return counts;
}

}  // namespace

// The setups of machines of the same hardware, of which `machine` is the first. What a scenario
// says but for its nodes is loaded once.
class OfHardware {
 public:
  OfHardware(const PlannedJob& job, std::size_t machine, const uncertain::Priors& priors)
      : job_(job), number_(machine), machine_(job.machines[machine]), priors_(priors) {}

  [[nodiscard]] const std::vector<Candidate>& on(std::uint32_t nodes) {
    const auto [at, is_new] = by_nodes_.try_emplace(nodes);
    if (!is_new) return at->second;
    for (std::size_t strategy = 0; strategy < job_.strategies.size(); ++strategy) {
      StopRequest::check();
      for (const Setup& setup : setups(nodes, strategy)) at->second.push_back(bounded(setup));
    }
    return at->second;
  }

  // Nullopt: the job does not allow it, or it does not fit.
  [[nodiscard]] std::optional<Candidate> candidate(const Setup& setup) {
    const Batches& limits = job_.batches;
    const auto samples = static_cast<std::uint64_t>(samples_per_step(job_, setup));
    const bool is_allowed = setup.nodes > 0 &&
                            setup.nodes <= nodes_most(job_, job_.machines[setup.machine]) &&
                            setup.nodes == job_.nodes_exactly.value_or(setup.nodes) &&
                            setup.batch <= limits.per_gpu_at_most.value_or(batch_most) &&
                            setup.batch == limits.per_gpu_exactly.value_or(setup.batch) &&
                            samples <= limits.global_at_most.value_or(samples) &&
                            (limits.global_exactly ? samples == *limits.global_exactly
                                                   : setup.passes <= limits.accumulation_at_most);
    if (!is_allowed || !fits(setup)) return std::nullopt;
    return bounded(setup);
  }

  // Precondition: a setup fits.
  [[nodiscard]] MachineWords words() const {
    const auto any =
        std::ranges::find_if(loads_, [](const auto& one) { return one.second != nullptr; });
    const Scenario& scenario = *any->second;
    const topology::Network& network = scenario.cluster.network;
    MachineWords words;
    words.speed_is_modelled = scenario.compute_ratio > compute_of_other_batch;
    if (network.bandwidth <= BytesPerSecond(0)) return words;
    words.network_kind = to_upper(to_text(network.transport));
    return words;
  }

  // Why the last setup did not fit, if any did not.
  [[nodiscard]] const std::optional<InputError>& refused() const { return refused_; }
  [[nodiscard]] const std::string& too_large() const { return too_large_; }

 private:
  struct Load {
    std::size_t strategy;
    std::uint32_t batch, passes;
    auto operator<=>(const Load&) const = default;
  };

  [[nodiscard]] std::vector<Setup> setups(std::uint32_t nodes, std::size_t strategy) {
    std::vector<Setup> fitting;
    const std::uint64_t gpus = std::uint64_t{nodes} * machine_.gpus_per_node;
    for (const auto& [batch, passes] : batches(gpus)) {
      const Setup setup{number_, nodes, strategy, batch, passes};
      if (fits(setup)) fitting.push_back(setup);
    }
    return fitting;
  }

  [[nodiscard]] Candidate bounded(const Setup& setup) {
    return {setup, step_at_least(of_size(setup), priors_, job_.probability)};
  }

  // Of a GPU and pass, and passes, that training tolerates on so many GPUs; ascending.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> batches(
      std::uint64_t gpus) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    const Batches& limits = job_.batches;
    if (limits.global_exactly) {
      if (*limits.global_exactly % gpus != 0) return {};
      const std::uint64_t share = *limits.global_exactly / gpus;
      constexpr std::uint32_t passes_most = 4096;
      for (std::uint32_t passes = 1; passes <= passes_most && passes <= share; ++passes) {
        if (share % passes == 0) add(share / passes, passes, found);
      }
      std::ranges::sort(found);
      return found;
    }
    const std::uint64_t global_most = limits.global_at_most.value_or(batch_most * gpus);
    for (std::uint32_t passes = 1; passes <= limits.accumulation_at_most; passes *= 2) {
      const std::uint64_t sharers = gpus * passes;
      if (sharers > global_most) break;
      for (const std::uint32_t batch : sizes(std::min<std::uint64_t>(
               global_most / sharers, limits.per_gpu_at_most.value_or(batch_most)))) {
        add(batch, passes, found);
      }
    }
    std::ranges::sort(found);
    return found;
  }

  void add(std::uint64_t batch, std::uint32_t passes,
           std::vector<std::pair<std::uint32_t, std::uint32_t>>& to) const {
    const Batches& limits = job_.batches;
    const std::uint64_t most = limits.per_gpu_at_most.value_or(batch_most);
    if (batch > most || (limits.per_gpu_exactly && batch != *limits.per_gpu_exactly)) return;
    to.emplace_back(static_cast<std::uint32_t>(batch), passes);
  }

  // Of a GPU, where the global batch is not exact.
  [[nodiscard]] std::vector<std::uint32_t> sizes(std::uint64_t most) const {
    if (job_.batches.per_gpu_exactly) {
      const std::uint32_t exactly = *job_.batches.per_gpu_exactly;
      return exactly <= most ? std::vector{exactly} : std::vector<std::uint32_t>{};
    }
    std::vector<std::uint32_t> found;
    for (std::uint32_t size = 1; size <= most; size *= 2) found.push_back(size);
    for (const std::uint32_t size : job_.measured_batches(machine_)) {
      if (size <= most && !std::has_single_bit(size)) found.push_back(size);
    }
    return found;
  }

  [[nodiscard]] bool fits(const Setup& setup) {
    if (!loaded(setup)) return false;
    const Scenario& sized = of_size(setup);
    const training::StrategyRequest request = strategy_request(sized);
    if (sized.strategy->refuse != nullptr) {
      if (const auto refusal = sized.strategy->refuse(request)) {
        refused_ = InputError(
            {job_.path}, fmt::format("strategy \"{}\" {}", sized.strategy->name, refusal->what),
            refusal->hint);
        return false;
      }
    }
    const auto memory = training::memory_of(*sized.strategy, request);
    const auto& device = sized.workload.device.memory;
    if (!memory || !device) return true;
    const auto taken = static_cast<double>(memory->total().value());
    if (taken <= memory_used_at_most * static_cast<double>(device->value())) return true;
    constexpr double gibibyte = 1ULL << 30;
    if (!too_large_.empty() && taken >= least_taken_) return false;
    least_taken_ = taken;
    too_large_ =
        fmt::format("even a batch of {} with {} on {} needs {:.3g} of {:.3g} GiB", setup.batch,
                    sized.strategy->name, counted(gpus_of(job_, setup), "GPU"), taken / gibibyte,
                    static_cast<double>(device->value()) / gibibyte);
    return false;
  }

  // Null: refused. With one node, or with the setup's where its strategy wants several.
  [[nodiscard]] std::shared_ptr<Scenario> loaded(const Setup& setup) {
    const Load key{setup.strategy, setup.batch, setup.passes};
    const auto known = loads_.find(key);
    if (known != loads_.end()) return known->second;
    for (const std::uint32_t nodes : {1U, setup.nodes}) {
      try {
        auto made = std::make_shared<Scenario>(
            job_.scenario(machine_, nodes, settings_of(job_, setup)).scenario(0));
        return loads_.emplace(key, std::move(made)).first->second;
      } catch (const StrategyRefusal& refusal) {
        if (!refused_) refused_ = refusal;
      } catch (const InputError& error) {
        if (!refused_) refused_ = error;
        return loads_.emplace(key, nullptr).first->second;
      }
    }
    return nullptr;
  }

  [[nodiscard]] const Scenario& of_size(const Setup& setup) {
    Scenario& scenario = *loaded(setup);
    scenario.cluster.nodes = setup.nodes;
    return scenario;
  }

  const PlannedJob& job_;
  std::size_t number_;
  const Machine& machine_;
  const uncertain::Priors priors_;
  std::map<std::uint32_t, std::vector<Candidate>> by_nodes_;
  std::map<Load, std::shared_ptr<Scenario>> loads_;
  std::optional<InputError> refused_;
  std::string too_large_;  // the least that was tried
  double least_taken_ = 0;
};

namespace {

struct NoFit {
  std::string why, hint;
  std::optional<InputError> refusal;  // the strategy's, or the scenario's
};

// Precondition: no setup of the machine fits.
NoFit why_none_fits(const PlannedJob& job, const Machine& machine, const OfHardware& setups) {
  const auto& strategies = job.strategies;
  if (!setups.too_large().empty()) {
    const bool is_shared =
        std::ranges::find(strategies, "fsdp", &PlannedJob::Strategy::name) != strategies.end();
    return {setups.too_large(),
            is_shared
                ? "take training.activation_checkpointing: blocks, or allow more nodes; tensor and "
                  "pipeline parallelism are not planned here"
                : "allow strategies that share the model (fsdp)",
            std::nullopt};
  }
  if (setups.refused()) return {reason_of(*setups.refused()), "", setups.refused()};
  const std::uint32_t most = nodes_most(job, machine);
  if (most == 0) {
    return {fmt::format("a node has {} GPUs, and limits.gpus allows fewer", machine.gpus_per_node),
            "allow more GPUs", std::nullopt};
  }
  if (most < job.nodes_exactly.value_or(0)) {
    return {fmt::format("at most {} of its nodes can be had, and limits.nodes asks for {}", most,
                        *job.nodes_exactly),
            "allow other numbers of nodes", std::nullopt};
  }
  return {"no number of its GPUs shares the batch", "allow other batches, or other numbers of GPUs",
          std::nullopt};
}

}  // namespace

std::vector<ScenarioFile::Setting> settings_of(const PlannedJob& job, const Setup& setup) {
  const PlannedJob::Strategy& strategy = job.strategies[setup.strategy];
  std::vector<ScenarioFile::Setting> settings{
      {"workload.batch_per_gpu", std::to_string(setup.batch)},
      {"training.strategy", strategy.name}};
  if (setup.passes > 1) {
    settings.push_back({"training.gradient_accumulation", std::to_string(setup.passes)});
  }
  if (!strategy.bucket_cap.empty()) {
    settings.push_back({"training.bucket_cap", strategy.bucket_cap});
  }
  return settings;
}

std::uint32_t gpus_of(const PlannedJob& job, const Setup& setup) {
  return setup.nodes * job.machines[setup.machine].gpus_per_node;
}

double samples_per_step(const PlannedJob& job, const Setup& setup) {
  return static_cast<double>(gpus_of(job, setup)) * setup.batch * setup.passes;
}

std::vector<std::uint32_t> node_counts(std::uint32_t most) {
  constexpr std::uint32_t all_up_to = 32;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t nodes = 1; nodes <= most;) {
    counts.push_back(nodes);
    nodes += nodes < all_up_to ? 1 : std::bit_floor(nodes) / 16;
  }
  return counts;
}

Grid grid_of(const PlannedJob& job, const uncertain::Priors& priors) {
  Grid grid;
  std::optional<NoFit> first;
  for (std::size_t machine = 0; machine < job.machines.size(); ++machine) {
    const std::size_t first_of_it = job.machines[machine].hardware;
    grid.hardware.push_back(first_of_it < machine
                                ? grid.hardware[first_of_it]
                                : std::make_shared<OfHardware>(job, machine, priors));
    OfHardware& setups = *grid.hardware.back();
    const std::size_t before = grid.candidates.size();
    const std::uint32_t most = nodes_most(job, job.machines[machine]);
    for (const std::uint32_t nodes : counts_of(job, job.machines[machine])) {
      for (Candidate candidate : setups.on(nodes)) {
        candidate.setup.machine = machine;
        grid.candidates.push_back(candidate);
      }
    }
    const bool fits = grid.candidates.size() > before;
    grid.machines.push_back(fits ? setups.words() : MachineWords{});
    if (most < 2) grid.machines.back().network_kind.clear();
    if (fits) continue;
    NoFit none = why_none_fits(job, job.machines[machine], setups);
    grid.left_out.push_back({machine, none.why});
    if (!first || (!first->refusal && none.refusal)) first = std::move(none);
  }
  if (!grid.candidates.empty()) return grid;
  if (first->refusal) throw *first->refusal;
  throw InputError({job.path},
                   fmt::format("fits no machine: {}: {}",
                               job.machines[grid.left_out.front().machine].full_name(), first->why),
                   first->hint);
}

std::optional<Candidate> Grid::candidate(const Setup& setup) const {
  return hardware[setup.machine]->candidate(setup);
}

}  // namespace paceline::capacity
