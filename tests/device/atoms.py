#!/usr/bin/env python3
"""Every atom on a GPU against lane mode, bit for bit: operands are small whole numbers, so sums are exact and their order does not matter.
tests/gpu writes the folder. Works on any machine with nvcc, a GPU and PyTorch; products of a warpgroup need compute capability 9.0.

    atoms.py FOLDER
"""
import concurrent.futures
import pathlib
import sys

import torch

from launch import call, compiled, must

folder = pathlib.Path(sys.argv[1])
types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def numbers(file, *shape):
    return torch.frombuffer(bytearray((folder / file).read_bytes()), dtype=torch.float32).view(*shape).cuda()


rows = [line.split() for line in (folder / "list.txt").read_text().splitlines()]
if torch.cuda.get_device_capability()[0] != 9:
    rows = [row for row in rows if not row[0].startswith("wgmma")]
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    built = list(pool.map(lambda row: compiled(folder / f"{row[0]}.cu", "product"), rows))
wrong = 0
for (name, kind, *sizes), (launch, registers, spills) in zip(rows, built):
    m, n, k, a_rows_are_k, b_rows_are_k = map(int, sizes)
    differs = []
    for data in ("places", "noise"):
        left = numbers(f"{name}.{data}.left", *((k, m) if a_rows_are_k else (m, k))).to(types[kind])
        right = numbers(f"{name}.{data}.right", *((k, n) if b_rows_are_k else (n, k))).to(types[kind])
        lanes = numbers(f"{name}.{data}.lanes", m, n)
        c = torch.full((m, n), float("nan"), device="cuda")
        must(call(launch, [left, right, c]))
        torch.cuda.synchronize()
        unequal = int((c.view(torch.int32) != lanes.view(torch.int32)).sum())
        if unequal:
            differs.append(f"{data}: {unequal} of {m * n} differ")
    wrong += bool(differs)
    print(f"{name:34} {registers:4} registers  {'; '.join(differs) or 'the same bits'}")
print(torch.cuda.get_device_name(), f"{len(rows) - wrong} of {len(rows)} atoms give the bits of lane mode")
sys.exit(wrong > 0)
