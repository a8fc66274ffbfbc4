#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// What is assumed, in words: a sentence with a gap `{}` for the subject and for each value. A kind
// is one constant, beside the code that assumes it, and known by its address.
struct AssumptionKind {
  std::string_view sentence;
  bool is_remark;  // of what was given: every report shows it

  AssumptionKind() = delete;
  constexpr explicit AssumptionKind(std::string_view words, bool remark = false)
      : sentence(words), is_remark(remark) {}
  AssumptionKind(const AssumptionKind&) = delete;
  AssumptionKind& operator=(const AssumptionKind&) = delete;
};

// What a prediction takes for granted: neither given by its inputs nor measured.
class Assumption {
 public:
  // `subject` is what it is about: a part of the cluster, a library, a strategy. Precondition: the
  // kind, which must outlive it, has a gap for each.
  Assumption(const AssumptionKind& kind, std::string subject, std::vector<std::string> values = {});

  [[nodiscard]] const AssumptionKind& kind() const { return *kind_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }
  [[nodiscard]] std::string sentence() const;

  friend bool operator==(const Assumption&, const Assumption&) = default;

 private:
  const AssumptionKind* kind_;
  std::string subject_;
  std::vector<std::string> values_;
};

// Those of one prediction, each once, in the order in which they were made.
class Assumptions {
 public:
  void add(Assumption one);
  void add(const Assumptions& others);

  // Those of the kind about that subject, or of kinds that are not kept.
  void remove(const AssumptionKind& kind, std::string_view subject);
  void remove(const AssumptionKind& kind);
  void keep_only(std::initializer_list<std::reference_wrapper<const AssumptionKind>> kinds);

  [[nodiscard]] bool has(const AssumptionKind& kind) const;
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::vector<std::string> sentences() const;
  [[nodiscard]] std::vector<std::string> remarks() const;  // those of them whose kind is one

 private:
  std::vector<Assumption> all_;
};

}  // namespace paceline
