#include "models/words.h"

#include <gtest/gtest.h>

#include <set>

#include "models/cost/library_choice.h"
#include "models/cost/link_fit.h"
#include "models/run/resolved_point.h"
#include "models/topology/cluster.h"
#include "models/workload/workload.h"

namespace paceline {
namespace {

template <class Enum>
class WordsOf : public testing::Test {};
using Enumerations =
    testing::Types<collectives::Collective, topology::IntraNodeKind, topology::Transport,
                   topology::Framing, topology::Placement, topology::Receives, Fidelity,
                   CollectiveMode, cost::Library, cost::LinkPlace, workload::Precision, DataType>;
TYPED_TEST_SUITE(WordsOf, Enumerations);

// Values count from 0, so a table in their order has none twice and leaves none out before its
// last.
TYPED_TEST(WordsOf, StandInTheOrderOfTheValuesAndAreReadAgain) {
  std::set<std::string_view> words;
  for (const auto& [value, word] : words_of(TypeParam{})) {
    EXPECT_EQ(static_cast<std::size_t>(value), words.size());
    EXPECT_EQ(to_text(value), word);
    EXPECT_EQ(from_text<TypeParam>(word), value);
    EXPECT_TRUE(words.insert(word).second) << word << " stands for two";
  }
  EXPECT_FALSE(from_text<TypeParam>("no such word"));
}

}  // namespace
}  // namespace paceline
