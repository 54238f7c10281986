#!/usr/bin/env python3
"""Kernels of the compiler's default plans beside what a user would take instead, in one process: PyTorch's SDPA (cuDNN, FlashAttention),
FlexAttention, cuBLAS, eager and torch.compile. Each cell is first compared with the peer's result. Every time is the median of replayed
graphs, the second-level cache written over before each, so the host's part counts for nobody.

    make.sh FATHOM FOLDER; speeds.py FOLDER [--quick] [DECODE.cu]    # --quick: no FlexAttention, no torch.compile
"""
import concurrent.futures
import ctypes
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "device"))
from launch import call, compiled, microseconds, must  # noqa: E402

folder = pathlib.Path(sys.argv[1])
quick = "--quick" in sys.argv
decode_files = [pathlib.Path(a) for a in sys.argv[2:] if a.endswith(".cu")]
torch.manual_seed(1)
backends = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def noise(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def sdpa(backend, *tensors, **options):
    def run():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(*tensors, **options)
    return run


def attention(d, causal):
    heads = d.get("Hk", d["H"])
    q, k, v = noise(d["B"], d["H"], d["S"], d["D"]), noise(d["B"], heads, d["T"], d["D"]), noise(d["B"], heads, d["T"], d["D"])
    grouped = {"enable_gqa": True} if heads != d["H"] else {}
    peers = {name: sdpa(b, q, k, v, is_causal=causal, **grouped) for name, b in backends.items()}
    if not quick and d["S"] == 4096:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        flex = torch.compile(flex_attention, dynamic=False)
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, d["S"], d["T"], device="cuda") if causal else None
        peers["flex"] = lambda: flex(q, k, v, block_mask=mask, enable_gqa=bool(grouped))
    return [q, k, v], q.shape, peers, 4 * d["B"] * d["H"] * d["S"] * d["T"] * d["D"] / (2 if causal else 1), 0


def with_compiled(peers, function, *tensors):
    if not quick:
        fused = torch.compile(function, dynamic=False)
        peers["inductor"] = lambda: fused(*tensors)
    return peers


def softmax(d):
    x = noise(d["R"], d["C"])
    f = lambda x: torch.softmax(x, -1)
    return [x], x.shape, with_compiled({"eager": lambda: f(x)}, f, x), 0, 4 * x.numel()


def rmsnorm(d):
    x, g = noise(d["R"], d["C"]), noise(d["C"])
    f = lambda x, g: F.rms_norm(x, (d["C"],), g, 1e-5)
    return [x, g, ctypes.c_float(1e-5)], x.shape, with_compiled({"eager": lambda: f(x, g)}, f, x, g), 0, 4 * x.numel()


def matmul(d):
    a, b = noise(d["M"], d["K"]), noise(d["K"], d["N"])
    return [a, b], (d["M"], d["N"]), {"cublas": lambda: a @ b}, 2 * d["M"] * d["N"] * d["K"], 0


operators = {"causal": lambda d: attention(d, True), "full": lambda d: attention(d, False), "softmax": softmax, "rmsnorm": rmsnorm, "matmul": matmul}
rows = []


def report(name, ours, peers, flops, moved, error, notes):
    times = {}
    for peer, run in peers.items():
        try:
            times[peer] = microseconds(run)
        except Exception as why:  # a peer that does not take the shape
            notes += f" {peer}: {str(why)[:40]}"
    own = microseconds(ours)
    best = min(times.values()) if times else float("nan")
    rate = f"{flops / own / 1e6:.0f} TFLOP/s" if flops else f"{moved / own / 1e3:.0f} GB/s"
    rows.append((name, f"{error:.1e}", f"{own:.1f}", rate, "  ".join(f"{p} {t:.1f}" for p, t in times.items()), f"{best / own:.2f}", notes))


cells = [line.split() for line in (folder / "cells.txt").read_text().splitlines()]
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    built = list(pool.map(lambda cell: compiled(folder / f"{cell[0]}.cu", cell[-1]), cells))
for (name, operator, *sizes, module), (launch, registers, spills) in zip(cells, built):
    d = {key: int(value) for key, value in (size.split("=") for size in sizes)}
    inputs, shape, peers, flops, moved = operators[operator](d)
    out = torch.full(shape, float("nan"), device="cuda", dtype=torch.bfloat16)
    ours = lambda: must(call(launch, [*inputs, out]))
    ours()
    expected = next(iter(peers.values()))().double()
    error = ((out.double() - expected).abs() / (1 + expected.abs())).max().item()
    report(name, ours, peers, flops, moved, error, ("" if error < 3e-2 else "WRONG ") + f"{registers} registers, {spills} bytes spilled")
    torch.cuda.empty_cache()
for file in decode_files:  # tests/kernel/texts/decode_*.kernel, as tests/gpu prints them
    launch, registers, spills = compiled(file, "decode")
    for b, h, hk, t in [(1, 32, 32, 32768), (1, 32, 8, 32768), (16, 32, 32, 8192), (16, 32, 8, 8192)]:
        q, k, v = noise(b, h, 1, 128), noise(b, hk, t, 128), noise(b, hk, t, 128)
        lengths, scale = torch.full((b,), t, device="cuda", dtype=torch.int32), ctypes.c_float(128 ** -0.5 * 1.4426950408889634)
        out = torch.full((b, hk, h // hk, 128), float("nan"), device="cuda", dtype=torch.bfloat16)
        peers = {p: sdpa(backend, q, k, v, **({"enable_gqa": True} if h != hk else {})) for p, backend in backends.items()}
        expected = peers["flash"]().double().view(out.shape)
        candidates = []
        for parts in (1, 2, 4, 8, 16, 32):
            run = lambda parts=parts: must(call(launch, [q.view(b, hk, h // hk, 128), k, v, lengths, ctypes.c_int(parts), scale, out], [b, hk, h // hk, t]))
            run()
            torch.cuda.synchronize()
            error = ((out.double() - expected).abs() / (1 + expected.abs())).max().item()
            candidates.append((microseconds(run), parts, error, run))
        _, parts, error, run = min(candidates, key=lambda c: c[0])
        report(f"{file.stem} B{b} H{h}/{hk} T{t}", run, peers, 0, 4 * k.numel(), error, ("" if error < 1e-2 else "WRONG ") + f"{parts} parts")
print(torch.cuda.get_device_name(), "torch", torch.__version__, "cudnn", torch.backends.cudnn.version())
print(f"{'cell':46} {'error':>8} {'us':>9}  rate; peers in us; best peer / ours; notes")
for name, error, own, rate, peers, ratio, notes in rows:
    print(f"{name:46} {error:>8} {own:>9}  {rate}; {peers}; {ratio}; {notes}")
sys.exit(any("WRONG" in row[-1] for row in rows))
