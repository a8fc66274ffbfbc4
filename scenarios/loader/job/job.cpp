#include "scenarios/loader/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/data_files/data_files.h"
#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/job/job_keys.h"
#include "scenarios/loader/sections.h"

namespace paceline {

using loader::Field;
using loader::Overrides;
using loader::Reader;
using loader::Section;

namespace {

void refuse(Reader& section, std::span<const loader::SaidElsewhere> keys) {
  for (const loader::SaidElsewhere& one : keys) {
    if (const auto field = section.find(one.key)) field->fail(one.why, one.hint);
  }
}

// Each element once.
std::vector<Field> elements_of(const Field& list) {
  std::vector<Field> elements = list.list();
  std::set<std::string> known;
  for (const Field& element : elements) {
    if (!known.insert(element.text()).second) {
      element.fail("is twice in the list", "leave one of them out");
    }
  }
  return elements;
}

template <class T>
void read_limit(Section section, std::optional<T>& exactly, std::optional<T>& at_most) {
  exactly = section.find<T>("exactly");
  at_most = section.find<T>("at_most");
  if (exactly && at_most) {
    section.require("at_most").fail("cannot be combined with exactly", "keep one of them");
  }
  section.finish();
}

// Of a list, which its table spells where the file has none.
std::vector<Field> fields_of(Section& file, std::string_view key) {
  if (const auto given = file.field(key)) return elements_of(*given);
  const auto& row = *std::ranges::find(loader::job_file_keys(), key, &settings::Key::name);
  const auto document =
      loader::parse_document("the default", std::get<std::string_view>(row.unless_given));
  return elements_of({document, document->root, std::string(key)});
}

class JobReader {
 public:
  JobReader(const std::string& path, const std::vector<ScenarioFile::Setting>& settings)
      : document_(loader::read_document(path)),
        overrides_(overrides_of(settings, document_)),
        file_(Reader(document_, document_->root, "", overrides_), loader::job_file_keys()) {
    job_.path = path;
    for (const ScenarioFile::Setting& one : settings) {
      const std::size_t dot = one.path.find('.');
      const std::string section = one.path.substr(0, dot);
      if (!one.value.empty() && dot != one.path.npos &&
          (section == "workload" || section == "training")) {
        job_.settings.push_back(one);
      }
    }
  }

  [[nodiscard]] PlannedJob read() {
    if (!document_->root.is_map()) {
      throw InputError({job_.path}, "is not a job", "write schema: paceline.job/1 and its keys");
    }
    file_.map().expect_schema("paceline.job/1");
    job_.name = file_.text("name");
    job_.sections.emplace("name", file_.require("name"));
    job_.text = document_->text;
    read_workload();
    job_.input = loader::read_input(file_.below("input"), workload_.network.get());
    read_training();
    read_amount();
    read_targets();
    job_.probability = file_.get<double>("probability");
    read_batches();
    read_measured();
    read_strategies();
    read_pricings();
    read_catalogues();
    read_overheads();
    file_.finish();
    refuse_layers_of_several_devices();
    if (!prices_.currency().empty()) job_.currency = prices_.currency();
    try_one();
    return std::move(job_);
  }

 private:
  // Those without a value take theirs out of the document.
  static Overrides overrides_of(const std::vector<ScenarioFile::Setting>& settings,
                                loader::DocumentPtr& document) {
    Overrides overrides;
    for (const ScenarioFile::Setting& one : settings) {
      if (one.value.empty()) {
        (void)loader::take_out(document, one);
        continue;
      }
      Field field = loader::setting_field(one);
      loader::check_path(field.location(), one.path);
      overrides.insert_or_assign(one.path, std::move(field));
    }
    return overrides;
  }

  void read_workload() {
    job_.sections.emplace("workload", file_.require("workload"));
    Reader map = file_.map().map("workload");
    refuse(map, loader::workload_elsewhere);
    Section section(std::move(map), loader::workload_keys());
    layers_ = section.field("layers");
    workload_.precision = precisions_of(section).compute;
    job_.network = layers_ ? "layers" : "";
    if (layers_) {
      if (!section.field("layers_batch")) {
        throw InputError(section.location(), "workload.layers_batch is missing",
                         "write the batch of a pass that takes the times of layers");
      }
      return;
    }
    workload_.network = network_of(section);
    job_.network = workload_.network->name;
  }

