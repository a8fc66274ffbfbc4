#pragma once

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

// Files as editors see them: YAML by its core schema (YAML 1.2, 10.3), checked by a JSON Schema.
namespace paceline::test {

inline nlohmann::json scalar_to_json(const YAML::Node& node) {
  static const std::regex null("null|Null|NULL|~|"), truth("true|True|TRUE"),
      falsehood("false|False|FALSE"), whole("[-+]?[0-9]+"),
      real(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // with quotes
  if (std::regex_match(text, null)) return nullptr;
  if (std::regex_match(text, truth)) return true;
  if (std::regex_match(text, falsehood)) return false;
  if (!std::regex_match(text, real)) return text;
  const double value = std::stod(text);
  constexpr double exact_max = 9007199254740992.0;  // 2^53
  const bool is_whole = value == std::floor(value) && std::abs(value) <= exact_max;
  return is_whole ? nlohmann::json(static_cast<std::int64_t>(value)) : nlohmann::json(value);
}

inline nlohmann::json to_json(const YAML::Node& node) {
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const YAML::Node& element : node) list.push_back(to_json(element));
    return list;
  }
  if (node.IsMap()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>("")] = to_json(entry.second);
    return map;
  }
  return node.IsScalar() ? scalar_to_json(node) : nlohmann::json(nullptr);
}

class SchemaValidator {
 public:
  explicit SchemaValidator(const std::string& schema_text)
      : document_(nlohmann::json::parse(schema_text)) {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document_), schema_);
  }

  // Why the text does not fit; empty: it does.
  [[nodiscard]] std::string fault_of(const std::string& yaml) {
    const nlohmann::json document = to_json(YAML::Load(yaml));
    valijson::ValidationResults results;
    if (validator_.validate(schema_, valijson::adapters::NlohmannJsonAdapter(document), &results)) {
      return "";
    }
    std::string text;
    for (const valijson::ValidationResults::Error& error : results) {
      std::string where;
      for (const std::string& part : error.context) where += part;
      text += where + ": " + error.description + '\n';
    }
    return text.empty() ? "is refused" : text;
  }

 private:
  nlohmann::json document_;
  valijson::Schema schema_;
  valijson::Validator validator_;
};

}  // namespace paceline::test
