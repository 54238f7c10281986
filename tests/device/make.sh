#!/usr/bin/env bash
# Prints CUDA C++ of every sample in f16, bf16 and f32 into a folder, for samples.py on a machine with a GPU. What has no plan on the target is
# listed with its reason. Usage: make.sh FATHOM FOLDER [TARGET [small|large]]; small: shapes for compute-sanitizer; large: a few samples with
# offsets beyond 2^31.
set -uo pipefail
fathom=$1 folder=$2 target=${3:-sm_80} shapes=${4:-}
small="R=33 C=512 M=70 N=128 K=96 B=1 H=2 Hk=1 S=150 T=150"
large="R=70000 C=32768 M=70016 N=128 K=32768 B=1 H=2100 S=64 T=8192 D=128"
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples" && pwd)
mkdir -p "$folder"
printf '{' >"$folder/dims.json"
first=
for file in "$samples"/*.fathom; do
  name=$(basename "$file" .fathom)
  case "$shapes $name" in
    "large softmax" | "large matmul_bias_gelu" | "large attention_nomask") ;;
    large*) continue ;;
  esac
  declare -A of=()
  run_time=
  while read -r line; do
    for each in $(printf '%s' "${line#dim }" | sed 's/ = /=/g; s/,//g; s/=runtime /=runtime:/g'); do
      value=${each#*=}
      [ "$value" != "${value#runtime:}" ] && run_time="$run_time${run_time:+, }\"${each%%=*}\""
      of[${each%%=*}]=${value#runtime:}
    done
  done < <(grep '^dim ' "$file")
  arguments=()
  if [ -n "$shapes" ]; then
    for each in ${!shapes}; do
      [ -n "${of[${each%%=*}]:-}" ] || continue
      of[${each%%=*}]=${each#*=}
      arguments+=(--dim "$each")
    done
  fi
  printf '%s"%s": {' "$first" "$name" >>"$folder/dims.json"
  for each in "${!of[@]}"; do printf '"%s": %s, ' "$each" "${of[$each]}" >>"$folder/dims.json"; done
  printf '"runtime": [%s]}' "$run_time" >>"$folder/dims.json"
  first=', '
  for type in f16 bf16 f32; do
    [ "$shapes" = large ] && [ "$type" = f32 ] && continue
    # Tensors change their type, scalars and integers keep theirs.
    sed -E "s/: (f16|bf16|f32)\[/: $type[/g" "$file" >"$folder/$name.$type.fathom"
    if ! "$fathom" compile "$folder/$name.$type.fathom" --target "$target" "${arguments[@]}" --emit code -o "$folder/$name.$type.cu" >"$folder/log" 2>&1; then
      echo "no plan: $name $type $target: $(tail -n 1 "$folder/log")"
    fi
    rm -f "$folder/$name.$type.fathom" "$folder/log"
  done
done
printf '}\n' >>"$folder/dims.json"
