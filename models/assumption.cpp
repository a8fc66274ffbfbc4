#include "models/assumption.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"

namespace paceline {
namespace {

constexpr std::string_view gap = "{}";

std::size_t gaps_of(std::string_view sentence) {
  std::size_t count = 0;
  for (auto at = sentence.find(gap); at != std::string_view::npos;
       at = sentence.find(gap, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

Assumption::Assumption(const AssumptionKind& kind, std::string subject,
                       std::vector<std::string> values)
    : kind_(&kind), subject_(std::move(subject)), values_(std::move(values)) {
  PACELINE_EXPECTS(gaps_of(kind.sentence) == 1 + values_.size());
}

std::string Assumption::sentence() const {
  std::string text;
  std::string_view left = kind_->sentence;
  const auto fill = [&](const std::string& value) {
    const auto at = left.find(gap);
    text.append(left, 0, at).append(value);
    left.remove_prefix(at + gap.size());
  };
  fill(subject_);
  for (const std::string& value : values_) fill(value);
  return text.append(left);
}

void Assumptions::add(Assumption one) {
  if (std::ranges::find(all_, one) == all_.end()) all_.push_back(std::move(one));
}

void Assumptions::add(const Assumptions& others) {
  for (const Assumption& one : others.all_) add(one);
}

void Assumptions::remove(const AssumptionKind& kind, std::string_view subject) {
  std::erase_if(all_, [&](const Assumption& one) {
    return &one.kind() == &kind && one.subject() == subject;
  });
}

void Assumptions::remove(const AssumptionKind& kind) {
  std::erase_if(all_, [&](const Assumption& one) { return &one.kind() == &kind; });
}

void Assumptions::keep_only(
    std::initializer_list<std::reference_wrapper<const AssumptionKind>> kinds) {
  std::erase_if(all_, [&](const Assumption& one) {
    return std::ranges::none_of(kinds,
                                [&](const AssumptionKind& kind) { return &one.kind() == &kind; });
  });
}

bool Assumptions::has(const AssumptionKind& kind) const {
  return std::ranges::any_of(all_, [&](const Assumption& one) { return &one.kind() == &kind; });
}

std::vector<std::string> Assumptions::sentences() const {
  std::vector<std::string> texts;
  for (const Assumption& one : all_) texts.push_back(one.sentence());
  return texts;
}

std::vector<std::string> Assumptions::remarks() const {
  std::vector<std::string> texts;
  for (const Assumption& one : all_) {
    if (one.kind().is_remark) texts.push_back(one.sentence());
  }
  return texts;
}

}  // namespace paceline
