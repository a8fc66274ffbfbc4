// `paceline schema` through the built program.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/schema/json_schema.h"
#include "tests/scenarios/process.h"

namespace paceline::test {
namespace schema_test {

TEST(SchemaCommand, PrintsTheSchemaOfEachKindOfFile) {
  const Folder folder;
  for (const schema::Kind& kind : schema::kinds()) {
    const Ended ended = paceline({"schema", std::string(kind.name)}, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const auto schema = nlohmann::json::parse(ended.out);
    EXPECT_EQ(schema.at("$schema"), "http://json-schema.org/draft-07/schema#") << kind.name;
    EXPECT_EQ(schema.at("additionalProperties"), false) << kind.name;
  }
}

TEST(SchemaCommand, IsOfScenariosUnlessItSaysMore) {
  const Folder folder;
  const Ended ended = paceline({"schema", "-o", "paceline.schema.json"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(text_of(folder.path() / "paceline.schema.json"),
            schema::json_schema(schema::kinds().front()));
}

TEST(SchemaCommand, KnowsItsKinds) {
  const Folder folder;
  const Ended ended = paceline({"schema", "scenery"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("catalogue"), std::string::npos) << ended.err;
}

}  // namespace schema_test
}  // namespace paceline::test
