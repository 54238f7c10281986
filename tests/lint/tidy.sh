#!/usr/bin/env bash
# clang-tidy over core and cli, with the compile commands of the build by clang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset asan >/dev/null
git ls-files 'core/*.cpp' 'cli/*.cpp' | xargs -P 2 -n 4 clang-tidy-19 --quiet -p build/asan
