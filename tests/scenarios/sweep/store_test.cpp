#include "scenarios/sweep/store.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::sweep {
namespace {

using test::Folder;

PointKey key_with(std::uint8_t byte) {
  PointKey key;
  key.bytes[3] = byte;
  return key;
}

PlacedRow placed(std::uint8_t key, double throughput) {
  PlacedRow placed{key_with(key), 5, key, {R"({"gpus":2})", {}, "", R"(["alike"])"}};
  placed.row.cells.resize(point_columns().size());
  placed.row.cells[column_of("predicted_throughput_per_s")] = throughput;
  return placed;
}

PlacedRow failed(std::uint8_t key, const char* why) {
  PlacedRow row = placed(key, 0);
  row.row.cells[column_of("predicted_throughput_per_s")] = Cell();
  row.row.cells[column_of("failure")] = why;
  row.row.cause = "failed";
  return row;
}

Cell throughput_of(const Row& row) { return row.cells[column_of("predicted_throughput_per_s")]; }

class StoreFile : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name = "points.db") const {
    return (folder_.path() / name).string();
  }
  // What is wrong with opening it; empty: nothing.
  static std::string fault_of(const std::string& path) {
    try {
      const Store store(path);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  Folder folder_;
};

TEST_F(StoreFile, HasWhatWasWritten) {
  {
    Store store(path());
    EXPECT_EQ(store.write(std::vector{placed(1, 0.1), placed(2, 200)}),
              (std::vector<bool>{true, true}));
  }
  Store store(path());
  EXPECT_EQ(store.points(), 2U);
  const auto rows = store.find_done(std::vector{key_with(1), key_with(9), key_with(2)});
  ASSERT_TRUE(rows[0] && !rows[1] && rows[2]);
  EXPECT_EQ(throughput_of(*rows[0]), Cell(0.1));
  EXPECT_EQ(throughput_of(*rows[2]), Cell(200.0));
  EXPECT_EQ(rows[0]->axes, R"({"gpus":2})");
  EXPECT_EQ(rows[0]->assumed, R"(["alike"])");
}

TEST_F(StoreFile, KeepsAPredictionAndReplacesAFailure) {
  Store store(path());
  (void)store.write(std::vector{failed(1, "died")});
  EXPECT_FALSE(store.find_done(std::vector{key_with(1)})[0]);
  EXPECT_EQ(store.write(std::vector{failed(1, "died again")}), std::vector<bool>{true});
  EXPECT_EQ(store.find(key_with(1))->cells[column_of("failure")], Cell("died again"));
  EXPECT_EQ(store.write(std::vector{placed(1, 3)}), std::vector<bool>{true});
  EXPECT_EQ(store.write(std::vector{failed(1, "died"), placed(1, 4)}),
            (std::vector<bool>{false, false}));
  EXPECT_EQ(throughput_of(*store.find(key_with(1))), Cell(3.0));
  EXPECT_EQ(store.points(), 1U);
}

TEST_F(StoreFile, TakesWhatAnotherHas) {
  {
    Store other(path("other.db"));
    (void)other.write(std::vector{placed(1, 1), placed(2, 2), failed(3, "died")});
  }
  Store store(path());
  (void)store.write(std::vector{failed(1, "died"), placed(2, 20), placed(3, 30)});
  EXPECT_EQ(store.merge(path("other.db")), 0U);  // a prediction in a failure's place is no more
  EXPECT_EQ(throughput_of(*store.find(key_with(1))), Cell(1.0));
  EXPECT_EQ(throughput_of(*store.find(key_with(2))), Cell(20.0));
  EXPECT_EQ(throughput_of(*store.find(key_with(3))), Cell(30.0));
  EXPECT_EQ(store.find(key_with(1))->assumed, R"(["alike"])");
}

TEST_F(StoreFile, IsNoOtherFile) {
  folder_.write("text.db",
                "some text that is none, longer than a header of SQLite: 100 bytes or so, "
                "as that begins with a hundred of them");
  EXPECT_NE(fault_of(path("text.db")).find("is not an SQLite database"), std::string::npos);
  Database(path("other.db"), Database::Access::write).execute("CREATE TABLE x (y)");
  EXPECT_NE(fault_of(path("other.db")).find("something else"), std::string::npos);
  EXPECT_NE(fault_of(folder_.path().string()).find("Is a directory"), std::string::npos);
  const auto made_other = [&](const std::string& sql) {
    std::filesystem::remove(path());
    (void)fault_of(path());
    Database(path(), Database::Access::write).execute(sql);
    return fault_of(path());
  };
  EXPECT_NE(made_other("PRAGMA user_version = 1").find("schema 1; this is schema 4"),
            std::string::npos);
  EXPECT_NE(made_other("UPDATE meta SET value = 'of old'").find("points of paceline of old"),
            std::string::npos);
}

// STORE.md lists the columns of points, with their types.
TEST_F(StoreFile, HasTheColumnsThatAreListed) {
  (void)fault_of(path());
  const Database database(path(), Database::Access::read);
  std::set<std::string> columns;
  Statement statement(database, "SELECT name, type FROM pragma_table_info('points')");
  while (statement.next()) {
    columns.insert(std::get<std::string>(statement.cell(0)) + " " +
                   std::get<std::string>(statement.cell(1)));
  }
  const std::string text =
      test::text_of(std::string(PACELINE_SOURCE_DIR) + "/scenarios/sweep/STORE.md");
  std::set<std::string> listed;
  const std::regex row(R"(\n\| `([a-z_0-9]+)` \| ([A-Z]+) \|)");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    listed.insert((*it)[1].str() + " " + (*it)[2].str());
  }
  EXPECT_EQ(listed, columns);
}

TEST_F(StoreFile, RowsAreTheSameOnceTheyAreText) {
  const Row row = failed(7, "a \"reason\"").row;
  const Row again = row_from(to_text(row));
  EXPECT_EQ(again.cells, row.cells);
  EXPECT_EQ(again.axes, row.axes);
  EXPECT_EQ(again.cause, "failed");
  EXPECT_EQ(row_from(to_text(placed(1, 0.1).row)).cells, placed(1, 0.1).row.cells);
}

}  // namespace
}  // namespace paceline::sweep
