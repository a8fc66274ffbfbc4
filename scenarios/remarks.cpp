#include "scenarios/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "models/text/number.h"
#include "scenarios/text_form.h"

namespace paceline {
namespace {

// "7 assumptions and 1 more remark"; empty where there are none.
std::string counted_all(std::size_t assumptions, std::size_t remarks) {
  if (remarks == 0) return assumptions == 0 ? "" : counted(assumptions, "assumption");
  const std::string more = counted(remarks, "more remark");
  return assumptions == 0 ? more : counted(assumptions, "assumption") + " and " + more;
}

// Which are written: the heaviest, of equal ones the first.
std::vector<bool> chosen(const std::vector<Remark>& remarks) {
  std::vector<std::size_t> order(remarks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return remarks[i].weight; });
  std::vector<bool> are_chosen(remarks.size());
  for (std::size_t i = 0; i < std::min(remarks_most, order.size()); ++i) {
    are_chosen[order[i]] = true;
  }
  return are_chosen;
}

}  // namespace

void Remarks::add(int weight, std::string text) {
  if (!text.empty()) remarks_.push_back({weight, std::move(text)});
}

void Remarks::assume(const std::vector<std::string>& sentences) {
  for (const std::string& one : sentences) {
    const bool is_there = std::ranges::find(assumptions_, one) != assumptions_.end();
    if (!one.empty() && !is_there) assumptions_.push_back(one);
  }
}

void Remarks::add_detail(std::string text) { details_.push_back(std::move(text)); }

void Remarks::conclude(std::string text) { conclusion_ = std::move(text); }

void Remarks::write(std::ostream& out) const {
  const TextForm form = text_form(out);
  const std::vector<bool> are_chosen = chosen(remarks_);
  std::vector<std::string> left;
  if (!remarks_.empty()) out << '\n';
  for (std::size_t i = 0; i < remarks_.size(); ++i) {
    if (are_chosen[i] || (form.lists_assumptions && !form.is_markdown)) {
      write_line(out, remarks_[i].text);
    } else {
      left.push_back(remarks_[i].text);
    }
  }
  const bool lists_all = form.is_markdown || form.lists_assumptions;
  if (lists_all && !conclusion_.empty()) {
    out << '\n';
    write_line(out, conclusion_);
  }
  if (form.is_markdown) {
    left.insert(left.end(), details_.begin(), details_.end());
    left.insert(left.end(), assumptions_.begin(), assumptions_.end());
    write_block(out, assumptions_.empty() ? "Details" : counted_all(assumptions_.size(), 0), left);
  } else if (form.lists_assumptions) {
    if (!details_.empty()) out << '\n';
    for (const std::string& one : details_) write_line(out, one);
    write_block(out, "assumed", assumptions_);
  } else {
    std::string line = conclusion_;
    if (const auto count = counted_all(assumptions_.size(), left.size()); !count.empty()) {
      const bool is_one = assumptions_.size() + left.size() == 1;
      if (!line.empty()) line += "; ";
      line += fmt::format("{}: --assumptions lists {}", count, is_one ? "it" : "them");
    }
    if (line.empty()) return;
    out << '\n';
    write_line(out, line);
  }
}

}  // namespace paceline
