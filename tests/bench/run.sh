#!/usr/bin/env bash
# Builds and runs the benchmarks; prints every cell. Figures go to docs/performance.md by hand, with their conditions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset bench -DFATHOM_UI=ON -DFATHOM_IMGUI="$(tools/imgui.sh)" >/dev/null
ninja -C build/bench bench_pipeline bench_cpu_attention bench_explorer_table fathom fathom-explorer fathom_cpu >/dev/null
echo "== the whole pipeline, program as written to Kernel (goal for attention: 10 ms)"
build/bench/tests/bench_pipeline --benchmark_min_time=0.2
echo "== attention on the CPU against unfused OpenBLAS, same run (goals: 1.5 times as fast, 50 % of the FMA peak)"
build/bench/tests/bench_cpu_attention
echo "== frames of the explorer with 10 000 runs in its table (goal: p95 of 33 ms)"
build/bench/tests/bench_explorer_table
echo "== the explorer in a real window: frames, a key to its steps, at rest, a graph of 2 000 nodes"
/usr/bin/python3 tests/bench/explorer.py build/bench/fathom-explorer