  void read_training() {
    if (const auto training = file_.field("training")) job_.sections.emplace("training", *training);
    if (!file_.map().has("training")) return;
    Reader map = file_.map().map("training");
    refuse(map, loader::training_elsewhere);
    // What one strategy's keys need is seen where that is chosen.
    (void)Section(std::move(map), loader::training_keys());
  }

  void read_amount() {
    Section amount = file_.below("amount");
    const std::uint64_t sequence = workload_.network ? workload_.network->sequence : 0;
    constexpr std::array<const char*, 3> forms{"epochs", "samples", "tokens"};
    std::optional<Field> given;
    for (const char* form : forms) {
      const auto field = amount.field(form);
      if (field && given) field->fail("stands beside another amount", "keep one of them");
      if (field) given = field;
    }
    constexpr const char* hint =
        "write epochs: 90 with samples_per_epoch: 1281167, samples: 1.2e8, or tokens: 3e11";
    if (!given) throw InputError(amount.location(), "amount is of nothing", hint);
    if (amount.is_given("epochs")) {
      const Field each = amount.require("samples_per_epoch");
      job_.samples = amount.get<double>("epochs") * amount.get<double>("samples_per_epoch");
      job_.amount = fmt::format("{} epochs of {} samples", given->text(), each.text());
    } else if (amount.is_given("samples")) {
      job_.samples = *amount.find<double>("samples");
      job_.amount = fmt::format("{} samples", given->text());
    } else {
      if (sequence == 0) {
        given->fail("is of sequences, and the workload has none",
                    "write samples, or epochs with samples_per_epoch");
      }
      job_.samples = *amount.find<double>("tokens") / static_cast<double>(sequence);
      job_.amount = fmt::format("{} tokens ({} per sample)", given->text(), sequence);
    }
    // How long samples are decides as much as how many there are.
    if (sequence > 0 && !amount.is_given("tokens"))
      job_.amount += fmt::format(" of {} tokens", sequence);
    amount.finish();
  }

  void read_targets() {
    Section target = file_.below("target");
    job_.targets.deadline = target.find<Seconds>("deadline");
    if (const auto field = target.field("throughput")) {
      job_.targets.throughput = throughput_of(*field, workload_.network.get());
    }
    if (const auto field = target.field("budget")) job_.targets.budget = prices_.amount(*field);
    target.finish();
    if (job_.targets.deadline || job_.targets.throughput || job_.targets.budget) return;
    throw InputError(target.location(), "target names none",
                     "write deadline: 6h, throughput: 20000 samples/s or budget: 500 USD");
  }

  void read_batches() {
    Batches& batches = job_.batches;
    read_limit(file_.below("global_batch"), batches.global_exactly, batches.global_at_most);
    read_limit(file_.below("batch_per_gpu"), batches.per_gpu_exactly, batches.per_gpu_at_most);
    Section accumulation = file_.below("gradient_accumulation");
    batches.accumulation_at_most = accumulation.get<std::uint32_t>("at_most");
    accumulation.finish();
    if (batches.global_exactly && batches.per_gpu_exactly) {
      file_.below("batch_per_gpu")
          .require("exactly")
          .fail(
              "cannot be combined with global_batch.exactly, which allows one number of GPUs and "
              "passes",
              "write at_most for one of them");
    }
    if (batches.global_exactly || batches.global_at_most || batches.per_gpu_exactly ||
        batches.per_gpu_at_most) {
      return;
    }
    throw InputError(file_.location(), "global_batch and batch_per_gpu are missing",
                     "say what training tolerates: global_batch: {at_most: 8192}");
  }

