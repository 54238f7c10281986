#!/usr/bin/env bash
# clang-tidy over core and cli. It wants the compile command of every file by itself: no files united, nothing precompiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset asan -B build/tidy -DFATHOM_UNITY=OFF -DFATHOM_PCH=OFF >/dev/null
git ls-files 'core/*.cpp' 'cli/*.cpp' | xargs -P 2 -n 4 clang-tidy-19 --quiet -p build/tidy
