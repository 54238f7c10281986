#!/usr/bin/env bash
# Builds core with Emscripten: the proof that everything in it also runs in a browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
headers=$PWD/build/web-headers
mkdir -p "$headers"
# -I/usr/include would bring glibc's headers: a folder of links to the header-only libraries instead.
for library in nlohmann fmt tl toml++; do
  [ -e "/usr/include/$library" ] && ln -sfn "/usr/include/$library" "$headers/$library"
done
emcmake cmake -S . -B build/web -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DFATHOM_TESTS=OFF -DFATHOM_PCH=ON -DFATHOM_UNITY=ON -DFATHOM_CPU=OFF -DFATHOM_HEADERS="$headers"
ninja -C build/web all print_plans
