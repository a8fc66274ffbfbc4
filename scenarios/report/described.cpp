#include "scenarios/report/described.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

namespace paceline {
namespace {

using Texts = std::vector<std::string>;

// Each once, without empty ones.
std::string joined(const Texts& texts, const char* between) {
  Texts all;
  for (const std::string& text : texts) {
    if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(text);
  }
  return fmt::format("{}", fmt::join(all, between));
}

// Of words each, "fp32 or amp"; of numbers above 0 the range, "8 to 64", and their noun.
template <class Points, class Get>
std::string over(Points&& points, Get get, const char* noun = "") {
  using Value = std::invoke_result_t<Get, std::ranges::range_reference_t<Points>>;
  Texts texts;
  if constexpr (std::is_convertible_v<Value, std::string_view>) {
    for (const auto& point : points) texts.emplace_back(std::invoke(get, point));
    return joined(texts, " or ");
  } else {
    std::vector<double> numbers;
    for (const auto& point : points)
      numbers.push_back(static_cast<double>(std::invoke(get, point)));
    std::erase(numbers, 0);
    if (numbers.empty()) return "";
    const auto [least, most] = std::ranges::minmax(numbers);
    for (const double one : {least, most}) {
      texts.push_back(fmt::format(fmt::runtime(one < 1e4 ? "{:.4g}" : "{:.0f}"), one));
    }
    return joined(texts, " to ") + noun + (*noun != '\0' && most > 1 ? "s" : "");
  }
}

// A name in place of a section, or as its preset, gives all that is in it.
bool gives(std::string_view given, std::string_view path) {
  constexpr std::string_view preset = ".preset";
  if (given.ends_with(preset)) given.remove_suffix(preset.size());
  return path == given || (path.starts_with(given) && path[given.size()] == '.');
}

class Description {
 public:
  Description(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes)
      : file_(file), outcomes_(outcomes), values_(file.values()) {
    for (const PointOutcome& one : outcomes) setups_.push_back(one.setup);
  }

  Described made() {
    Described all{{workload(), gpus()}, gradients(), {}};
    std::erase(all.setup, "");
    all.defaults = std::move(defaults_);
    return all;
  }

 private:
  [[nodiscard]] bool is_swept(std::string_view path) const {
    return std::ranges::any_of(file_.axes(),
                               [&](const auto& axis) { return gives(axis.path, path); });
  }
  [[nodiscard]] std::string unless_swept(std::string_view path, std::string text) const {
    return is_swept(path) ? "" : text;
  }
  // Once, where it stands first.
  std::string marked(const char* path, std::string text) {
    if (text.empty() || is_swept(path)) return "";
    const bool is_given =
        std::ranges::any_of(values_, [&](const auto& one) { return gives(one.first, path); });
    if (is_given || std::ranges::find(defaults_, path) != defaults_.end()) return text;
    defaults_.emplace_back(path);
    return text + " (default)";
  }

  // Of a batch that all GPUs share each point has its own, which no axis shows.
  std::string batch() {
    std::string text = over(setups_, &PointSetup::batch_per_gpu, " sample") + " per GPU";
    const std::string passes = over(setups_, &PointSetup::passes);
    if (passes != "1") text = unless_swept("training.gradient_accumulation", passes + " x ") + text;
    const bool is_shared = is_swept("job.global_batch") || values_.contains("job.global_batch");
    return is_shared ? text : marked("workload.batch_per_gpu", text);
  }

  std::string workload() {
    const std::string name = over(setups_, &PointSetup::workload);
    return joined(
        {unless_swept("workload.model", name == file_.name() ? "" : name),
         marked("workload.precision.compute", over(setups_, &PointSetup::precision)), batch(),
         marked("workload.sequence", over(setups_, &PointSetup::sequence, " token"))},
        ", ");
  }

  [[nodiscard]] std::string gpus() const {
    const auto most = std::ranges::max(setups_, {}, &PointSetup::gpus_per_node);
    return joined(
        {unless_swept("workload.device", over(setups_, &PointSetup::device)),
         unless_swept("cluster.gpus_per_node",
                      over(std::vector{most}, &PointSetup::gpus_per_node, " GPU") + " per node")},
        ", ");
  }

  // "8 x 400 Gb/s RDMA", of points that have such links.
  std::string network() {
    auto far = outcomes_ | std::views::filter([](const PointOutcome& one) {
                 return (one.nodes > 1 || one.servers > 0) && !one.setup.is_as_traced;
               });
    if (far.empty()) return "";
    const std::string nics = over(far, at<&PointOutcome::setup, &PointSetup::nics_per_node>);
    const std::string transport = over(far, [](const PointOutcome& one) {
      std::string text(to_text(one.setup.transport));
      std::ranges::transform(text, text.begin(), [](char c) { return std::toupper(c); });
      return text;
    });
    const auto gigabits = [](const PointOutcome& one) { return one.nic.value() * 8e-9; };
    return joined({nics == "1" ? "" : unless_swept("cluster.network.nics_per_node", nics + " x"),
                   unless_swept("cluster.network.bandwidth", over(far, gigabits) + " Gb/s"),
                   marked("cluster.network.transport", transport)},
                  " ");
  }

  // In nodes of several GPUs.
  std::string node_links() {
    auto near = setups_ | std::views::filter([](const PointSetup& one) {
                  return one.gpus_per_node > 1 && !one.is_as_traced;
                });
    return marked("cluster.intra_node.kind",
                  over(near, [](const PointSetup& one) { return to_text(one.intra_node); }));
  }

  // That join the members of such groups, at some points.
  std::string links(training::Group group) {
    using training::Group;
    return joined(
        {group == Group::across_nodes ? "" : node_links(), group == Group::node ? "" : network()},
        " and ");
  }

  // "ddp: 102.2 MB of fp32 gradients a step in 5 calls over nvlink_mesh and 100 Gb/s RDMA"
  std::string gradients() {
    std::map<std::pair<training::Group, std::string_view>, std::vector<Reduced>> all;
    for (const PointOutcome& one : outcomes_) {
      for (const Reduced& reduced : one.reduced())
        all[{reduced.group, reduced.type}].push_back(reduced);
    }
    const auto megabytes = [](const Reduced& one) {
      return static_cast<double>(one.size.value()) * 1e-6;
    };
    Texts texts;
    for (const auto& [kind, reduced] : all) {
      texts.push_back(fmt::format(
          "{} MB of {} in {}", over(reduced, megabytes),
          joined({std::string(kind.second), texts.empty() ? "gradients a step" : ""}, " "),
          joined({over(reduced, &Reduced::calls, " call"), links(kind.first)}, " over ")));
    }
    const std::string strategy = over(setups_, &PointSetup::strategy);
    return joined({unless_swept("training.strategy", strategy), joined(texts, ", ")}, ": ");
  }

  const ScenarioFile& file_;
  const std::vector<PointOutcome>& outcomes_;
  const std::map<std::string, ScenarioFile::Value> values_;
  std::vector<PointSetup> setups_;
  Texts defaults_;
};

}  // namespace

Described described(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes) {
  return Description(file, outcomes).made();
}

}  // namespace paceline
