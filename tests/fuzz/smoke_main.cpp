// Runs a fuzz target without libFuzzer: over the files of the folders given, and over mutations of
// them that are the same on every machine.
//
//   scenario_fuzz SECONDS FOLDER...

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

constexpr int mutations_max = 4000;
constexpr std::size_t bytes_max = 4096;  // longer files are read once, and not mutated

// For the message when the target ends the program.
std::string current;

void run(const std::string& text) {
  current = text;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> texts_of(const std::vector<fs::path>& folders) {
  std::vector<fs::path> paths;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& texts) : texts_(texts) {}

  // One to four changes: what fuzzers do, on lines and numbers as well as on bytes.
  std::string operator()(std::string text) {
    for (std::size_t i = 0, changes = 1 + below(4); i < changes; ++i) change(text);
    return text;
  }

 private:
  // Not std::uniform_int_distribution: it may differ between libraries.
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(std::string& text) {
    static const std::vector<std::string> values{
        "0",  "-1",      "1e308",  "nan", "nan%", "1e-320", "999999999999", "[]",   "{}",  "~",
        "''", "\"\\0\"", "[1, 2]", "5us", "0s",   "-5ms",   "1e300GBps",    "100%", "&a ", "*a",
        "? ", "- ",      "{a: ",   "\t",  "null", "true",   "\xff\xfe",     "<<: ", "!!x", "|\n"};
    const std::size_t at = below(text.size() + 1), length = below(12);
    switch (below(6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, values[below(values.size())]); break;
      case 2:
        text.replace(at, std::min(length, text.size() - at), values[below(values.size())]);
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 4: {  // a piece of the text or of another one, once more
        const std::string& other = below(2) == 0 ? text : texts_[below(texts_.size())];
        const std::string piece = other.substr(below(other.size() + 1), below(80));
        text.insert(at, piece);
        break;
      }
      default: {  // a number becomes another value
        const auto digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const auto end = std::min(text.find_first_not_of("0123456789.e", digit), text.size());
        text.replace(digit, end - digit, values[below(values.size())]);
      }
    }
  }

  const std::vector<std::string>& texts_;
  std::mt19937_64 random_{20260101};
};

void tell_and_exit() {
  std::ofstream("fuzz-finding", std::ios::binary) << current;
  std::cerr << "the target ended on the input written to fuzz-finding:\n" << current << '\n';
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " SECONDS FOLDER...\n";
    return 2;
  }
  std::set_terminate(tell_and_exit);
  std::signal(SIGABRT, [](int) { tell_and_exit(); });
  std::signal(SIGSEGV, [](int) { tell_and_exit(); });
  const auto texts = texts_of(std::vector<fs::path>(argv + 2, argv + argc));
  if (texts.empty()) {
    std::cerr << "no files to start from\n";
    return 2;
  }
  for (const std::string& text : texts) run(text);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  Mutator mutated(texts);
  int runs = 0;
  for (; runs < mutations_max && std::chrono::steady_clock::now() < end; ++runs) {
    const std::string& text = texts[static_cast<std::size_t>(runs) % texts.size()];
    if (text.size() <= bytes_max) run(mutated(text));
  }
  std::cout << texts.size() << " files and " << runs << " mutations\n";
  return 0;
}
