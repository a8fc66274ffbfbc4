
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "models/training/ddp.h"
#include "models/training/strategies.h"
#include "tests/models/training/resnet.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::ParameterTensor;
using Tensors = std::vector<ParameterTensor>;

ParameterTensor matrix_of(std::uint64_t rows, std::uint64_t columns) {
  return {"m", ElementCount(rows * columns), workload::DataType::float32, 0, ElementCount(rows)};
}

Bucket all_of(const Tensors& tensors) {
  Bucket bucket;
  for (std::size_t i = 0; i < tensors.size(); ++i) bucket.push_back(i);
  return bucket;
}

CompressedBucket sent_of(const Tensors& tensors, std::uint64_t rank, double rate) {
  return compressed(tensors, all_of(tensors), {rank, rate});
}

// (4 + 6) * 1 * 2 < 24, but not (4 + 5) * 1 * 2.3 < 20; a vector of n is n by 1, and (n + 1) * 2 is
// more. No rank is above the smaller dimension: (3 + 100) * 3 * 0.9 < 300.
TEST(PowerSgd, CompressesWhatIsWorthIt) {
  const Tensors tensors{matrix_of(4, 6), matrix_of(4, 5), matrix_of(8, 1)};
  const CompressedBucket one = sent_of(tensors, 1, 2.3);
  EXPECT_EQ(one.matrices, (std::vector<LowRank>{{4, 6, 1}}));
  EXPECT_EQ(one.whole, (std::vector{ElementCount(20), ElementCount(8)}));
  EXPECT_EQ(sent_of({matrix_of(3, 100)}, 7, 0.9).matrices, (std::vector<LowRank>{{3, 100, 3}}));
}

// Vogels et al., PowerSGD (arXiv 1905.13727), what a worker sends in an epoch of CIFAR-10 with
// ResNet-18: 1023 MB by SGD, 4, 8 and 14 MB at ranks 1, 2 and 4; in the appendix's list of its
// tensors 243/r times less in all. The network is that of its code: 3 x 3 convolutions in four
// stages of two blocks, each followed by a batch normalisation, and ten classes; 16 workers of 128
// images make 24 steps of the 50,000. MB are 2^20 bytes. All matrices are compressed there, vectors
// not: rate 1.
TEST(PowerSgd, SendsWhatThePaperSays) {
  Tensors tensors;
  const auto convolution = [&](std::uint64_t in, std::uint64_t out, std::uint64_t kernel) {
    tensors.push_back(matrix_of(out, in * kernel * kernel));
    tensors.insert(tensors.end(), 2, matrix_of(out, 1));
  };
  convolution(3, 64, 3);
  for (std::uint64_t in = 64, out = 64; out <= 512; in = out, out *= 2) {
    convolution(in, out, 3);
    convolution(out, out, 3);
    if (in != out) convolution(in, out, 1);
    convolution(out, out, 3);
    convolution(out, out, 3);
  }
  tensors.push_back(matrix_of(10, 512));
  tensors.push_back(matrix_of(10, 1));
  constexpr double bytes = 4, steps = 50'000 / (16 * 128), megabyte = 1 << 20;
  const auto of_epoch = [&](ElementCount count) {
    return std::round(static_cast<double>(count.value()) * bytes * steps / megabyte);
  };
  const ElementCount whole = bucket_count(tensors, all_of(tensors));
  const auto sent = [&](std::uint64_t rank) {
    const CompressedBucket one = sent_of(tensors, rank, 1);
    return one.whole_count() + one.p_count() + one.q_count();
  };
  EXPECT_EQ(of_epoch(whole), 1023);
  EXPECT_EQ(of_epoch(sent(1)), 4);
  EXPECT_EQ(of_epoch(sent(2)), 8);
  EXPECT_EQ(of_epoch(sent(4)), 14);
  EXPECT_EQ(whole.value() / sent(1).value(), 243U);
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}

struct Question {
  Tensors tensors;
  std::uint64_t rank;
  double rate;
};

