#!/usr/bin/env bash
# Peak memory of `fathom run`: what S = T = 16384 takes more than S = T = 256 (D = 64, H = 1) may be inputs + outputs + 64 MB, the checker's
# rows included. Both folds. Prints every figure; fails when over, or when a result is wrong.
#   tests/bench/memory.sh [fathom program]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fathom=${1:-build/release/fathom}
large=16384 small=256 width=64
limit_kib=$((4 * large * width * 4 / 1024 + 64000000 / 1024)) # q, k, v and o in f32

# peak_kib SIZE FOLD: runs, and prints the peak resident size of the program in KiB
peak_kib() {
  /usr/bin/python3 - "$fathom" "$1" "$2" <<'PY'
import resource, subprocess, sys
program, size, fold = sys.argv[1:]
done = subprocess.run([program, "run", "attention_nomask", "--dim", f"S={size}", "--dim", f"T={size}", "--dim", "H=1", "--set", f"o/j/fold={fold}"],
                      stdout=sys.stderr)
if done.returncode != 0:
    sys.exit(f"fathom run with the {fold} fold at {size} exits with {done.returncode}")
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
}

over=0
for fold in rolling split-k; do
  least=$(peak_kib $small $fold)
  most=$(peak_kib $large $fold)
  difference=$((most - least))
  echo "$fold: peak $least KiB at $small, $most KiB at $large: $difference KiB more, allowed $limit_kib KiB"
  ((difference <= limit_kib)) || over=1
done
exit $over
