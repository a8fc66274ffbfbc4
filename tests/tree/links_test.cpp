// Links of the documentation: to files that are there, and to headings as GitHub names them.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Without blocks and pieces of code, in which nothing is a link and # no heading.
std::vector<std::string> lines_of_prose(const std::string& text) {
  static const std::regex fence(R"(^ *(```|~~~).*)"), code(R"(`[^`]*`)");
  std::vector<std::string> lines;
  std::istringstream in(text);
  bool is_code = false;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, fence)) {
      is_code = !is_code;
    } else if (!is_code) {
      lines.push_back(line);
    }
  }
  return lines;
}

// As GitHub makes it of a heading: its text in small letters, spaces as -, and of all else letters,
// digits, - and _.
std::string slug_of(std::string heading) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  heading = std::regex_replace(heading, link, "$1");
  std::string slug;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') slug += '-';
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80) {
      slug += static_cast<char>(std::tolower(byte));
    }
  }
  return slug;
}

// A heading that stands twice has -1 behind it the second time.
std::set<std::string> slugs_of(const std::string& text) {
  static const std::regex heading(R"(^#{1,6} +(.*?) *#* *$)");
  std::set<std::string> slugs;
  std::map<std::string, int> times;
  for (const std::string& line : lines_of_prose(text)) {
    std::smatch parts;
    if (!std::regex_match(line, parts, heading)) continue;
    const std::string slug = slug_of(parts[1]);
    const int before = times[slug]++;
    slugs.insert(before == 0 ? slug : slug + "-" + std::to_string(before));
  }
  return slugs;
}

std::vector<std::string> links_of(const std::string& text) {
  static const std::regex link(R"(\]\(([^)\s]+)(?:\s+"[^"]*")?\)|^\[[^\]]+\]: *(\S+))"),
      code(R"(`[^`]*`)"), elsewhere(R"(^[a-z]+:.*)");
  std::vector<std::string> links;
  for (const std::string& whole : lines_of_prose(text)) {
    const std::string line = std::regex_replace(whole, code, "code");
    for (std::sregex_iterator i(line.begin(), line.end(), link), end; i != end; ++i) {
      const std::string target = (*i)[1].matched ? (*i)[1] : (*i)[2];
      if (!std::regex_match(target, elsewhere)) links.push_back(target);
    }
  }
  return links;
}

// Why a link of a document leads nowhere; empty: it leads somewhere.
std::string fault_of(const std::string& link, const fs::path& document) {
  const auto hash = link.find('#');
  const std::string path = link.substr(0, hash);
  const fs::path target = path.empty() ? document : document.parent_path() / path;
  if (!fs::exists(target)) return "there is no " + target.lexically_normal().string();
  if (hash == link.npos || target.extension() != ".md") return "";
  if (slugs_of(test::text_of(target)).contains(link.substr(hash + 1))) return "";
  return "there is no such heading in " + target.lexically_normal().string();
}

std::vector<fs::path> documents() {
  const fs::path root = PACELINE_SOURCE_DIR;
  std::vector<fs::path> all;
  const auto add = [&](const auto& entries) {
    for (const fs::directory_entry& entry : entries) {
      const bool is_ours = entry.path().string().find("/node_modules/") == std::string::npos;
      if (is_ours && entry.path().extension() == ".md") all.push_back(entry.path());
    }
  };
  add(fs::directory_iterator(root));
  for (const char* folder : {"models", "sim", "traces", "real", "scenarios", "tests", "cmake"}) {
    add(fs::recursive_directory_iterator(root / folder));
  }
  return all;
}

TEST(Documentation, LinksLeadToFilesAndHeadingsThatAreThere) {
  std::size_t with_headings = 0;
  for (const fs::path& document : documents()) {
    for (const std::string& link : links_of(test::text_of(document))) {
      if (link.find('#') != link.npos) ++with_headings;
      const std::string fault = fault_of(link, document);
      EXPECT_TRUE(fault.empty()) << document << ": (" << link << "): " << fault;
    }
  }
  EXPECT_GE(with_headings, 5U);
}

TEST(Documentation, HeadingsAreFoundAsGitHubNamesThem) {
  const std::string text =
      "# First: `--json`, 90 % of it\n```sh\n# a comment\n```\n## A [link](x.md)\n## First\n## "
      "First\n";
  EXPECT_EQ(slugs_of(text),
            (std::set<std::string>{"first---json-90--of-it", "a-link", "first", "first-1"}));
  EXPECT_EQ(links_of("[a](b.md#c), `[code](x)`, [far](https://x.y/z)\n[d]: e.md\n"),
            (std::vector<std::string>{"b.md#c", "e.md"}));
}

}  // namespace
}  // namespace paceline
