#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

namespace loader {
struct MeasuredRow;
struct Matched;
}  // namespace loader

// A scenario made by a command instead of a file: values by the paths of a file's keys (without
// `schema`), so that options of commands mean the same and give the same messages.
struct ScenarioValues {
  struct Measured {
    std::string source;
    Seconds step;
  };

  std::map<std::string, std::string> by_path;
  std::map<std::string, std::vector<std::string>> lists =
      {};                                        // likewise, each with an element or more
  std::map<std::string, std::string> yaml = {};  // likewise, sections of shipped files
  std::optional<Measured> measured = std::nullopt;

  // Sets options of a command; an empty one was not given.
  void set_given(std::initializer_list<std::pair<const char*, std::string>> options) {
    for (const auto& [path, text] : options) {
      if (!text.empty()) by_path.insert_or_assign(path, text);
    }
  }
};

// A scenario of a small network without its cluster, for commands that ask about something else: a
// cluster, a collective, another network.
[[nodiscard]] inline ScenarioValues small_values() {
  return {{{"name", "command line"},
           {"workload.model", "resnet50"},
           {"workload.batch_per_gpu", "1"},
           {"workload.device", "a100-sxm4-40gb"},
           {"training.strategy", "ddp"}}};
}

// Its sweep, measured points, and each point's Scenario. Members that read throw InputError.
class ScenarioFile {
 public:
  struct Setting {
    std::string path;
    std::string value;           // YAML; empty: the file is read as if it did not have that
    bool is_of_several = false;  // one of several that are compared, as an axis's values are
    // Not a setting, but a known measured point of the system that all settings describe:
    // "gpus=2,throughput=350 samples/s", with path known_path.
    bool is_known = false;
    std::string by = {};  // the option that says so, "--gpus"; empty: --set

    // "--set gpus=8", as messages name it.
    [[nodiscard]] std::string as_typed() const {
      return by.empty() ? "--set " + path + "=" + value : by + " " + value;
    }
  };
  static constexpr const char* known_path = "known";

  // An axis of the sweep. All its values come from one text; relative paths start at its folder.
  struct Axis {
    std::string path;
    std::vector<AxisValue> values;
    std::string folder;
    std::vector<loader::Field> fields;  // by value, as they stand there
  };

  // A single value of the file, or what is empty in it.
  struct Value {
    std::string text;    // as it is spelled; "\1null", "\1{}" and "\1[]", which no value has
    std::string folder;  // where it starts if it is a relative path
  };

  // The most points of a grid that is held whole, and of one that is read point by point.
  static constexpr std::size_t points_max = 100'000;
  static constexpr std::size_t points_max_one_by_one = 1'000'000'000'000'000;

