// Helpers of the session's tests: compilations from text, plans without spelling, runs of every level against the wide reference.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "files.hpp"
#include "interp/interp.hpp"
#include "renamed.hpp"
#include "session/session.hpp"

namespace fathom::session_tests {

using Json = nlohmann::ordered_json;
using Dims = std::map<std::string, std::int64_t>;
using Choices = std::vector<std::pair<std::string, std::string>>;
using Compiled = std::shared_ptr<const session::Compilation>;

using test::read_sample;
/// "operator attention(q, k, v, keep…) -> (o)" with this body, S = 20, T = 40, D = 8.
std::string attention_of(const std::string& body, const std::string& more_params = "", const std::string& condition = "");

session::Inputs inputs_of(const std::string& text, const Dims& = {}, const Choices& = {}, const std::string& target = "x86-64");
/// Fails the test where the text does not compile.
Compiled compiled(const session::Inputs&);
Compiled compiled(const std::string& text, const Dims& = {}, const Choices& = {}, const std::string& target = "x86-64");

using test::renamed;

const Ir* last(const session::Compilation&, Level);
/// The plan's text after canonical renaming.
std::string loop_plan(const session::Compilation&);
std::string kernel_plan(const session::Compilation&);
/// One line an entry of `explain`, tensors named by their place; the entries of `unused` left out.
std::vector<std::string> explained(const session::Compilation&, const std::set<std::string>& unused = {});
const Fusion* fusion_of(const session::Compilation&, const std::string& consumer);

/// The choices that make plans of tiles of `size`: every tile, where the site allows it.
Choices tiles_of(const session::Compilation&, const std::string& size);
/// For every site of that kind: `choice`, where it is offered and not refused.
Choices all_of(const session::Compilation&, const std::string& kind, const std::string& choice);

struct Outcome {
  int passed = 0, inconclusive = 0, undefined = 0;
};
/// The last Loop, Tile and Kernel of the plan compute what the text says on these inputs. `undefined`: the text itself is NaN there, and
/// nothing is compared.
Outcome expect_right(const session::Compilation&, const interp::Arrays& inputs, const DimValues& dims, bool structured,
                     const std::string& what);
void expect_right_on(const session::Compilation&, const std::vector<std::string>& families, const Dims& = {});

}  // namespace fathom::session_tests
