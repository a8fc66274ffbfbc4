#include "traces/pytorch/scalars.h"

#include <gtest/gtest.h>

namespace paceline::traces::pytorch {
namespace {

TEST(Nanoseconds, AreThoseOfDecimalMicroseconds) {
  EXPECT_EQ(nanoseconds_of("1712195495502094.570"), 1712195495502094570);
  EXPECT_EQ(nanoseconds_of("0"), 0);
  EXPECT_EQ(nanoseconds_of("5."), 5000);
  EXPECT_EQ(nanoseconds_of("-1.5"), -1500);
  EXPECT_EQ(nanoseconds_of("0.0004"), 0);
  EXPECT_EQ(nanoseconds_of("0.9995"), 1000);
  EXPECT_EQ(nanoseconds_of("1.00049999"), 1000);
  EXPECT_EQ(nanoseconds_of("1e-06"), 0);
  EXPECT_EQ(nanoseconds_of("2.5E3"), 2'500'000);
}

TEST(Nanoseconds, AreNoneOfWhatIsNoNumberOrTooFar) {
  for (const char* none : {"",
                           "-",
                           ".",
                           ".5",
                           "+1",
                           "1 ",
                           " 1",
                           "1.5.5",
                           "12:30",
                           "nan",
                           "inf",
                           "1e",
                           "1e400",
                           "9223372036854775807",
                           "4000000000000001",
                           "-4000000000000001",
                           "0x10",
                           "1,5",
                           "null",
                           "{",
                           "1e16"}) {
    EXPECT_FALSE(nanoseconds_of(none)) << none;
  }
  EXPECT_EQ(nanoseconds_of("3999999999999999.999"), 3'999'999'999'999'999'999);
}

TEST(Elements, AreThoseOfAllShapesHoweverDeep) {
  EXPECT_EQ(elements_of("[64]"), 64U);
  EXPECT_EQ(elements_of("[[8, 16], []]"), 129U);  // a tensor of no dimension has one
  EXPECT_EQ(elements_of("[[[1], [2, 3]]]"), 7U);
  EXPECT_EQ(elements_of("5"), 0U);  // no shape
  EXPECT_FALSE(elements_of("[[-1]]"));
  EXPECT_FALSE(elements_of("[[281474976710656], [1]]"));  // 2^48 and one
}

TEST(LargerCount, IsOfWhatIsTold) {
  EXPECT_EQ(larger_count("5", "7"), ElementCount(7));
  EXPECT_EQ(larger_count("5", ""), ElementCount(5));
  EXPECT_FALSE(larger_count("", "no"));
  EXPECT_FALSE(larger_count("281474976710657", "1"));
}

TEST(ElementSizes, AreOfPyTorchsTypesAndOfThoseOfCpp) {
  for (const char* type : {"Float", "float", "Int", "int", "uint32", "float32", "f32"}) {
    EXPECT_EQ(element_size_of(type), ElementSize(4)) << type;
  }
  for (const char* type : {"Half", "BFloat16", "c10::Half", "c10::BFloat16", "Short", "bfloat16"}) {
    EXPECT_EQ(element_size_of(type), ElementSize(2)) << type;
  }
  for (const char* type : {"Double", "Long", "long int", "long", "ComplexFloat"}) {
    EXPECT_EQ(element_size_of(type), ElementSize(8)) << type;
  }
  for (const char* type : {"Byte", "Char", "Bool", "unsigned char", "Float8_e4m3fn"}) {
    EXPECT_EQ(element_size_of(type), ElementSize(1)) << type;
  }
  for (const char* type : {"", "<unknown>", "Scalar", "TensorList", "GenericList[int]"}) {
    EXPECT_FALSE(element_size_of(type)) << type;
  }
}

TEST(Ranks, AreThoseListed) {
  EXPECT_EQ(ranks_of("[0, 1]"), (std::vector<Rank>{Rank(0), Rank(1)}));
  EXPECT_EQ(ranks_of("[8,16, ..., 56]"), (std::vector<Rank>{Rank(8), Rank(16)}));
  for (const char* none : {"", "[]", "[", "[-1]", "[...]", "all"}) {
    EXPECT_TRUE(ranks_of(none).empty()) << none;
  }
}

TEST(Tensors, AreCountedWhereTheyHaveOneType) {
  const auto sum = tensors_of("[[8, 16], [], [3]]", R"(["float", "Scalar", "float"])");
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->elements, 8U * 16 + 3);
  EXPECT_EQ(sum->element_size, ElementSize(4));
  EXPECT_EQ(tensors_of("[[]]", R"(["long int"])")->elements, 1U) << "of no dimension";
  EXPECT_EQ(tensors_of("[[0, 5]]", R"(["int"])")->elements, 0U);
}

TEST(Tensors, AreNoneWhereTypesDifferOrShapesCannotBe) {
  EXPECT_FALSE(tensors_of("[[8], [8]]", R"(["float", "double"])"));
  EXPECT_FALSE(tensors_of("[[8], []]", R"(["", "Scalar"])"));
  EXPECT_FALSE(tensors_of("[[-1]]", R"(["float"])"));
  EXPECT_FALSE(tensors_of("[[4294967296, 4294967296]]", R"(["float"])"));
  EXPECT_FALSE(tensors_of("", ""));
  EXPECT_FALSE(tensors_of("[[8", R"(["float)"));
}

}  // namespace
}  // namespace paceline::traces::pytorch
