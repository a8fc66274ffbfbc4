// What must hold of the tree itself: layers, owners of third-party headers, linked libraries,
// sizes, names, and the commands that the documentation shows.

#include <gtest/gtest.h>

#include <algorithm>
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

const fs::path source_dir = PACELINE_SOURCE_DIR;

struct Source {
  std::string path;  // from the root
  std::string text;

  // Whether it lies in a folder, or is that file.
  [[nodiscard]] bool below(const std::string& place) const {
    return path == place || path.rfind(place + "/", 0) == 0;
  }
};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::vector<Source> files(const std::vector<std::string>& folders,
                          const std::vector<std::string>& extensions) {
  std::vector<Source> found;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir / folder)) {
      const std::string extension = entry.path().extension().string();
      if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
      found.push_back(
          {fs::relative(entry.path(), source_dir).string(), test::text_of(entry.path())});
    }
  }
  return found;
}

std::vector<Source> product_sources() {
  return files({"models", "sim", "traces", "real", "scenarios"}, {".h", ".cpp", ".cu"});
}

std::vector<std::string> includes_of(const Source& source) {
  static const std::regex include(R"(#include\s*["<]([^">]+)[">])");
  std::vector<std::string> all;
  for (std::sregex_iterator i(source.text.begin(), source.text.end(), include), end; i != end;
       ++i) {
    all.push_back((*i)[1]);
  }
  return all;
}

// Which folders of ours a folder may include: models <- traces <- sim and real. scenarios reaches
// real and sim/flow through processes.
const std::map<std::string, std::vector<std::string>> may_include{
    {"models", {"models"}},
    {"traces", {"models", "traces"}},
    {"sim", {"models", "traces", "sim"}},
    {"real", {"models", "traces", "real"}},
    {"scenarios", {"models", "traces", "sim/folded", "scenarios"}}};

bool is_below(const std::string& path, const std::string& folder) {
  return path.rfind(folder + "/", 0) == 0;
}

// The folders of a top folder in the order of its README's table, whose rows start with `name/`, or
// `./` for the top folder itself.
std::vector<std::string> order_of(const std::string& top) {
  static const std::regex row(R"(\n\| `([a-z0-9_./]+)/` \|)");
  const std::string readme = test::text_of(source_dir / top / "README.md");
  std::vector<std::string> order;
  for (std::sregex_iterator i(readme.begin(), readme.end(), row), end; i != end; ++i) {
    order.push_back((*i)[1] == "." ? top : top + "/" + (*i)[1].str());
  }
  return order;
}

// The third-party headers that a folder's README claims, by their first folder, or their name where
// they have none: for what lies below it, too, unless "here only".
std::set<std::string> claims_of(const fs::path& folder, bool is_above) {
  static const std::regex line(R"(\nThird-party headers(, here only)?: ([^\n]*))"),
      name(R"(`([^`]+)`)");
  std::set<std::string> claimed;
  if (!fs::exists(source_dir / folder / "README.md")) return claimed;
  const std::string readme = test::text_of(source_dir / folder / "README.md");
  for (std::sregex_iterator i(readme.begin(), readme.end(), line), end; i != end; ++i) {
    if (is_above && (*i)[1].matched) continue;
    const std::string names = (*i)[2];
    for (std::sregex_iterator j(names.begin(), names.end(), name); j != end; ++j) {
      claimed.insert((*j)[1]);
    }
  }
  return claimed;
}

// Headers of the system: POSIX's and Linux's, which nobody needs to claim.
const std::set<std::string> system_headers{"arpa",    "fcntl.h", "ifaddrs.h", "linux",   "net",
                                           "netdb.h", "netinet", "poll.h",    "sched.h", "signal.h",
                                           "spawn.h", "sys",     "time.h",    "unistd.h"};

TEST(Tree, FoldersIncludeOnlyWhatIsBelowThem) {
  for (const Source& source : product_sources()) {
    const std::string top = source.path.substr(0, source.path.find('/'));
    for (const std::string& included : includes_of(source)) {
      const std::string other = included.substr(0, included.find('/'));
      if (!may_include.contains(other)) continue;
      const auto& allowed = may_include.at(top);
      EXPECT_TRUE(std::any_of(allowed.begin(), allowed.end(),
                              [&](const std::string& one) { return is_below(included, one); }))
          << source.path << " includes " << included;
    }
  }
}

// So that no chain of includes leads from a folder back to it.
TEST(Tree, FoldersIncludeOnlyThoseBeforeThemInTheirReadme) {
  for (const auto& [top, lower] : may_include) {
    const auto order = order_of(top);
    std::set<std::string> folders;
    for (const Source& source : files({top}, {".h", ".cpp", ".cu"})) {
      const std::string folder = folder_of(source.path);
      const auto place = std::find(order.begin(), order.end(), folder);
      folders.insert(folder);
      for (const std::string& included : includes_of(source)) {
        const std::string other = folder_of(included);
        if (other == folder || included.rfind(top + "/", 0) != 0) continue;
        EXPECT_TRUE(std::find(order.begin(), place, other) != place)
            << source.path << " includes " << included << ", but " << top
            << "/README.md does not list " << other << " before " << folder;
      }
    }
    if (folders.size() == 1) continue;  // needs no table
    EXPECT_EQ(folders, std::set<std::string>(order.begin(), order.end()))
        << top << "/README.md must list exactly the folders that have sources";
  }
}

