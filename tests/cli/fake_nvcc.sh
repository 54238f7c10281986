#!/usr/bin/env bash
# Stands in for nvcc: notes its arguments in $FAKE_LOG, says what ptxas said of a kernel in $FAKE_REPORT, fails or hangs where $FAKE_MODE asks.
printf '%s\n' "$*" >>"$FAKE_LOG"
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 12.4, V12.4.131"
  exit 0
fi
kind=library
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2; shift ;;
    -ptx) kind=ptx ;;
    -cubin) kind=cubin ;;
  esac
  source=$1
  shift
done
grep -q __global__ "$source" || { echo "no kernel in $source" >&2; exit 3; }
case ${FAKE_MODE:-} in
  fail) echo "kernel.cu(7): error: this is not C++" >&2; exit 2 ;;
  hang) echo $$ >"$FAKE_LOG.pid"; sleep 600 ;;
esac
case $kind in
  ptx) echo ".version 8.4" >"$out" ;;
  cubin) echo "machine code" >"$out"; cat "$FAKE_REPORT" >&2 ;;
  library) cp "$FAKE_LIBRARY" "$out" ;;
esac
