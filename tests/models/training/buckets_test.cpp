#include "models/training/buckets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "tests/models/training/resnet.h"

namespace paceline::training {
namespace {

using workload::ParameterTensor;

constexpr Bytes mebibytes(std::uint64_t count) { return Bytes(count << 20); }

ParameterTensor tensor(std::uint64_t count, DataType type = DataType::float32,
                       std::uint32_t device = 0) {
  return {"t", ElementCount(count), type, device};
}

using Buckets = std::vector<Bucket>;

std::vector<std::uint64_t> bytes_of(const std::vector<ParameterTensor>& tensors,
                                    const Buckets& buckets) {
  std::vector<std::uint64_t> bytes;
  for (const Bucket& bucket : buckets) bytes.push_back(bucket_size(tensors, bucket).value());
  return bytes;
}

TEST(ResNet, HasTheTensorsOfTorchvision) {
  const auto sum = [](const std::vector<ParameterTensor>& tensors) {
    std::uint64_t total = 0;
    for (const auto& t : tensors) total += t.count.value();
    return total;
  };
  EXPECT_EQ(ResNet::resnet18().size(), 62U);
  EXPECT_EQ(sum(ResNet::resnet18()), 11689512U);
  EXPECT_EQ(ResNet::resnet50().size(), 161U);
  EXPECT_EQ(sum(ResNet::resnet50()), 25557032U);
}

// The all-reduce sizes of a real run, pytorch issue #48880: the imagenet example with ResNet-18 on
// 4 GPUs with NCCL.
TEST(DdpBuckets, AreThoseOfARealRunOfResNet18) {
  const auto tensors = ResNet::resnet18();
  DdpSettings settings;
  settings.bucket_cap = mebibytes(25);
  EXPECT_EQ(bytes_of(tensors, ddp_buckets(tensors, settings)),
            (std::vector<std::uint64_t>{2052000, 28852224, 15853824}));
  settings.bucket_cap = mebibytes(35);
  EXPECT_EQ(bytes_of(tensors, ddp_buckets(tensors, settings)),
            (std::vector<std::uint64_t>{2052000, 38297600, 6408448}));
}

// By the same rule on ResNet-50: 25 MiB are 6,553,600 elements. fc (2,048,000 + 1,000) passes 1 MiB
// (262,144 elements) at its weight and is the first bucket. Then, from the back: layer4.2 is
// 4,462,592 elements, and of layer4.1 (2,048 + 2,048 + 1,048,576 + 512 + 512 + 2,359,296 =
// 3,412,992 up to conv2) the 3x3 convolution is what passes 6,553,600: 7,875,584. The others
// likewise.
TEST(DdpBuckets, FollowTheSameRuleForResNet50) {
  const auto tensors = ResNet::resnet50();
  std::vector<std::uint64_t> counts;
  for (const Bucket& bucket : ddp_buckets(tensors, {})) {
    counts.push_back(bucket_count(tensors, bucket).value());
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{2049000, 7875584, 6563840, 6637568, 2431040}));
}

// A bucket closes when it has reached its limit, not before it would pass it: 60 + 60 >= 100 bytes,
// and 60 + 40 >= 100.
TEST(AssignBuckets, ExceedALimitByUpToOneTensor) {
  const std::vector tensors{tensor(15), tensor(15), tensor(15), tensor(10), tensor(1)};
  EXPECT_EQ(assign_buckets(tensors, std::vector{Bytes(100)}), (Buckets{{0, 1}, {2, 3}, {4}}));
}

// A tensor above the limit closes the bucket it joins, together with what was in it.
TEST(AssignBuckets, NeverSplitATensor) {
  const std::vector tensors{tensor(1), tensor(1000), tensor(1)};
  EXPECT_EQ(assign_buckets(tensors, std::vector{Bytes(100)}), (Buckets{{0, 1}, {2}}));
}

// 5 * 4 = 20 B reach the limit of 20; then 40 each, the last limit again and again.
TEST(AssignBuckets, TakeTheLimitsInTurnAndRepeatTheLast) {
  const std::vector<ParameterTensor> tensors(25, tensor(1));
  const auto buckets = assign_buckets(tensors, std::vector{Bytes(20), Bytes(40)});
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : buckets) sizes.push_back(bucket.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{5, 10, 10}));
}

// Per key: 8 B of float32 on device 0 at tensor 2; 4 B of float16 never reach the limit; device 1
// has its own bucket. Open buckets follow the closed one by their first tensor.
TEST(AssignBuckets, KeepTypesAndDevicesApart) {
  const std::vector tensors{tensor(1), tensor(1, DataType::float16), tensor(1),
                            tensor(1, DataType::float32, 1), tensor(1, DataType::float16)};
  EXPECT_EQ(assign_buckets(tensors, std::vector{Bytes(8)}), (Buckets{{0, 2}, {1, 4}, {3}}));
}