TEST(Tree, ThirdPartyHeadersStayWithTheFoldersThatClaimThem) {
  std::map<std::string, std::set<std::string>> unused;  // claims, by folder
  for (const Source& source : product_sources()) {
    const fs::path folder = folder_of(source.path);
    unused.try_emplace(folder, claims_of(folder, false));
  }
  std::set<std::string> known;
  for (const auto& [folder, claims] : unused) known.insert(claims.begin(), claims.end());
  EXPECT_GE(known.size(), 15U);
  for (const Source& source : product_sources()) {
    for (const std::string& included : includes_of(source)) {
      const std::string header = included.substr(0, included.find('/'));
      const bool is_ours_or_standard =
          may_include.contains(header) || included.find_first_of("./") == std::string::npos;
      if (is_ours_or_standard || system_headers.contains(header)) continue;
      const fs::path own = folder_of(source.path);
      bool is_claimed = false;
      for (fs::path folder = own; !folder.empty(); folder = folder.parent_path()) {
        is_claimed = is_claimed || claims_of(folder, folder != own).contains(header);
        if (unused.contains(folder)) unused[folder].erase(header);
      }
      EXPECT_TRUE(is_claimed) << source.path << " includes " << included
                              << ", which no README of its folders claims";
    }
  }
  for (const auto& [folder, claims] : unused) {
    for (const std::string& claim : claims) {
      ADD_FAILURE() << folder << "/README.md claims " << claim << " and does not include it";
    }
  }
}

// Headers of the standard library that reach for files, clocks, threads or the terminal.
const std::set<std::string> impure{"chrono",   "ctime", "filesystem", "fstream", "future",
                                   "iostream", "mutex", "random",     "thread"};

// Neither other libraries nor the system: <word> is a header of the standard library, <name.h> or
// <folder/name> one of something else.
TEST(Tree, ModelsArePure) {
  for (const Source& source : files({"models"}, {".h", ".cpp"})) {
    for (const std::string& included : includes_of(source)) {
      if (included.rfind("models/", 0) == 0 || included.rfind("Eigen/", 0) == 0) continue;
      EXPECT_EQ(included.find_first_of("/."), std::string::npos)
          << source.path << " includes " << included;
      EXPECT_FALSE(impure.contains(included)) << source.path << " includes " << included;
    }
  }
}

TEST(Tree, SourcesAreShortAndHeadersGuarded) {
  auto sources = product_sources();
  for (const Source& source : files({"tests"}, {".h", ".cpp"})) sources.push_back(source);
  for (const Source& source : sources) {
    EXPECT_LE(std::count(source.text.begin(), source.text.end(), '\n'), 600) << source.path;
    if (source.path.ends_with(".h")) {
      EXPECT_NE(source.text.find("#pragma once"), std::string::npos) << source.path;
    }
  }
}

TEST(Tree, NamesAreThoseOfTheField) {
  static const std::regex banned(R"(\b(mgr|\w+_mgr|\w+Mgr|[Hh]elper\w*|[Uu]tils?|data2|tmp|TO)"
                                 R"(DO|FIX)"
                                 R"(ME|XXX)\b)");
  for (const Source& source : product_sources()) {
    std::smatch found;
    EXPECT_FALSE(std::regex_search(source.text, found, banned))
        << source.path << " has " << found.str();
    static const std::regex parts("[/._]");  // a path's words, as an identifier's
    const std::string path = std::regex_replace(source.path, parts, " ");
    EXPECT_FALSE(std::regex_search(path, found, banned)) << source.path;
  }
}

TEST(Tree, FoldersExplainThemselvesInEightyLines) {
  for (const Source& source : product_sources()) {
    const fs::path folder = source_dir / fs::path(source.path).parent_path();
    if (folder == source_dir / "models") continue;  // contract.h, shipped_file.h
    const fs::path readme = folder / "README.md";
    ASSERT_TRUE(fs::exists(readme)) << readme;
    const std::string text = test::text_of(readme);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 80) << readme;
  }
}

std::string linked_libraries(const char* binary) {
  return test::run_program({"/usr/bin/readelf", "-d", binary}, source_dir).out;
}

