#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"

// What tests of inputs as people paste them (tests/fixtures/pasted) share.
namespace paceline::test {

inline const std::string pasted_folder = PACELINE_SOURCE_DIR "/tests/fixtures/pasted/";

// What the program has to say of a file. `FILE` in the arguments stands for its path.
struct Said {
  std::vector<std::string> arguments;
  int exit_code = 0;
  std::vector<std::string> says = {};   // all of these, on either stream
  std::vector<std::string> never = {};  // none of these
};

inline void expect_said(const std::string& file, const Said& said) {
  const Folder folder;
  std::filesystem::copy_file(pasted_folder + file, folder.path() / file);
  std::vector<std::string> arguments = said.arguments;
  std::string line = "paceline";
  for (std::string& argument : arguments) {
    if (argument == "FILE") argument = file;
    line += " " + argument;
  }
  const Ended ended = paceline(arguments, folder.path());
  SCOPED_TRACE(line + "\n" + ended.out + ended.err);
  EXPECT_EQ(ended.exit_code, said.exit_code);
  if (said.exit_code == 2) {
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << "a refusal is one line";
  }
  const std::string all = ended.out + ended.err;
  for (const std::string& part : said.says) {
    EXPECT_NE(all.find(part), std::string::npos) << "does not say: " << part;
  }
  for (const std::string& part : said.never) {
    EXPECT_EQ(all.find(part), std::string::npos) << "says: " << part;
  }
}

}  // namespace paceline::test