  void read_measured() {
    const auto list = file_.field("measured_on");
    if (!list) return;
    // Scenarios have this section under `workload`.
    job_.sections.emplace("workload.measured_on",
                          Field(list->document(), list->node(), "workload.measured_on"));
    std::set<std::tuple<std::string, std::uint32_t, std::optional<workload::Precision>>> known;
    for (const Field& entry : list->list()) {
      Section row(Reader(entry), loader::measured_on_keys());
      const Field device = row.require("device");
      (void)loader::load_device(device);
      const std::string name = loader::device_named_by(device);
      const auto batch = row.get<std::uint32_t>("batch");
      (void)throughput_of(row.require("throughput"), workload_.network.get());
      std::optional<workload::Precision> precision;
      if (const auto said = row.field("precision")) precision = said->word<workload::Precision>();
      row.finish();
      if (!known.emplace(name, batch, precision).second) {
        row.require("batch").fail("is twice of its device", "leave one of them out");
      }
      if (precision.value_or(workload_.precision) == workload_.precision) {
        job_.measured.emplace(name, batch);
      }
    }
  }

  void read_strategies() {
    const auto names = loader::strategies_of_jobs();
    const auto caps = fields_of(file_, "bucket_caps");
    for (const Field& cap : caps) (void)cap.bytes();
    for (const Field& field : fields_of(file_, "strategies")) {
      const std::string name(names[field.word(names)]);
      const auto keys = training::find_strategy(name)->keys;
      if (std::ranges::find(keys, "bucket_cap", &settings::Key::name) == keys.end()) {
        job_.strategies.push_back({name, ""});
        continue;
      }
      for (const Field& cap : caps) job_.strategies.push_back({name, cap.text()});
    }
  }

  void read_pricings() {
    constexpr std::string_view both = "both";
    const auto word = file_.get<std::string_view>("pricing");
    if (word == "reserved") job_.pricings.push_back(Pricing::reserved);
    if (word == "on_demand" || word == both) job_.pricings.push_back(Pricing::on_demand);
    if (word == "spot" || word == both) job_.pricings.push_back(Pricing::spot);
  }

  void read_catalogues() {
    const auto given = file_.field("catalogue");
    auto catalogues = given ? elements_of(*given) : std::vector<Field>();
    for (const ShippedFile& one : shipped_catalogues()) {
      if (given) break;
      catalogues.emplace_back(document_, loader::Node(std::string(one.name)), "catalogue");
    }
    std::set<std::string> names;
    std::vector<Machine> all;
    for (const Field& field : catalogues) {
      auto catalogue = loader::load_catalogue(field, prices_);
      if (!names.insert(catalogue.name).second) {
        field.fail(fmt::format("is named {}, as another one is", catalogue.name),
                   "give each its own name");
      }
      std::ranges::move(catalogue.machines, std::back_inserter(all));
    }
    Section limits = file_.below("limits");
    read_nodes(limits);
    job_.gpus_at_most = limits.find<std::uint32_t>("gpus");
    auto kept = loader::within_limits(std::move(all), limits);
    job_.machines = std::move(kept.machines);
    for (std::size_t i = 0; i < job_.machines.size(); ++i) {
      std::size_t& first = job_.machines[i].hardware;
      while (!loader::has_same_hardware(job_.machines[first], job_.machines[i])) ++first;
    }
    job_.machines_elsewhere = kept.elsewhere;
    limits.finish();
    const bool has_price = std::ranges::any_of(job_.machines, [&](const Machine& machine) {
      return std::ranges::any_of(job_.pricings, [&](Pricing pricing) {
        return machine.is_owned || machine.price_of(pricing);
      });
    });
    if (has_price) return;
    throw InputError(file_.location(), "no machine has a price of this pricing",
                     "write pricing: both");
  }

  void read_nodes(Section& limits) {
    std::optional<std::uint32_t> at_most;
    const auto alone = limits.field("nodes");
    if (alone && !alone->node().is_map()) {
      at_most = static_cast<std::uint32_t>(alone->count(1, 1'000'000));
    } else {
      Section nodes(limits.map().map("nodes"), loader::nodes_keys());
      read_limit(std::move(nodes), job_.nodes_exactly, at_most);
    }
    if (at_most) job_.nodes_at_most = *at_most;
  }

