#!/usr/bin/env bash
# The same program, target and trace give the same bytes from g++, clang-19 and the web build in Node. Expects the three builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
timeout 120 build/test/tests/determinism/print_plans >"$out/g++"
timeout 240 build/asan/tests/determinism/print_plans >"$out/clang"
timeout 240 node --no-experimental-fetch build/web/tests/determinism/print_plans.js >"$out/web"
[ "$(grep -c '^====' "$out/g++")" -ge 10 ] || { echo "too few plans were printed"; exit 1; }
for other in clang web; do
  if ! cmp "$out/g++" "$out/$other"; then
    diff "$out/g++" "$out/$other" | head -n 20
    exit 1
  fi
done
echo "$(grep -c '^====' "$out/g++") plans, $(wc -l <"$out/g++") lines: the same bytes from g++, clang-19 and the web build"