  // `settings` stand in for values of the file; a setting of `sweep.gpus` or of a path that is an
  // axis replaces that axis. A known point takes the place of the file's; where the grid has none
  // of its gpus, these are added to that axis, which there is then. A grid of more than points_max
  // points is refused, or of `most`.
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings) {
    return read(path, settings, points_max);
  }
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings,
                           std::size_t most);
  // The same for values of a command. Messages call them `name` and give no lines; relative paths
  // start at the working directory; the hash covers the values.
  static ScenarioFile of_values(const std::string& name, const ScenarioValues& values,
                                const std::vector<Setting>& settings);

  // The same of sections that have texts of their own, by the paths of a file's keys ("cluster",
  // "workload.device"), but for `schema`; one of a path below another one's stands in for what that
  // has there. Messages about a section show its text, relative paths start at its folder. Messages
  // about what no section has call the file `name`. The hash is of the values. No sweep, nothing
  // measured, but by settings.
  static ScenarioFile of_sections(const std::string& name,
                                  const std::map<std::string, loader::Field>& sections,
                                  const std::vector<Setting>& settings);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }  // of the first point
  [[nodiscard]] const std::string& text() const { return document_->text; }
  [[nodiscard]] const std::string& sha256() const { return sha256_; }  // of the text
  [[nodiscard]] const std::vector<Setting>& settings() const { return given_settings_; }

  // The grid: the product of the axes in file order, the last one fastest. One point without axes
  // when there is no sweep. A point is found from its number: nothing is held for it.
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t point_count() const { return point_count_; }
  [[nodiscard]] std::vector<std::size_t> indices_of(std::size_t point) const;  // by axis
  [[nodiscard]] std::vector<AxisValue> axes_of(std::size_t point) const;
  [[nodiscard]] Scenario scenario(std::size_t point) const;

  // The number of the grid's point with these values of axes, "gpus=32,training.bucket_cap=25MiB";
  // of an axis that is not among them the last value.
  [[nodiscard]] std::size_t point_named(const std::string& values) const;

  // The settings, and one value of each axis: those of point_named(). Without known points.
  [[nodiscard]] std::vector<Setting> settings_of(const std::string& values) const;

  // Where the file itself gives a value, or a part of one, by path; nullopt: it does not.
  [[nodiscard]] std::optional<Location> place_of(const std::string& path) const;

  // What all points share, by path ("layers.0.forward" in lists): the file and the settings,
  // without its name, its sweep, what was measured, and values of axes.
  [[nodiscard]] std::map<std::string, Value> values() const;

  [[nodiscard]] const std::string& measured_source() const { return measured_source_; }
  [[nodiscard]] const std::string& measured_by() const { return measured_by_; }  // may be empty
  // What the file says; otherwise measured where it has a calibration or a known point (one of
  // several nodes where the grid's last point has several).
  [[nodiscard]] NetworkKnowledge network() const;
  [[nodiscard]] std::optional<MeasuredPoint> measured(std::size_t point) const;
  // The numbers of the grid's points whose measured one is known, ascending.
  [[nodiscard]] std::vector<std::size_t> known_points() const;
  // Measured points that match no point of this grid, because a setting replaced the axis or made
  // it another run, which changed_by() says then: "cluster.network.bandwidth=25Gbps".
  [[nodiscard]] const std::vector<Location>& unmatched() const { return unmatched_; }
  [[nodiscard]] const std::string& changed_by() const { return changed_by_; }

 private:
  ScenarioFile() = default;
  // All but the document, its path and its sections.
  void load(const std::vector<Setting>& settings, std::size_t most);
  void read_sweep();
  void apply(const Setting& setting);
  void leave_out(const Setting& setting);
  void refuse_nodes_beside_gpus() const;
  void add_gpus_of(const loader::Field& known_row);
  [[nodiscard]] loader::Field gpus_as_they_are(const loader::Field& asked) const;
  void make_grid(std::size_t most);
  void read_measured();
  [[nodiscard]] bool are_one_run(std::size_t a, std::size_t b) const;
  [[nodiscard]] loader::Matched matched(const loader::MeasuredRow& row) const;
  void match(const loader::MeasuredRow& row);
  void take_known_rows();
  [[nodiscard]] MeasuredPoint measured_at(std::size_t point, const loader::MeasuredRow& row) const;
  [[nodiscard]] loader::Overrides given() const;
  [[nodiscard]] bool changes_links() const;

  loader::DocumentPtr document_;
  std::string path_, name_, sha256_;
  std::uint64_t seed_ = 1;
  std::vector<Setting> given_settings_;
  loader::Overrides sections_;  // that have texts of their own
  loader::Overrides settings_;
  std::vector<loader::Field> known_rows_;  // of settings
  // The GPUs of measured points that name none, where the axis is a known row's.
  std::optional<AxisValue> gpus_unless_named_;
  std::vector<Axis> axes_;
  std::size_t point_count_ = 1;
  std::string measured_source_, measured_by_;
  std::optional<NetworkKnowledge> network_given_;
  bool has_calibration_ = false;  // the first point
  std::map<std::size_t, MeasuredPoint> measured_;
  std::vector<Location> unmatched_;
  std::string changed_by_;  // the first setting of another run than was measured; empty: none
};

// Without the known points among them.
[[nodiscard]] std::vector<ScenarioFile::Setting> without_known(
    std::vector<ScenarioFile::Setting> settings);

// "path=value" of each.
[[nodiscard]] std::vector<std::string> spelled(const std::vector<ScenarioFile::Setting>& settings);

// "gpus=8 bucket_cap=25MiB": settings by the ends of their paths.
[[nodiscard]] std::string in_words(const std::vector<ScenarioFile::Setting>& settings);

// "path=value, path=value", but for gpus.
[[nodiscard]] std::string in_words(const std::vector<AxisValue>& axes);

[[nodiscard]] std::span<const ShippedFile> shipped_scenarios();

// The one scenario of a command's options. Throws InputError, also where a setting makes a sweep.
[[nodiscard]] Scenario scenario_of_options(const ScenarioValues& values,
                                           const std::vector<ScenarioFile::Setting>& settings);

}  // namespace paceline
