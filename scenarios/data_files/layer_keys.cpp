#include "scenarios/data_files/layer_keys.h"

#include <array>

namespace paceline::loader {
namespace {

constexpr Key name_of_layer(std::string_view kind, std::string_view meaning) {
  return {kind, Text{"text"}, required, meaning, "layer{i}"};
}

constexpr Key extent_key(std::string_view name, std::string_view meaning) {
  return {name, Count{1, extent_max}, required, meaning, "64"};
}

constexpr std::array<std::string_view, 1> sequence_word{"sequence"};

constexpr std::array tokens_forms{Form{Count{1, extent_max}}, Form{OneOf{sequence_word}}};

constexpr Structure tokens_type{"a count, or sequence", rows<tokens_forms>};

constexpr std::array conv_table{
    name_of_layer("conv", "a convolution's name"),
    extent_key("in", "channels"),
    extent_key("out", "channels"),
    extent_key("kernel", "its width"),
    extent_key("stride", "between two of its places"),
    extent_key("out_size", "the width of what comes out"),
    Key{"groups", Count{1, extent_max}, std::uint64_t{1}, "which divide the channels"},
    Key{"bias", Flag{}, false, "whether there is one"},
};

constexpr std::array linear_table{
    name_of_layer("linear", "a linear layer's name"),
    extent_key("in", "features"),
    extent_key("out", "features"),
    Key{"rows", tokens_type, "1", "of one sample", "sequence"},
    Key{"tied", Flag{}, false, "its weight is another layer's"},
    Key{"bias", Flag{}, true, "whether there is one"},
};

constexpr std::array batchnorm_table{
    name_of_layer("batchnorm", "a batch normalisation's name"),
    extent_key("channels", "how many"),
    extent_key("size", "the width of an image"),
};

constexpr std::array layernorm_table{
    name_of_layer("layernorm", "a layer normalisation's name"),
    extent_key("features", "how many"),
    Key{"rows", tokens_type, "1", "of one sample", "sequence"},
};

constexpr OneOf keeps_type{texts_of<Keeps>};

constexpr std::array elementwise_table{
    name_of_layer("elementwise", "the name of what works element by element"),
    Key{"elements",
        Count{1, extent_max},
        "required, except with `elements_per_token`",
        "of one sample",
        "64",
        {},
        {"elements_per_token"}},
    Key{"elements_per_token", Count{1, extent_max}, "none", "in place of `elements`"},
    Key{"inputs", Count{1, extent_max}, std::uint64_t{1}, "how many it reads"},
    Key{"keeps", keeps_type, "input, or with several inputs nothing",
        "what its backward reads of its forward"},
};

constexpr std::array pool_table{
    name_of_layer("pool", "a pool's name"),
    extent_key("in_size", "the width of what goes in"),
    extent_key("out_size", "the width of what comes out"),
    extent_key("channels", "how many"),
    Key{"keeps", keeps_type, value_of(Keeps::input), "what its backward reads of its forward"},
};

constexpr std::array embedding_table{
    name_of_layer("embedding", "an embedding's name"),
    extent_key("rows", "the size of the vocabulary"),
    extent_key("columns", "features"),
    Key{"lookups", tokens_type, "1", "of one sample", "sequence"},
};

constexpr std::array attention_table{
    name_of_layer("attention", "the name of the products of an attention"),
    extent_key("heads", "how many"),
    extent_key("head_size", "features of each"),
};

constexpr std::array parameter_table{
    name_of_layer("parameter", "the name of a parameter without a layer"),
    extent_key("count", "its elements"),
};

constexpr std::array buffer_table{
    name_of_layer("buffer", "the name of a buffer of int64"),
    Key{"count", Count{1, extent_max}, required, "its elements", "512"},
};

constexpr std::array<std::span<const Key>, 10> kinds{
    conv_table, linear_table,    batchnorm_table, layernorm_table, elementwise_table,
    pool_table, embedding_table, attention_table, parameter_table, buffer_table};

// One of the kinds; with the last one a block.
constexpr std::array layer_or_block_forms{Form{Map{rows<conv_table>}},
                                          Form{Map{rows<linear_table>}},
                                          Form{Map{rows<batchnorm_table>}},
                                          Form{Map{rows<layernorm_table>}},
                                          Form{Map{rows<elementwise_table>}},
                                          Form{Map{rows<pool_table>}},
                                          Form{Map{rows<embedding_table>}},
                                          Form{Map{rows<attention_table>}},
                                          Form{Map{rows<parameter_table>}},
                                          Form{Map{rows<buffer_table>}},
                                          Form{Map{block_keys}}};
static_assert(layer_or_block_forms.size() == kinds.size() + 1);

std::span<const Form> layer_forms() { return std::span(layer_or_block_forms).first(kinds.size()); }

constexpr std::array inner_forms{Form{Structure{"a layer", layer_forms}, Form::Of::list}};
constexpr std::array list_forms{
    Form{Structure{"a layer", rows<layer_or_block_forms>}, Form::Of::list}};

constexpr std::array block_table{
    Key{"repeat", Count{1, 10'000}, required, "how often its layers stand there", "12"},
    Key{"from", Count{0, 10'000}, std::uint64_t{0}, "the first number that names have for {i}"},
    Key{"layers", Structure{"a list of layers", rows<inner_forms>}, required, "that are repeated",
        "[...]"},
};

}  // namespace

std::span<const std::span<const Key>> layer_kinds() { return kinds; }
std::span<const Key> block_keys() { return block_table; }

std::span<const Form> layer_list_forms() { return list_forms; }

}  // namespace paceline::loader