// Each key walks through the limits on its own: float32 is at its second limit when float16 still
// has its first.
TEST(AssignBuckets, GiveEachKeyItsOwnFirstLimit) {
  const std::vector tensors{tensor(2), tensor(2), tensor(2, DataType::float16),
                            tensor(2, DataType::float16), tensor(2)};
  EXPECT_EQ(assign_buckets(tensors, std::vector{Bytes(8), Bytes(16)}),
            (Buckets{{0}, {2, 3}, {1, 4}}));
}

TEST(AssignBuckets, OfNoTensorsAreNone) {
  EXPECT_EQ(assign_buckets({}, std::vector{Bytes(8)}), Buckets{});
  EXPECT_EQ(ddp_buckets({}, {}), Buckets{});
}

TEST(DdpSettings, FirstBucketIsOneMebibyteUntilTorch25TakesACapThatWasSet) {
  DdpSettings settings;
  settings.bucket_cap = mebibytes(50);
  const auto limit = [&](std::uint32_t major, std::uint32_t minor, bool was_set) {
    settings.torch_major = major;
    settings.torch_minor = minor;
    settings.bucket_cap_was_set = was_set;
    return settings.first_bucket_limit();
  };
  EXPECT_EQ(limit(1, 13, true), mebibytes(1));
  EXPECT_EQ(limit(2, 4, true), mebibytes(1));
  EXPECT_EQ(limit(2, 5, true), mebibytes(50));
  EXPECT_EQ(limit(2, 10, true), mebibytes(50));
  EXPECT_EQ(limit(3, 0, true), mebibytes(50));
  EXPECT_EQ(limit(2, 5, false), mebibytes(1));
  settings.first_bucket = mebibytes(3);
  EXPECT_EQ(limit(2, 1, true), mebibytes(3));
  EXPECT_EQ(limit(2, 5, true), mebibytes(3));
}

// 1,000 elements are 4,000 B.
TEST(DdpBuckets, StartWithTheFirstBucketLimit) {
  const std::vector tensors{tensor(1000), tensor(1000), tensor(1000), tensor(1000)};
  DdpSettings settings;
  settings.bucket_cap = Bytes(8000);
  settings.first_bucket = Bytes(4000);
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{3}, {2, 1}, {0}}));
  settings.first_bucket.reset();  // 1 MiB: one bucket, never full
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{3, 2, 1, 0}}));
  settings.torch_minor = 5;
  settings.bucket_cap_was_set = true;
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{3, 2}, {1, 0}}));
}

TEST(DdpBuckets, OfTheFirstIterationAreOneATypeAndDevice) {
  const auto resnet = ResNet::resnet18();
  DdpSettings settings;
  settings.first_iteration = true;
  EXPECT_EQ(bytes_of(resnet, ddp_buckets(resnet, settings)),
            (std::vector<std::uint64_t>{46758048}));  // 11,689,512 * 4

  // Assigned in registration order, sorted by smallest index, and the list reversed.
  const std::vector tensors{tensor(1), tensor(1, DataType::float16), tensor(1),
                            tensor(1, DataType::float32, 1), tensor(1, DataType::float16)};
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{3}, {1, 4}, {0, 2}}));
}

// Limits 40 B and 80 B over the definition order: {0}, {1, 2}, {3, 4}, {5}; then reversed, so that
// the small first bucket is launched last.
TEST(DdpBuckets, WithUnusedParametersFollowTheDefinitionAndAreReversed) {
  const std::vector<ParameterTensor> tensors(6, tensor(10));
  DdpSettings settings;
  settings.first_bucket = Bytes(40);
  settings.bucket_cap = Bytes(80);
  settings.find_unused_parameters = true;
  const Buckets reversed{{5}, {3, 4}, {1, 2}, {0}};
  EXPECT_EQ(ddp_buckets(tensors, settings), reversed);
  settings.first_iteration = true;  // never rebuilt: the same in every iteration
  EXPECT_EQ(ddp_buckets(tensors, settings), reversed);
  settings.first_iteration = false;
  settings.static_graph = true;  // rebuilt as if nothing were unused
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{5}, {4, 3}, {2, 1}, {0}}));
}

