#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::init {

// What the user says about the scenario, spelled as its keys take it; empty: nothing.
struct Wishes {
  std::string model = {}, sequence = {}, precision = {}, batch = {}, device = {}, preset = {},
              gpus = {}, gpus_per_node = {}, network = {}, transport = {}, strategy = {};
};

// What a trace or this machine shows; empty: not found.
struct Facts {
  std::string found_in = {};             // "the trace", "this machine"
  std::vector<std::string> traces = {};  // paths, from the folder of the scenario
  std::string batch = {}, device = {}, strategy = {};
  std::optional<std::uint32_t> gpus = {}, gpus_per_node = {};
  bool is_alone = false;                // ranks are to run on this machine
  std::string backend = {};             // to measure with
  std::vector<std::string> notes = {};  // sentences
};

// Reads a traced run: its batch, device, ranks and nodes, as far as it says them, and the strategy
// that can use it. Paths are relative to `folder`, that of the scenario. Throws InputError.
[[nodiscard]] Facts facts_of_traces(const std::vector<std::string>& paths,
                                    const std::string& folder);

// Takes a machine and its driver's names for GPUs. Without GPUs, the CPUs run the ranks.
[[nodiscard]] Facts facts_of_machine(const doctor::Examination& machine,
                                     const std::vector<std::string>& gpu_names);

struct Question {
  std::string text;                  // "Which network?"
  std::vector<std::string> choices;  // empty: any answer
  std::string unless_answered;       // the default
  // Why an answer is none, with a hint; nullopt: it is one. Not asked for choices.
  std::function<std::optional<std::string>(const std::string&)> fault = nullptr;
};

// Asks people. Without anybody to ask, or when the input ends, defaults are the answers.
class Asker {
 public:
  Asker() = default;  // asks nobody
  Asker(std::istream& in, std::ostream& out) : in_(&in), out_(&out) {}

  struct Answer {
    std::string text;
    bool is_default = true;
  };

  // An answer that is none is said, and asked for again.
  Answer ask(const Question& question);

 private:
  std::istream* in_ = nullptr;
  std::ostream* out_ = nullptr;
};

enum class Origin { given, answered, assumed, found };

struct Entry {
  std::string path, value;  // as a file spells it, YAML where it is no single value
  Origin origin = Origin::given;
  std::string from;  // of what is found, in words; of what is assumed why, may be empty
};

struct Draft {
  std::string name;
  std::vector<Entry> entries;      // in the order of a file, each once, sections together
  std::vector<std::string> notes;  // sentences
  std::string measure_first;       // a sentence
  std::string largest;             // number of GPUs
  bool measures = false;           // ranks can be run on this machine

  [[nodiscard]] const Entry* find(const std::string& path) const;
};

// Asks for what neither wishes nor facts say. Throws InputError where the result is no valid
// scenario. `folder` is the one that the file will be in; its paths are relative to it.
[[nodiscard]] Draft make_draft(const Wishes& wishes, const Facts& facts, Asker& asker,
                               const std::string& folder);

[[nodiscard]] std::string in_one_line(const Entry& entry);  // its value and why

// The draft as a file: above each key what it means, by the tables of keys; behind its value where
// that comes from; first what was assumed, what to measure first and what to type next. `path` is
// how commands name the file.
[[nodiscard]] std::string scenario_text(const Draft& draft, const std::string& path);

}  // namespace paceline::init
