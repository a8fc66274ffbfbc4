#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/settings/key.h"
#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/job/amount.h"
#include "scenarios/loader/job/catalogue.h"

namespace paceline::loader {

[[nodiscard]] std::span<const settings::Key> catalogue_keys();
[[nodiscard]] std::span<const settings::Key> machine_keys();  // of an entry of its `machines`
[[nodiscard]] std::span<const settings::Key> spot_keys();     // of a machine, where it is a map

struct Catalogue {
  std::string name;
  std::vector<Machine> machines;  // in file order, one or more
};

// A shipped catalogue by its name, or a file beside the document of the field (schema
// paceline.catalogue/1). Each machine's cluster and device are loaded, so what is wrong with them
// is said with its place. Throws InputError.
[[nodiscard]] Catalogue load_catalogue(const Field& name, OneCurrency& currency);

// The same of a document. Precondition: it is a map.
[[nodiscard]] Catalogue read_catalogue(const DocumentPtr& document, OneCurrency& currency);

// A device by what two fields that name it have in common: the name of a shipped one, or the path
// of a file, from the working directory.
[[nodiscard]] std::string device_named_by(const Field& field);

}  // namespace paceline::loader
