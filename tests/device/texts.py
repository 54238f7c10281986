#!/usr/bin/env python3
"""Kernels of example texts on a GPU: compiles each printed .cu of a folder, runs it against f64 references of PyTorch and beside its own
operators, prints a table. Works on any machine with nvcc, a GPU and PyTorch:

    texts.py FOLDER            # FOLDER has softmax_rows.cu, layernorm.cu, attention_sm80.cu, as tests/gpu prints them
"""
import ctypes
import pathlib
import subprocess
import sys

import torch

folder = pathlib.Path(sys.argv[1])


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.POINTER(ctypes.c_longlong)), ("strides", ctypes.POINTER(ctypes.c_longlong)),
                ("rank", ctypes.c_int)]


def compiled(name, module):
    major, minor = torch.cuda.get_device_capability()
    library = folder / f"{name}.so"
    command = ["nvcc", "-std=c++17", "-O3", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v", "-o", str(library), str(folder / f"{name}.cu")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    print(name, [line.split("info    : ")[1] for line in done.stderr.splitlines() if "Used" in line])
    launch = getattr(ctypes.CDLL(str(library)), module + "_launch")
    launch.restype = ctypes.c_int
    return launch


def call(launch, arguments, dims, stream=None):
    """Tensors of PyTorch and plain numbers, in the module's order."""
    keep, tensors = [], (Tensor * len(arguments))()
    for i, a in enumerate(arguments):
        if isinstance(a, torch.Tensor):
            extents, strides = (ctypes.c_longlong * max(a.dim(), 1))(*a.shape), (ctypes.c_longlong * max(a.dim(), 1))(*a.stride())
            tensors[i] = Tensor(a.data_ptr(), extents, strides, a.dim())
            keep += [extents, strides]
        else:
            tensors[i] = Tensor(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p), None, None, 0)
    sizes, error = (ctypes.c_longlong * max(len(dims), 1))(*dims), ctypes.c_char_p()
    stream = torch.cuda.current_stream() if stream is None else stream
    failed = launch(tensors, len(arguments), sizes, len(dims), ctypes.c_void_p(stream.cuda_stream), ctypes.byref(error))
    return error.value.decode() if failed else ""


def must(answer):
    if answer:
        raise SystemExit("refused: " + answer)


def microseconds(run, rounds=20):
    flush = torch.empty(64 * 1024 * 1024, dtype=torch.int32, device="cuda")
    for _ in range(3):
        run()
    times = []
    for _ in range(rounds):
        flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]


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


print(torch.cuda.get_device_name(), "driver", torch.cuda.driver_version() if hasattr(torch.cuda, "driver_version") else "?")
softmax()
layernorm()
attention("attention_sm80")
print(f"{'case':28} {'':6} {'error':>8} {'us':>9} {'peer us':>9}")
for row in rows:
    print(f"{row[0]:28} {row[1]:6} {row[2]:>8} {row[3]:>9} {row[4]:>9} {row[5]}")
sys.exit(any(row[1] != "ok" for row in rows))
