#pragma once

#include <iosfwd>
#include <string>

#include "scenarios/sweep/sweep.h"

namespace paceline::sweep {

// Points as one JSON object, a column each field (schema paceline.points/1, STORE.md): those that
// were asked for, as write_csv lists them;
void write_points_json(std::ostream& out, const Request& request, const Grids& grids, Store& store);

// or all of a store, also of one that another version of Paceline wrote, in the order of its files
// and their grids. Throws InputError for what is no store, or is one of another schema.
void write_points_json(std::ostream& out, const std::string& store);

// Whether the file begins as one of SQLite does. False where it cannot be read.
[[nodiscard]] bool is_database(const std::string& path);

}  // namespace paceline::sweep
