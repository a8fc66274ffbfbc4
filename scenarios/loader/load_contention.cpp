#include "scenarios/loader/sections.h"

namespace paceline::loader {

Contention load_contention(Section& file) {
  const auto field = file.field("contention");
  Contention contention;
  if (!field || field->text() == "auto") return contention;
  contention.automatic = false;
  contention.where = field->location();
  if (field->text() == "off") return contention;
  contention.assumed = field->text() == "assumed";
  contention.measured = field->text() == "measured";
  if (!contention.assumed && !contention.measured) {
    try {
      contention.slowdown = field->number(1, 100);
    } catch (const InputError&) {
      field->fail("is neither auto, off, assumed, measured nor a factor of 1 to 100",
                  "write contention: 1.3");
    }
  }
  return contention;
}

}  // namespace paceline::loader