// The bucket {1, 2} of float16 is closed before {0, 3}, but PyTorch sorts by smallest index first.
TEST(DdpBuckets, WithUnusedParametersAreSortedBySmallestIndexBeforeTheyAreReversed) {
  const std::vector tensors{tensor(1), tensor(10, DataType::float16), tensor(10, DataType::float16),
                            tensor(1)};
  DdpSettings settings;
  settings.first_bucket = Bytes(40);
  settings.find_unused_parameters = true;
  EXPECT_EQ(ddp_buckets(tensors, settings), (Buckets{{1, 2}, {0, 3}}));
}

struct RandomList {
  std::vector<ParameterTensor> tensors;
  std::vector<Bytes> limits;
};

// Sizes over all magnitudes up to 3 million elements.
RandomList random_list(std::mt19937_64& random, std::uint32_t devices) {
  RandomList list;
  const std::size_t length = 1 + random() % 60;
  std::uniform_real_distribution<double> exponent(0, std::log10(3e6));
  for (std::size_t i = 0; i < length; ++i) {
    const auto count = static_cast<std::uint64_t>(std::pow(10.0, exponent(random)));
    list.tensors.push_back(tensor(count, random() % 3 == 0 ? DataType::float16 : DataType::float32,
                                  static_cast<std::uint32_t>(random() % devices)));
  }
  const std::array<Bytes, 5> caps{Bytes(1000), Bytes(300000), mebibytes(1), mebibytes(5),
                                  mebibytes(25)};
  for (std::size_t i = 0; i <= random() % 3; ++i) list.limits.push_back(caps[random() % 5]);
  return list;
}

TEST(AssignBuckets, PutEveryTensorInExactlyOneBucketOfItsTypeAndDevice) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    const auto [tensors, limits] = random_list(random, 3);
    std::vector<int> times(tensors.size());
    for (const Bucket& bucket : assign_buckets(tensors, limits)) {
      ASSERT_FALSE(bucket.empty());
      ASSERT_TRUE(std::is_sorted(bucket.begin(), bucket.end()));
      for (const std::size_t t : bucket) {
        ASSERT_LT(t, tensors.size());
        ++times[t];
        ASSERT_EQ(tensors[t].type, tensors[bucket.front()].type);
        ASSERT_EQ(tensors[t].device, tensors[bucket.front()].device);
      }
    }
    ASSERT_EQ(times, std::vector<int>(tensors.size(), 1));
  }
}

TEST(AssignBuckets, AreBelowTheLimitWithoutTheirLastTensor) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 2000; ++i) {
    auto [tensors, limits] = random_list(random, 2);
    limits.resize(1);
    std::size_t open = 0;
    for (const Bucket& bucket : assign_buckets(tensors, limits)) {
      const Bucket but_last(bucket.begin(), bucket.end() - 1);
      ASSERT_LT(bucket_size(tensors, but_last), limits[0]);
      if (bucket_size(tensors, bucket) < limits[0]) ++open;
    }
    ASSERT_LE(open, 4U);  // one a key: two types on two devices
  }
}

TEST(DdpBuckets, PutEveryTensorInExactlyOneBucketHoweverDdpIsCalled) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 500; ++i) {
    const auto list = random_list(random, 2);
    DdpSettings settings;
    settings.bucket_cap = list.limits.back();
    settings.find_unused_parameters = random() % 2 == 0;
    settings.static_graph = random() % 2 == 0;
    settings.first_iteration = random() % 2 == 0;
    std::vector<int> times(list.tensors.size());
    for (const Bucket& bucket : ddp_buckets(list.tensors, settings)) {
      for (const std::size_t t : bucket) ++times.at(t);
    }
    ASSERT_EQ(times, std::vector<int>(times.size(), 1));
  }
}

// What PyTorch itself says, where it is installed: torch_oracle.py tells how it is asked.
class TorchOracle {
 public:
  // One line of the script's input.
  static std::string line_of(const std::vector<Bytes>& limits,
                             const std::vector<ParameterTensor>& tensors, const Bucket& indices) {
    std::ostringstream line;
    for (const Bytes limit : limits) line << limit.value() << ' ';
    line << ';';
    for (const ParameterTensor& t : tensors)
      line << to_text(t.type) << ':' << t.count.value() << ' ';
    line << ';';
    for (const std::size_t i : indices) line << i << ' ';
    return line.str();
  }

