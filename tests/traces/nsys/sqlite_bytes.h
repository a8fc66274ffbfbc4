#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <string>

namespace paceline::test {

inline std::string nsys_fixture(const std::string& name) {
  std::ifstream file(std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/nsys/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An SQLite file of what statements make.
inline std::string sqlite_bytes(const std::string& sql) {
  sqlite3* made = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &made), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(made, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(made, "main", &size, 0);
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(made);
  return out;
}

}  // namespace paceline::test
