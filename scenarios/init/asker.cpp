#include "scenarios/init/asker.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <istream>
#include <ostream>

#include "scenarios/document/reader.h"

namespace paceline::init {
namespace {

std::string trimmed(const std::string& line) {
  constexpr const char* blanks = " \t\r";
  const auto first = line.find_first_not_of(blanks);
  if (first == line.npos) return "";
  return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
}

std::optional<std::string> fault_of(const Question& question, const std::string& answer) {
  if (question.choices.empty()) return question.fault ? question.fault(answer) : std::nullopt;
  if (std::ranges::find(question.choices, answer) != question.choices.end()) return std::nullopt;
  const auto close = loader::nearest(answer, question.choices);
  return fmt::format("\"{:.60}\" is none of the choices{}", answer,
                     close ? fmt::format("; did you mean {}?", *close) : "");
}

}  // namespace

Asker::Answer Asker::ask(const Question& question) {
  while (in_ != nullptr) {
    if (!question.choices.empty()) {
      fmt::print(*out_, "choices: {}\n", fmt::join(question.choices, ", "));
    }
    fmt::print(*out_, "{} [{}] ", question.text, question.unless_answered);
    out_->flush();
    std::string line;
    if (!std::getline(*in_, line)) {
      *out_ << "\nthe input ended: defaults from here on\n";
      in_ = nullptr;
      break;
    }
    const std::string answer = trimmed(line);
    if (answer.empty()) break;
    const auto fault = fault_of(question, answer);
    if (!fault) return {answer, false};
    fmt::print(*out_, "{}\n", *fault);
  }
  return {question.unless_answered, true};
}

}  // namespace paceline::init