// libsimgrid exports MPI's symbols: one program must never have both.
TEST(Programs, LinkNeitherSimGridNorMpiWhereTheyMustNot) {
  const std::string paceline = linked_libraries(PACELINE_BINARY);
  const std::string simulator = linked_libraries(PACELINE_SIM_BINARY);
  const std::string worker = linked_libraries(PACELINE_WORKER_BINARY);
  ASSERT_NE(paceline.find("NEEDED"), std::string::npos) << "readelf (binutils) says nothing";
  EXPECT_EQ(paceline.find("libsimgrid"), std::string::npos);
  EXPECT_EQ(paceline.find("libmpi"), std::string::npos);
  EXPECT_EQ(paceline.find("libcuda"), std::string::npos);
  ASSERT_NE(worker.find("NEEDED"), std::string::npos);
  EXPECT_EQ(worker.find("libsimgrid"), std::string::npos);
  EXPECT_NE(simulator.find("libsimgrid"), std::string::npos);
  EXPECT_EQ(simulator.find("libmpi"), std::string::npos);
  const fs::path sweep = fs::path(PACELINE_BINARY).parent_path() / "paceline-sweep";
  if (!fs::exists(sweep)) return;  // MPI was not found
  const std::string ranks = linked_libraries(sweep.c_str());
  EXPECT_EQ(ranks.find("libsimgrid"), std::string::npos);
  EXPECT_NE(ranks.find("libmpi"), std::string::npos);
}

// The lines of ```sh blocks that start with ./paceline.
std::vector<std::string> shown_commands(const std::string& text) {
  std::vector<std::string> commands;
  std::istringstream lines(text);
  bool in_shell = false;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));  // blocks of lists are indented
    if (line.rfind("```", 0) == 0) in_shell = !in_shell && line == "```sh";
    if (in_shell && line.rfind("./paceline ", 0) == 0) commands.push_back(line);
  }
  return commands;
}

// What is measured takes as long as its steps: here as few as are allowed. A collective has none.
std::string shortened(const std::string& arguments) {
  const bool has_steps = !arguments.starts_with(" collective ");
  if (!has_steps || (arguments + ' ').find(" --measure ") == std::string::npos) return arguments;
  return arguments + " --set real.steps=1 --set real.warmup=2 --quiet";
}

TEST(Documentation, ShowsCommandsThatRun) {
  std::size_t commands = 0;
  auto documents = files({"models", "sim", "traces", "scenarios", "tests", "real"}, {".md"});
  for (const char* document : {"README.md", "CONTRIBUTING.md"}) {
    documents.push_back({document, test::text_of(source_dir / document)});
  }
  for (const Source& document : documents) {
    for (const std::string& command : shown_commands(document.text)) {
      ++commands;
      if (command == "./paceline test") continue;  // this is it
      const std::string arguments = shortened(command.substr(std::string("./paceline").size()));
      const auto ended =
          test::run_program({"/bin/sh", "-c", PACELINE_BINARY + arguments}, source_dir, 240);
      EXPECT_EQ(ended.exit_code, 0) << document.path << ": " << command << '\n' << ended.err;
    }
  }
  EXPECT_GE(commands, 5U);
}

// The first block of ```text shows what the first command prints, down to the last digit.
TEST(Documentation, ShowsWhatTheFirstCommandPrints) {
  const std::string readme = test::text_of(source_dir / "README.md");
  const auto commands = shown_commands(readme);
  ASSERT_FALSE(commands.empty());
  const std::string fence = "```text\n";
  const auto start = readme.find(fence) + fence.size();
  const std::string shown = readme.substr(start, readme.find("```", start) - start);
  const auto ended = test::run_program(
      {"/bin/sh", "-c",
       PACELINE_BINARY + commands.front().substr(std::string("./paceline").size())},
      source_dir);
  EXPECT_EQ(ended.out.substr(0, shown.size()), shown);
}

// "| 452 | 6.2 % |": the means over sources left out, as README claims them.
TEST(Documentation, ClaimsTheErrorsThatValidateFinds) {
  std::string scenarios;
  for (const Source& scenario : files({"scenarios/library"}, {".yaml"})) {
    const bool in_table = !scenario.below("scenarios/library/reported") &&
                          scenario.text.find("\nmeasured:") != std::string::npos;
    if (in_table) scenarios += " " + scenario.path;
  }
  const auto ended = test::run_program(
      {"/bin/sh", "-c", PACELINE_BINARY " validate --leave-out source" + scenarios}, source_dir,
      240);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const std::string readme = test::text_of(source_dir / "README.md");
  // what, network, chosen (nothing), points, mean
  const std::regex row(R"(\nmean of (?:sources|\d+) +(?:described|measured)? +(\d+) +([\d.]+)%)");
  int rows = 0;
  for (std::sregex_iterator i(ended.out.begin(), ended.out.end(), row), end; i != end; ++i) {
    ++rows;
    const std::string claim = "| " + (*i)[1].str() + " | " + (*i)[2].str() + " % |";
    EXPECT_NE(readme.find(claim), std::string::npos) << "README does not say " << claim;
  }
  EXPECT_EQ(rows, 3);  // all sources, those whose networks are described, and measured
}

}  // namespace
}  // namespace paceline
