#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace paceline {

// Columns as wide as their widest cell, right-aligned but for the first `left` columns.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, std::size_t left);
  void add(std::vector<std::string> row);  // as many cells as the header
  void write(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

}  // namespace paceline
