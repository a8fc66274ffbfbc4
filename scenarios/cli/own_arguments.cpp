#include "scenarios/cli/own_arguments.h"

#include <fstream>

namespace paceline::cli {

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace paceline::cli