// power_sgd_oracle.py tells how torch is asked.
std::vector<std::string> answers_of_torch(const std::vector<Question>& questions,
                                          std::string& reason) {
  const std::string input = ::testing::TempDir() + "paceline_power_sgd_" + std::to_string(getpid());
  std::ofstream file(input);
  for (const auto& [tensors, rank, rate] : questions) {
    file << rank << ' ' << rate << ';';
    for (const ParameterTensor& tensor : tensors) {
      const std::uint64_t columns = tensor.count.value() / tensor.rows->value();
      file << tensor.rows->value();
      if (columns > 1) file << 'x' << columns;
      file << ' ';
    }
    file << '\n';
  }
  file.close();
  std::istringstream output(output_of("/usr/bin/python3 " PACELINE_SOURCE_DIR
                                      "/tests/models/training/power_sgd_oracle.py < '" +
                                      input + "' 2> /dev/null"));
  (void)std::remove(input.c_str());
  std::vector<std::string> answers;
  std::getline(output, reason);
  if (!reason.starts_with("torch ")) return answers;
  for (std::string line; std::getline(output, line);) answers.push_back(line);
  return answers;
}

// The buckets of ResNet-50 and -18, and those of random shapes. torch calls for nothing too.
TEST(PowerSgd, SendsWhatTorchSends) {
  std::vector<Question> questions;
  for (const auto& network : {ResNet::resnet50(), ResNet::resnet18()}) {
    for (const Bucket& bucket : ddp_buckets(network, {})) {
      Tensors tensors;
      for (const std::size_t i : bucket) tensors.push_back(network[i]);
      for (const std::uint64_t rank : {1U, 4U}) questions.push_back({tensors, rank, 2});
    }
  }
  std::mt19937_64 random(7);
  const auto upto = [&](std::uint64_t most) { return 1 + random() % most; };
  for (int i = 0; i < 100; ++i) {
    Tensors tensors;
    for (std::uint64_t n = upto(6); n > 0; --n) {
      tensors.push_back(matrix_of(upto(40), random() % 3 == 0 ? 1 : upto(40)));
    }
    questions.push_back({tensors, upto(8), static_cast<double>(upto(8)) / 2});
  }
  std::string reason;
  const auto answers = answers_of_torch(questions, reason);
  if (answers.empty()) GTEST_SKIP() << reason;
  ASSERT_EQ(answers.size(), questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const CompressedBucket sent =
        sent_of(questions[i].tensors, questions[i].rank, questions[i].rate);
    std::ostringstream ours;
    ours << sent.whole_count().value() << ' ' << sent.p_count().value() << ' '
         << sent.q_count().value();
    EXPECT_EQ(ours.str(), answers[i]) << "bucket " << i;
  }
}

workload::Workload of_one_layer(Tensors tensors) {
  auto workload = workload_of({layer_of("a", 1, 1, 1)});
  workload.layers[0].parameters = std::move(tensors);
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  return workload;
}

using HookValues = std::map<std::string, settings::Value>;

StepProgram with_hook(const workload::Workload& workload, HookValues values) {
  values.emplace("comm_hook", std::uint64_t{1});
  return build(ddp_strategy, workload, {std::move(values), {}, 2});
}

// In nanoseconds, by name.
std::map<std::string, double> kernels_of(const StepProgram& program) {
  std::map<std::string, double> times;
  for (const Operation& operation : program.operations) {
    if (operation.kind != OperationKind::copy) continue;
    times[operation.name] = std::get<Seconds>(operation.work).value() * 1e9;
  }
  return times;
}

void expect_kernels(const StepProgram& program, const std::map<std::string, double>& expected) {
  const auto times = kernels_of(program);
  EXPECT_EQ(times.size(), expected.size());
  for (const auto& [name, time] : expected) {
    ASSERT_TRUE(times.contains(name)) << name;
    EXPECT_NEAR(times.at(name), time, 1e-9) << name;
  }
}

// A matrix of 4 by 6 and a vector of 2, 96 and 8 B at 1 GB/s; to the bucket and back twice 104.
// Errors are added, 3 * 104, and a copy kept, 2 * 104; the vector copied, 16; Q of 6 divided by its
// norm, 3 * 24; P = M Q, 96 + 24 + 16. The vector divided and copied back, 32. P of 4 divided by
// its norm, 48, and a product. Q divided, 48, a product, and errors, 3 * 104.
TEST(PowerSgd, TakesTheTimeOfItsKernels) {
  const auto workload = of_one_layer({matrix_of(4, 6), matrix_of(2, 1)});
  expect_kernels(with_hook(workload, {}), {{"a to bucket", 208},
                                           {"bucket 0 compress", 312 + 208 + 16 + 72 + 136},
                                           {"bucket 0 unpack", 32},
                                           {"bucket 0 product", 48 + 136},
                                           {"bucket 0 decompress", 48 + 136 + 312},
                                           {"bucket 0 copy back", 208}});
  // A hook divides: views are not touched. Errors are left out.
  expect_kernels(
      with_hook(workload, {{"gradient_as_bucket_view", true}, {"use_error_feedback", false}}),
      {{"bucket 0 compress", 16 + 72 + 136},
       {"bucket 0 unpack", 32},
       {"bucket 0 product", 48 + 136},
       {"bucket 0 decompress", 48 + 136}});
}

