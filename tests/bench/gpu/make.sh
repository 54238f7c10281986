#!/usr/bin/env bash
# Prints CUDA C++ of the operators and shapes that speeds.py times, bf16, and a list of them. Usage: make.sh FATHOM FOLDER [TARGET]
set -euo pipefail
fathom=$1 folder=$2 target=${3:-sm_90a}
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../samples" && pwd)
mkdir -p "$folder"
: >"$folder/cells.txt"

cat >"$folder/matmul.fathom" <<'END'
dim M = 4096, N = 4096, K = 4096
operator matmul(a: bf16[M, K], b: bf16[K, N]) -> (c: bf16[M, N]) { c[i,j] = sum[k](a[i,k] * b[k,j]) }
END

# cell OPERATOR PROGRAM DIM=SIZE …
cell() {
  local operator=$1 program=$2 name
  shift 2
  name=$operator
  local arguments=()
  for each in "$@"; do
    arguments+=(--dim "$each")
    name+=".$each"
  done
  sed -E 's/: (f16|bf16|f32)\[/: bf16[/g' "$program" >"$folder/cell.fathom"
  "$fathom" compile "$folder/cell.fathom" --target "$target" "${arguments[@]}" --emit code -o "$folder/$name.cu" >/dev/null
  grep -o '[a-z_]*_launch(const' "$folder/$name.cu" | head -n 1 | sed "s/_launch(const//; s|^|$name $operator $* |" >>"$folder/cells.txt"
}

for n in 4096 8192; do cell matmul "$folder/matmul.fathom" M=$n N=$n K=$n; done
for s in 1024 4096 16384; do
  cell causal "$samples/attention.fathom" B=$((16384 / s)) H=16 Hk=16 S=$s T=$s D=128
  cell full "$samples/attention_nomask.fathom" B=$((16384 / s)) H=16 S=$s T=$s D=128
done
cell causal "$samples/attention.fathom" B=4 H=32 Hk=32 S=4096 T=4096 D=64
cell full "$samples/attention_nomask.fathom" B=4 H=32 S=4096 T=4096 D=64
cell causal "$samples/attention.fathom" B=4 H=32 Hk=8 S=4096 T=4096 D=128
for shape in "8192 4096" "4096 32768" "32768 8192"; do
  read -r rows columns <<<"$shape"
  cell softmax "$samples/softmax.fathom" R="$rows" C="$columns"
  cell rmsnorm "$samples/rmsnorm.fathom" R="$rows" C="$columns"
done
rm -f "$folder/cell.fathom" "$folder/matmul.fathom"
