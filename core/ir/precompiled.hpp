// What nearly every file includes, compiled once a build where FATHOM_PCH is on (parsing these is most of a file's compile time).
// Files still include what they use: a build without it must work.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>
