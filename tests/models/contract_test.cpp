#include "models/contract.h"

#include <gtest/gtest.h>

#include "models/units/data_type.h"

namespace paceline {
namespace {

TEST(Contracts, EndTheProgramWithWhatWasBrokenAndWhere) {
  const auto expect_three = [](int value) { PACELINE_EXPECTS(value == 3); };
  expect_three(3);
  EXPECT_DEATH(expect_three(4), R"(contract_test\.cpp:[0-9]+: contract broken: value == 3)");
}

TEST(Contracts, EndTheProgramWhereNoValueLeads) {
  EXPECT_DEATH((void)element_size(DataType{99}),
               R"(data_type\.h:[0-9]+: contract broken: a data type outside the enumeration)");
}

}  // namespace
}  // namespace paceline
