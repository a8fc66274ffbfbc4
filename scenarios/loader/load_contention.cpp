#include <string>
#include <string_view>

#include "models/text/number.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {

namespace {

// assumed+0.1
Contention assumed_and_more(const Field& field) {
  const std::string text = field.text().substr(std::string_view("assumed+").size());
  Contention contention;
  contention.automatic = false;
  contention.where = field.location();
  contention.assumed = true;
  const auto more = number_of<double>(text);
  if (!more || !(*more >= 0 && *more <= 10)) {
    field.fail("needs a number from 0 to 10 after assumed+", "write contention: assumed+0.1");
  }
  contention.more = *more;
  return contention;
}

}  // namespace

Contention load_contention(Section& file) {
  const auto field = file.field("contention");
  Contention contention;
  if (!field || field->text() == "auto") return contention;
  contention.automatic = false;
  contention.where = field->location();
  if (field->text() == "off") return contention;
  contention.measured = field->text() == "measured";
  contention.assumed = field->text() == "assumed" || contention.measured;
  if (field->text().starts_with("assumed+")) return assumed_and_more(*field);
  if (!contention.assumed) {
    try {
      contention.slowdown = field->number(1, 100);
    } catch (const InputError&) {
      field->fail("is neither auto, off, assumed, assumed+0.1, measured nor a factor of 1 to 100",
                  "write contention: 1.3");
    }
  }
  return contention;
}

}  // namespace paceline::loader
