#include "real/launch/rank_identity.h"

#include <gtest/gtest.h>

#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace rank_identity_test {

using Variables = std::map<std::string, std::string>;

std::string complaint(const Variables& variables) {
  try {
    (void)find_rank_identity(environment_of(variables));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RankIdentity, IsNoneWithoutALauncher) {
  EXPECT_FALSE(find_rank_identity(environment_of({})));
  EXPECT_FALSE(find_rank_identity(environment_of({{"SLURM_NTASKS", "4"}})))
      << "a batch script is no task";
}

TEST(RankIdentity, PrefersTorchrunToOpenMpiToSlurm) {
  Variables all{{"RANK", "1"},
                {"WORLD_SIZE", "2"},
                {"OMPI_COMM_WORLD_RANK", "2"},
                {"OMPI_COMM_WORLD_SIZE", "3"},
                {"SLURM_PROCID", "3"},
                {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(find_rank_identity(environment_of(all))->launcher, "torchrun");
  all.erase("RANK");
  all.erase("WORLD_SIZE");
  EXPECT_EQ(find_rank_identity(environment_of(all))->launcher, "Open MPI");
  all.erase("OMPI_COMM_WORLD_RANK");
  all.erase("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(find_rank_identity(environment_of(all))->launcher, "Slurm");
}

TEST(RankIdentity, TakesSlurmsOlderNameOfTheWorldSize) {
  const auto identity = find_rank_identity(
      environment_of({{"SLURM_PROCID", "5"}, {"SLURM_NPROCS", "8"}, {"SLURM_LOCALID", "1"}}));
  EXPECT_EQ(identity->rank, Rank(5));
  EXPECT_EQ(identity->world_size, RankCount(8));
  EXPECT_EQ(identity->local_rank, 1u);
}

TEST(RankIdentity, ComplaintsNameVariableAndValue) {
  EXPECT_EQ(
      complaint({{"RANK", "5"}, {"WORLD_SIZE", "3"}}),
      "RANK=5 of WORLD_SIZE=3 is no rank: they go from 0 to 2; set RANK anew for every process");
  EXPECT_EQ(complaint({{"RANK", "one"}, {"WORLD_SIZE", "3"}}),
            "RANK=one is not a whole number; launchers count ranks from 0: RANK=0");
  EXPECT_EQ(complaint({{"RANK", "-1"}, {"WORLD_SIZE", "3"}}).substr(0, 7), "RANK=-1");
  EXPECT_EQ(complaint({{"RANK", "1"}}), "RANK=1 is set, WORLD_SIZE is not; set both, or neither");
  EXPECT_EQ(complaint({{"WORLD_SIZE", "4"}}),
            "WORLD_SIZE=4 is set, RANK is not; set both, or neither");
  EXPECT_EQ(complaint({{"RANK", "0"}, {"WORLD_SIZE", "0"}}),
            "WORLD_SIZE=0 leaves no rank; set it to the number of processes");
  EXPECT_EQ(complaint({{"OMPI_COMM_WORLD_RANK", "1"}}).substr(0, 22), "OMPI_COMM_WORLD_RANK=1");
}

}  // namespace rank_identity_test
}  // namespace paceline::real::test