double compression_of(const workload::Workload& workload, HookValues values) {
  values.emplace("matrix_approximation_rank", std::uint64_t{2});
  values.emplace("use_error_feedback", false);
  return kernels_of(with_hook(workload, std::move(values))).at("bucket 0 compress");
}

// Q of 10 by 2, columns of 40 B. The first: norm 40, division 80; the product with the other 120,
// its sum 40, its product 80, the subtraction 120. The second 120: 600 in all. The matrix product
// moves 400 + 80 + 80 B, or takes 2 * 10 * 10 * 2 operations at half of 1 GFLOPS.
TEST(PowerSgd, MakesColumnsOrthogonalOneByOne) {
  auto workload = of_one_layer({matrix_of(10, 10)});
  EXPECT_NEAR(compression_of(workload, {}), 600 + 560, 1e-9);
  EXPECT_NEAR(compression_of(workload, {{"orthogonalization_time", Seconds(1e-6)}}), 1000 + 560,
              1e-9);
  workload.device.fp32 = {FlopsPerSecond(1e9), 0.5};
  EXPECT_NEAR(compression_of(workload, {}), 600 + 800, 1e-9);
}

// Two buckets, of which the second is a vector: P behind its product, Q behind P, the next bucket
// behind the first one's decompression.
TEST(PowerSgd, SendsEachBucketInTurn) {
  auto workload = workload_of({layer_of("a", 1, 1, 300'000), layer_of("b", 1, 1, 300'000)});
  workload.layers[0].parameters[0].rows = ElementCount(300'000);
  workload.layers[1].parameters[0].rows = ElementCount(300);
  const auto program = with_hook(workload, {});
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) {
    if (operation.kind != OperationKind::input) names.push_back(operation.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "forward", "b", "b to bucket", "bucket 0 compress", "bucket 0 P",
                       "bucket 0 product", "bucket 0 Q", "bucket 0 decompress", "a", "a to bucket",
                       "bucket 1 compress", "bucket 1", "bucket 1 unpack", "bucket 1 decompress",
                       "bucket 0 copy back", "bucket 1 copy back", "optimizer"}));
  std::vector<std::uint64_t> counts;
  for (const Call& call : calls_of(program, Collective::all_reduce)) {
    counts.push_back(call.count);
    EXPECT_EQ(call.after, Ids{call.id - 1});
    EXPECT_EQ(program.operations[call.id + 1].after, Ids{call.id});
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{300, 1'000, 300'000}));
}

std::string hook_refusal(const HookValues& values, CommonSettings common, bool has_rows = true) {
  settings::Settings settings(ddp_strategy.keys);
  for (const auto& [name, value] : values) settings.set(name, value);
  auto workload = two_layers();
  for (auto& layer : workload.layers) {
    if (has_rows) layer.parameters[0].rows = ElementCount(500);
  }
  const auto refusal = ddp_strategy.refuse({workload, cluster_of({}), settings, common});
  return refusal ? refusal->what : "";
}

TEST(PowerSgd, RefusesWhatMeansNothing) {
  const settings::Value on{std::uint64_t{1}}, first{std::uint64_t{1}};
  EXPECT_EQ(hook_refusal({{"comm_hook", on}}, {}), "");
  EXPECT_EQ(hook_refusal({{"comm_hook", on}}, {}, false),
            "needs the first dimension of a.weight to compress gradients");
  EXPECT_EQ(hook_refusal({{"comm_hook", on}}, {.wire_type = workload::DataType::float16}),
            "takes one communication hook, for compression or for another type");
  EXPECT_EQ(hook_refusal({{"comm_hook", on}, {"iteration", first}}, {}),
            "does not compress in the first iteration");
  EXPECT_EQ(hook_refusal({{"use_error_feedback", false}}, {}),
            "ignores use_error_feedback without comm_hook: powersgd");
}

}  // namespace
}  // namespace paceline::training