  void read_overheads() {
    Section overheads = file_.below("overheads");
    job_.overheads.start = overheads.find<Seconds>("start");
    if (job_.targets.deadline &&
        *job_.targets.deadline <= job_.overheads.start.value_or(Seconds(0))) {
      file_.below("target")
          .require("deadline")
          .fail("is over before the first step", "allow more than overheads.start");
    }
    job_.overheads.mtbf_per_node = overheads.find<Seconds>("mtbf_per_node");
    if (overheads.field("checkpoint")) {
      Section checkpoint = overheads.below("checkpoint");
      job_.overheads.checkpoint = {.every = checkpoint.find<Seconds>("every"),
                                   .takes = checkpoint.get<Seconds>("takes")};
      checkpoint.finish();
    }
    overheads.finish();
  }

  // Times that are given are those of one device.
  void refuse_layers_of_several_devices() {
    if (!layers_) return;
    std::set<std::string> devices;
    for (const Machine& machine : job_.machines) devices.insert(machine.device);
    if (devices.size() == 1) return;
    layers_->fail(fmt::format("were timed on one device, and machines have {}", devices.size()),
                  fmt::format("write limits: {{devices: [{}]}}", *devices.begin()));
  }

  // What of the workload and of training only a scenario's loader sees: with the first machine.
  // What is wrong with that one alone is said where it is asked for.
  void try_one() const {
    const Machine& machine = job_.machines.front();
    const Batches& batches = job_.batches;
    const auto measured = job_.measured_batches(machine);
    const std::uint32_t batch =
        batches.per_gpu_exactly.value_or(measured.empty() ? 1 : measured.front());
    const PlannedJob::Strategy& strategy = job_.strategies.front();
    std::vector<ScenarioFile::Setting> settings{{"training.strategy", strategy.name},
                                                {"workload.batch_per_gpu", std::to_string(batch)}};
    if (!strategy.bucket_cap.empty()) {
      settings.push_back({"training.bucket_cap", strategy.bucket_cap});
    }
    try {
      (void)job_.scenario(machine, 1, settings);
    } catch (const StrategyRefusal&) {
    } catch (const InputError& error) {
      if (error.where().file != machine.where.file) throw;
    }
  }

  loader::DocumentPtr document_;
  Overrides overrides_;
  Section file_;
  PlannedJob job_;
  Scenario workload_;  // of it the network, if it is a model, and the precision
  std::optional<Field> layers_;
  loader::Prices prices_;
};

// A value of no text, for messages that show a file.
Field value_in(const Field& file, const char* path, const std::string& text) {
  return {file.document(), loader::Node(text), path};
}

}  // namespace

std::vector<std::uint32_t> PlannedJob::measured_batches(const Machine& machine) const {
  std::vector<std::uint32_t> found;
  for (const auto& [device, batch] : measured) {
    if (device == machine.device) found.push_back(batch);
  }
  return found;
}

ScenarioFile PlannedJob::scenario(const Machine& machine, std::uint32_t nodes,
                                  const std::vector<ScenarioFile::Setting>& more) const {
  const std::uint64_t gpus = std::uint64_t{nodes} * machine.gpus_per_node;
  std::map<std::string, Field> all = sections;
  Field& workload = all.at("workload");
  if (workload.node()["layers"]) {  // were timed on this device: both say so together
    std::vector<loader::Node::Entry> entries = workload.node().entries();
    entries.emplace_back(loader::Node("device"), machine.device_field->node());
    workload = Field(workload.document(), loader::Node(std::move(entries), workload.node().place()),
                     workload.path());
  } else {
    all.emplace("workload.device", *machine.device_field);
  }
  all.insert(
      {{"cluster", *machine.cluster},
       {"gpus", value_in(*machine.cluster, "gpus", std::to_string(gpus))},
       {"simulation.fidelity", value_in(sections.at("name"), "simulation.fidelity", "folded")}});
  std::vector<ScenarioFile::Setting> given = settings;
  given.insert(given.end(), more.begin(), more.end());
  return ScenarioFile::of_sections(path, all, given);
}

PlannedJob load_job(const std::string& path, const std::vector<ScenarioFile::Setting>& settings) {
  return JobReader(path, settings).read();
}

}  // namespace paceline
