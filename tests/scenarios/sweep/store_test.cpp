#include "scenarios/sweep/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/files/output_file.h"
#include "scenarios/sweep/sweep.h"
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
  EXPECT_NE(made_other("PRAGMA user_version = 1").find("schema 1; this is schema 5"),
            std::string::npos);
  EXPECT_NE(made_other("UPDATE meta SET value = 'of old', checksum = checksum(name, 'of old')")
                .find("points of paceline of old"),
            std::string::npos);
}

// What SQLite would take for a database in memory, a pipe nobody writes to, and a file that SQLite
// keeps for the store.
TEST_F(StoreFile, IsAFileAndNothingElse) {
  EXPECT_NE(fault_of("file:points.db?mode=memory").find("is a URI"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(fault_of(path("pipe")).find("is not a regular file"), std::string::npos);
  EXPECT_FALSE(is_database(path("pipe")));
  EXPECT_THROW(StoredPoints{path("pipe")}, InputError);
  Store store(path());
  EXPECT_THROW((void)store.merge(path("pipe")), InputError);
  for (const char* const own : {"points.db", "points.db-wal", "points.db-shm"}) {
    files::OutputFile csv(path(own));
    EXPECT_THROW(csv.open(), InputError) << own;
  }
}

// Of a user who may not write there, as nobody may not.
TEST_F(StoreFile, SaysThatItsFolderCannotBeWritten) {
  const auto fault = [&] {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
    constexpr uid_t nobody = 65534;
    (void)!::setresuid(nobody, nobody, nobody);
    const std::string said = fault_of(path());
    std::_Exit(said.find("cannot be opened: Permission denied") == said.npos ? 1 : 0);
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(0), "");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
}

// None of these is asked before it is refused: the view has no end.
TEST_F(StoreFile, HasTheTablesOfASweepAlone) {
  for (const char* const sql :
       {"ALTER TABLE points RENAME TO others; CREATE VIEW points AS WITH RECURSIVE r(x) AS "
        "(SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT others.* FROM others, r",
        "CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM points; END",
        "CREATE INDEX of_gpus ON points (gpus)", "CREATE TABLE more (x)"}) {
    std::filesystem::remove(path());
    (void)fault_of(path());
    Database(path(), Database::Access::write).execute(sql);
    EXPECT_NE(fault_of(path()).find("has other tables"), std::string::npos) << sql;
    EXPECT_THROW(StoredPoints{path()}, InputError) << sql;
  }
}

// A byte that flips on a disk, or a row that somebody edits; the last one is as good as another's.
TEST_F(StoreFile, RefusesARowThatIsNotAsItWasWritten) {
  for (const char* const sql :
       {"UPDATE points SET predicted_throughput_per_s = -1 WHERE number = 1",
        "UPDATE points SET axes = '{' WHERE number = 1",
        "UPDATE points SET key = zeroblob(16) WHERE number = 1", "UPDATE texts SET text = '[]'",
        "DELETE FROM texts",
        "UPDATE points SET key = zeroblob(16) WHERE number = 1; UPDATE points SET key = "
        "x'00000001000000000000000000000000' WHERE number = 2"}) {
    std::filesystem::remove(path());
    {
      Store store(path());
      (void)store.write(std::vector{placed(1, 1), placed(2, 2)});
    }
    Database(path(), Database::Access::write).execute(sql);
    EXPECT_THROW(StoredPoints{path()}, InputError) << sql;
    const std::string copy = path("copy.db");  // what was merged is an input from then on
    std::filesystem::copy_file(path(), copy, std::filesystem::copy_options::overwrite_existing);
    Store store(path());
    EXPECT_THROW((void)Store(path("other.db")).merge(copy), InputError) << sql;
    try {
      EXPECT_FALSE(store.find(key_with(1))) << sql;  // one that is not there is predicted again
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("is damaged"), std::string::npos);
    }
  }
}

TEST_F(StoreFile, RefusesScenariosAndUnitsThatAreNotAsTheyWereWritten) {
  for (const char* const sql : {"UPDATE meta SET value = value || 'x'",
                                "INSERT INTO scenarios VALUES (1, 'a', 'a', '', '', '', 7)"}) {
    std::filesystem::remove(path());
    (void)fault_of(path());
    Database(path(), Database::Access::write).execute(sql);
    EXPECT_NE(fault_of(path()).find("is damaged"), std::string::npos) << sql;
    EXPECT_THROW(StoredPoints{path()}, InputError) << sql;
  }
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