  // The buckets of each line, or nothing and the reason when there is no torch.
  static std::vector<Buckets> ask(const std::vector<std::string>& lines, std::string& reason) {
    const std::string input =
        ::testing::TempDir() + "paceline_torch_oracle_" + std::to_string(getpid());
    std::ofstream file(input);
    for (const std::string& line : lines) file << line << '\n';
    file.close();
    const std::string command = "/usr/bin/python3 " PACELINE_SOURCE_DIR
                                "/tests/models/training/torch_oracle.py < '" +
                                input + "' 2> /dev/null";
    std::istringstream output(output_of(command));
    (void)std::remove(input.c_str());
    std::string first;
    std::getline(output, first);
    if (!first.starts_with("torch ")) {
      reason = first.empty() ? "/usr/bin/python3 does not run" : first;
      return {};
    }
    std::vector<Buckets> answers;
    for (std::string line; std::getline(output, line);) answers.push_back(buckets_of(line));
    return answers;
  }

 private:
  static std::string output_of(const std::string& command) {
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return output;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      output.append(buffer.data(), got);
    }
    pclose(pipe);
    return output;
  }

  static Buckets buckets_of(const std::string& line) {
    Buckets buckets(1);
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "/") {
        buckets.emplace_back();
      } else {
        buckets.back().push_back(std::stoull(word));
      }
    }
    return buckets;
  }
};

// Without indices PyTorch sorts by smallest index, so both sides are sorted. Buckets are ascending
// in themselves and share nothing, so plain comparison does that.
TEST(TorchOracle, AgreesOnTheAssignmentOf200RandomLists) {
  std::mt19937_64 random(14);
  std::vector<RandomList> lists;
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) {
    lists.push_back(random_list(random, 1));
    lines.push_back(TorchOracle::line_of(lists.back().limits, lists.back().tensors, {}));
  }
  std::string reason;
  const auto answers = TorchOracle::ask(lines, reason);
  if (!reason.empty()) GTEST_SKIP() << "PyTorch is not asked: " << reason;
  ASSERT_EQ(answers.size(), lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto ours = assign_buckets(lists[i].tensors, lists[i].limits);
    std::sort(ours.begin(), ours.end());
    ASSERT_EQ(ours, answers[i]) << lines[i];
  }
}

// The rebuild: tensors in the reverse order of registration, and their indices. PyTorch appends the
// buckets that stay open by hash; one a type, so the last two may be swapped.
TEST(TorchOracle, AgreesOnTheRebuiltBucketsOf200RandomLists) {
  std::mt19937_64 random(15);
  std::vector<RandomList> lists;
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) {
    RandomList list = random_list(random, 1);
    const std::vector<ParameterTensor> reversed(list.tensors.rbegin(), list.tensors.rend());
    Bucket indices;
    for (std::size_t t = reversed.size(); t-- > 0;) indices.push_back(t);
    list.limits = {list.limits.front(), list.limits.back()};
    lines.push_back(TorchOracle::line_of(list.limits, reversed, indices));
    lists.push_back(std::move(list));
  }
  std::string reason;
  auto answers = TorchOracle::ask(lines, reason);
  if (!reason.empty()) GTEST_SKIP() << "PyTorch is not asked: " << reason;
  ASSERT_EQ(answers.size(), lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    DdpSettings settings;
    settings.first_bucket = lists[i].limits[0];
    settings.bucket_cap = lists[i].limits[1];
    const auto ours = ddp_buckets(lists[i].tensors, settings);
    Buckets& theirs = answers[i];
    if (theirs != ours && theirs.size() > 1) std::iter_swap(theirs.end() - 1, theirs.end() - 2);
    ASSERT_EQ(ours, theirs) << lines[i];
  }
}

// Before torch 1.6 buckets stay as they were built: limits over the definition order, the list
// reversed; with 1.12 the first iteration has one bucket, before it the initial ones.
TEST(DdpBuckets, AreNeverRebuiltByOldVersionsOfTorch) {
  std::vector<ParameterTensor> tensors;
  for (int i = 0; i < 8; ++i) tensors.push_back({"t", ElementCount(1 << 18)});  // 1 MiB each
  DdpSettings old;
  old.torch_major = 1;
  old.torch_minor = 4;
  old.bucket_cap = Bytes(4 << 20);
  // 1 MiB, 4 MiB, and 3 MiB are left; reversed.
  const std::vector<Bucket> initial{{5, 6, 7}, {1, 2, 3, 4}, {0}};
  EXPECT_EQ(ddp_buckets(tensors, old), initial);
  old.torch_minor = 6;
  EXPECT_EQ(ddp_buckets(tensors, old).front(), Bucket{7});
  old.first_iteration = true;
  EXPECT_EQ(ddp_buckets(tensors, old), initial);
  old.torch_minor = 12;
  EXPECT_EQ(ddp_buckets(tensors, old).size(), 1U);
}

}  // namespace
}  // namespace paceline::training
