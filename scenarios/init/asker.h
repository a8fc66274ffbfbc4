#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace paceline::init {

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

}  // namespace paceline::init
