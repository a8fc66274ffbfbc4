#include "scenarios/report/page/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/scenarios/report/page/payload.h"

namespace paceline::page {
namespace {

using nlohmann::json;
using test::payload_of;

std::string page_of(const Contents& contents) {
  std::ostringstream out;
  write_page(out, contents);
  return out.str();
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Page, HoldsTheDocumentsAsTheyAre) {
  const std::string page = page_of(
      {"a title", "paceline run a.yaml", "name: a\n", {{"one", R"({"schema": "x/1", "v": 1.5})"}}});
  const json payload = payload_of(page);
  EXPECT_EQ(payload.at("schema"), "paceline.report/1");
  EXPECT_EQ(payload.at("title"), "a title");
  EXPECT_EQ(payload.at("command"), "paceline run a.yaml");
  EXPECT_EQ(payload.at("scenario"), "name: a\n");
  EXPECT_EQ(payload.at("documents"),
            json::parse(R"([{"name": "one", "content": {"schema": "x/1", "v": 1.5}}])"));
}

TEST(Page, HasNoScenarioWhereThereIsNone) {
  EXPECT_TRUE(payload_of(page_of({"t", "", std::nullopt, {}})).at("scenario").is_null());
}

// Whatever a name says, the elements of a page are those of its template.
TEST(Page, LetsNoTextBecomeMarkup) {
  const std::string plain = page_of({"t", "c", "s", {{"n", "{}"}}});
  for (const char* const hostile :
       {"<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!--<script>",
        "</title><h1>x", "]]>", "{{payload}}", "{{script}}", "&lt;b&gt;"}) {
    const std::string page =
        page_of({hostile, hostile, hostile, {{hostile, json{{"k", hostile}}.dump()}}});
    for (const char* const mark : {"<script", "</script", "<!--", "<img", "<h1", "</title"}) {
      EXPECT_EQ(times(page, mark), times(plain, mark)) << hostile << ": " << mark;
    }
    const json payload = payload_of(page);
    for (const char* const key : {"title", "command", "scenario"}) {
      EXPECT_EQ(payload.at(key), hostile);
    }
    EXPECT_EQ(payload.at("documents")[0].at("name"), hostile);
    EXPECT_EQ(payload.at("documents")[0].at("content").at("k"), hostile);
  }
}

TEST(Page, ReplacesBytesThatAreNotUtf8) {
  const std::string page = page_of({"a\xff", "b\xff", "c\xff", {{"d\xff", "{}"}}});
  EXPECT_EQ(page.find('\xff'), page.npos);
  EXPECT_EQ(payload_of(page).at("title"), "a\xef\xbf\xbd");
}

TEST(Page, RefusesADocumentThatIsNotJson) {
  std::ostringstream out;
  EXPECT_THROW(write_page(out, {"t", "", std::nullopt, {{"n", "{"}}}), std::invalid_argument);
  EXPECT_EQ(out.str(), "");  // and half a page is none
}

// It opens from a mail: nothing is loaded from elsewhere, and a browser would not load it.
TEST(Page, NeedsNothingElse) {
  const std::string page = page_of({"t", "", std::nullopt, {}});
  EXPECT_EQ(times(page, "default-src 'none'"), 1U);
  for (const char* const loads : {" src=", "@import", "http:", "https:", "url(//"}) {
    EXPECT_EQ(times(std::string(template_text()), loads), 0U) << loads;
    EXPECT_EQ(times(std::string(style_text()), loads), 0U) << loads;
  }
  EXPECT_LT(page.size(), 700'000U);
}

}  // namespace
}  // namespace paceline::page
