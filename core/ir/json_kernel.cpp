// Tile and Kernel modules in JSON.
#include "ir/json.hpp"
#include "ir/json_fields.hpp"

namespace fathom {
namespace {

const std::vector<ReducerRef>& reducers_of(const kernel::Module& module) { return module.reducers; }

}  // namespace

std::string to_json(const kernel::Module& module) { return json::text_of(module, &module.reducers); }
Result<kernel::Module> module_from_json(std::string_view text) { return json::value_of<kernel::Module>(text, {}, reducers_of); }

}  // namespace fathom
