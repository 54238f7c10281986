#!/usr/bin/env python3
"""Kernels of example texts on a GPU: compiles each printed .cu of a folder, runs it against f64 references of PyTorch and beside its own
operators, prints a table. Works on any machine with nvcc, a GPU and PyTorch:

    texts.py FOLDER [NAME …]   # FOLDER has softmax_rows.cu, layernorm.cu, attention_*.cu, decode_*.cu, as tests/gpu prints them; NAME: only these
"""
import ctypes
import pathlib
import sys

import torch

import launch as device
from launch import call, microseconds, must

folder, only = pathlib.Path(sys.argv[1]), sys.argv[2:]


def compiled(name, module):
    launch, registers, spills = device.compiled(folder / f"{name}.cu", module)
    print(f"{name}: {registers} registers, {spills} bytes spilled")
    return launch


rows = []


def report(what, actual, expected, ours, theirs, name):
    error = ((actual.double() - expected).abs() / (1 + expected.abs())).max().item()
    finite = bool(torch.isfinite(actual).all())
    rows.append((what, "ok" if finite and error < 1.5e-2 else "WRONG", f"{error:.1e}", f"{microseconds(ours):.1f}", f"{microseconds(theirs):.1f}", name))


def softmax():
    launch = compiled("softmax_rows", "softmax_rows")
    for m, n in [(8192, 4096), (1000, 4096), (77, 1000), (3, 8)]:
        x, y = torch.randn(m, n, device="cuda", dtype=torch.bfloat16) * 3, torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        run = lambda: must(call(launch, [x, y], [m, n]))
        run()
        report(f"softmax {m}x{n}", y, torch.softmax(x.double(), 1), run, lambda: torch.softmax(x, 1), "eager")
    x = torch.randn(4, 4100, device="cuda", dtype=torch.bfloat16)
    print("contract:", call(launch, [x, torch.empty_like(x)], [4, 4100]))
    print("contract:", call(launch, [x.t(), torch.empty_like(x.t())], [4100, 4]))


def layernorm():
    launch = compiled("layernorm", "layernorm")
    for m, n in [(8192, 4096), (77, 1000)]:
        x = torch.randn(m, n, device="cuda", dtype=torch.bfloat16) * 2 + 5
        gain, bias = torch.randn(n, device="cuda", dtype=torch.bfloat16), torch.randn(n, device="cuda", dtype=torch.bfloat16)
        y = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        eps = ctypes.c_float(1e-5)
        run = lambda: must(call(launch, [x, gain, bias, eps, y], [m, n]))
        run()
        expected = torch.nn.functional.layer_norm(x.double(), (n,), gain.double(), bias.double(), 1e-5)
        report(f"layernorm {m}x{n}", y, expected, run, lambda: torch.nn.functional.layer_norm(x, (n,), gain, bias, 1e-5), "eager")


def attention(name):
    launch = compiled(name, "attention")
    for heads, length in [(64, 4096), (16, 1024), (2, 300), (1, 1), (3, 129)]:
        q, k, v = (torch.randn(heads, length, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        o = torch.full_like(q, float("nan"))
        group = ctypes.c_int(1)
        run = lambda: must(call(launch, [q, k, v, group, o], [heads, length]))
        run()
        torch.cuda.synchronize()
        first = o.clone()
        run()
        scores = torch.einsum("hid,hjd->hij", q[:2].double(), k[:2].double()) * (0.12751743 * 0.6931471805599453)
        scores.masked_fill_(torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1), float("-inf"))
        expected = torch.einsum("hij,hjd->hid", torch.softmax(scores, -1), v[:2].double())
        sdpa = lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
        report(f"{name} {heads}x{length}", o[:2], expected, run, sdpa, "sdpa")
        if not torch.equal(first, o):
            print("not the same bits twice:", name, heads, length)


def decode(name):
    """One query a head; keys behind the length of a sequence are not read: they are NaN here."""
    launch = compiled(name, "decode")
    scale = 128 ** -0.5
    cases = [(2, 4, 8, 4096, [4096, 4096]), (2, 4, 8, 4096, [4001, 1234]), (3, 4, 5, 700, [700, 0, 129]), (1, 1, 1, 1, [1]), (4, 2, 8, 130, [0, 1, 127, 130]),
             (16, 8, 4, 8192, [8192] * 16)]
    for batch, heads, group, length, lengths in cases:
        q = torch.randn(batch, heads, group, 128, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, heads, length, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        there = torch.arange(length, device="cuda")[None, :] < torch.tensor(lengths, device="cuda")[:, None]
        scores = torch.einsum("bhgd,bhjd->bhgj", q.double(), k.double()) * scale
        p = torch.softmax(scores.masked_fill(~there[:, None, None, :], float("-inf")), -1).nan_to_num()
        expected = torch.einsum("bhgj,bhjd->bhgd", p, v.double())
        whole = bool(there.all())
        mask = None if whole else there[:, None, None, :]
        sdpa = lambda: torch.nn.functional.scaled_dot_product_attention(q.reshape(batch, -1, 1, 128), k, v, attn_mask=mask, enable_gqa=True)
        hidden = [t.masked_fill(~there[:, None, :, None], float("nan")) for t in (k, v)]
        sizes = torch.tensor(lengths, device="cuda", dtype=torch.int32)
        for parts in [1, 4, 8]:
            o = torch.full_like(q, float("nan"))
            count, base_2 = ctypes.c_int(parts), ctypes.c_float(scale * 1.4426950408889634)
            run = lambda: must(call(launch, [q, *hidden, sizes, count, base_2, o], [batch, heads, group, length]))
            run()
            torch.cuda.synchronize()
            first = o.clone()
            o.fill_(float("nan"))
            run()  # the counters are where they were
            report(f"{name[7:]} {batch}x{heads}x{group}x{length} SP {parts}", o, expected, run, sdpa, "sdpa")
            if not torch.equal(first, o):
                print("not the same bits twice:", name, batch, heads, group, length, parts)


print(torch.cuda.get_device_name(), "driver", torch.cuda.driver_version() if hasattr(torch.cuda, "driver_version") else "?")
texts = {"softmax_rows": softmax, "layernorm": layernorm, "attention_sm80": lambda: attention("attention_sm80"), "decode_last_arriver": lambda: decode("decode_last_arriver"),
         "decode_two_kernels": lambda: decode("decode_two_kernels")}
if torch.cuda.get_device_capability()[0] == 9:
    texts["attention_sm90a"] = lambda: attention("attention_sm90a")
for name, run_it in texts.items():
    if not only or name in only:
        run_it()
print(f"{'case':40} {'':6} {'error':>8} {'us':>9} {'peer us':>9}")
for row in rows:
    print(f"{row[0]:40} {row[1]:6} {row[2]:>8} {row[3]:>9} {row[4]:>9} {row[5]}")
sys.exit(any(row[1] != "ok" for row in rows))
