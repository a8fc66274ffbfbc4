#include "scenarios/remarks.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "scenarios/text_form.h"

namespace paceline {
namespace {

std::string remarks_in(TextForm form) {
  Remarks made;
  for (int weight = 1; weight <= 6; ++weight) made.add(weight, std::to_string(weight));
  made.assume({"x: so", "x: so", "", "y: <b>"});
  made.add_detail("detail");
  std::ostringstream out;
  set_text_form(out, form);
  made.write(out);
  return out.str();
}

TEST(Remarks, AreTheFiveHeaviestAndTheNumberOfAssumptions) {
  EXPECT_EQ(remarks_in({}),
            "\n2\n3\n4\n5\n6\n\n2 assumptions and 1 more remark: --assumptions lists them\n");
  EXPECT_EQ(remarks_in({.lists_assumptions = true}),
            "\n1\n2\n3\n4\n5\n6\n\ndetail\n\nassumed:\n  x: so\n  y: <b>\n");
}

TEST(Remarks, StandBehindAClickInMarkdown) {
  EXPECT_EQ(remarks_in({.is_markdown = true}),
            "\n- 2\n- 3\n- 4\n- 5\n- 6\n\n<details><summary>2 assumptions</summary>\n\n"
            "- 1\n- detail\n- x: so\n- y: &lt;b&gt;\n\n</details>\n");
}

}  // namespace
}  // namespace paceline
