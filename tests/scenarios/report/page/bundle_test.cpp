// The bundle is built by node (scenarios/report/page/build.sh) and checked in. Without node a test
// can tell that it was built from the sources beside it: its first line has their hash.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/report/page/page.h"
#include "tests/scenarios/process.h"

namespace paceline::page {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(PACELINE_SOURCE_DIR) / "scenarios/report/page";

// As build.mjs has it: sha256sum of each file, in the order of their names, and of these lines.
std::string hash_of_sources() {
  std::vector<std::string> names{"build.mjs",    "build.sh", "package-lock.json",
                                 "package.json", "page.css", "template.html"};
  for (const auto& entry : fs::recursive_directory_iterator(folder / "src")) {
    if (entry.path().extension() == ".js") {
      names.push_back(fs::relative(entry.path(), folder).string());
    }
  }
  std::ranges::sort(names);
  std::string lines;
  for (const std::string& name : names) {
    lines += loader::sha256_of(test::text_of(folder / name)) + "  " + name + "\n";
  }
  return loader::sha256_of(lines);
}

TEST(Bundle, WasBuiltFromTheSourcesBesideIt) {
  const std::string stamp = "/* sources sha256 " + hash_of_sources() + " */";
  EXPECT_TRUE(script_text().starts_with(stamp)) << "run scenarios/report/page/build.sh";
  EXPECT_TRUE(style_text().starts_with(stamp)) << "run scenarios/report/page/build.sh";
}

// What is compiled in is what is checked in, byte for byte.
TEST(Bundle, IsCompiledInAsItIs) {
  EXPECT_EQ(script_text(), test::text_of(folder / "bundle/page.js"));
  EXPECT_EQ(style_text(), test::text_of(folder / "bundle/page.css"));
  EXPECT_EQ(template_text(), test::text_of(folder / "bundle/page.html"));
}

TEST(Bundle, CarriesTheLicencesOfWhatIsInIt) {
  const std::string licences = test::text_of(folder / "LICENSES");
  ASSERT_NE(licences.find("d3-"), licences.npos);
  const std::string first = licences.substr(0, licences.find('\n'));
  EXPECT_NE(script_text().find(first), script_text().npos);
}

}  // namespace
}  // namespace paceline::page
