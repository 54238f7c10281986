#!/usr/bin/env python3
"""Every sample on a GPU: compiles what make.sh printed, compares with references of PyTorch in f64, 100 launches bit for bit, a guard band around
every result, a second stream, a graph; times beside PyTorch's own operators. Works on any machine with nvcc, a GPU and PyTorch.

    samples.py FOLDER [--quick]        # --quick: no timing, 3 launches: for compute-sanitizer
"""
import ctypes
import json
import pathlib
import sys

import torch

from launch import call, compiled, microseconds, must

folder, quick = pathlib.Path(sys.argv[1]), "--quick" in sys.argv
sizes = json.loads((folder / "dims.json").read_text())
types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
# Errors relative to 1 + |reference|: half an ulp of the result's type and of what is rounded on the way.
tolerance = {"f16": 4e-3, "bf16": 3e-2, "f32": 2e-5}


def causal(s, t):
    return torch.ones(s, t, device="cuda", dtype=torch.bool).triu(t - s + 1)


def attention_reference(q, k, v, is_causal):
    """Two heads at a time: 64 rows would not see every tile."""
    out = torch.empty(q.shape, device="cuda", dtype=torch.float64)
    for h in range(q.shape[1]):
        kv = h // (q.shape[1] // k.shape[1])
        scores = torch.einsum("bid,bjd->bij", q[:, h].double(), k[:, kv].double()) / q.shape[-1] ** 0.5
        if is_causal:
            scores.masked_fill_(causal(q.shape[2], k.shape[2]), float("-inf"))
        out[:, h] = torch.einsum("bij,bjd->bid", torch.softmax(scores, -1).nan_to_num(0), v[:, kv].double())
    return out


def random(dtype, *shape, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


def contract_breakers(x):
    """What a launcher has to refuse: another rank, another extent, other strides, an address that is not aligned."""
    yield "another rank", x[None]
    yield "another extent", torch.cat([x, x])[: x.shape[0] + 1]
    if x.dim() > 1 and x.shape[-1] > 1 and x.shape[-2] > 1:
        yield "other strides", torch.empty(x.shape[:-2] + (x.shape[-1], x.shape[-2]), device="cuda", dtype=x.dtype).transpose(-1, -2)
    whole = torch.empty(x.numel() + 1, device="cuda", dtype=x.dtype)
    yield "an address that is not aligned", whole[1:].view(x.shape)


def rows(dtype, d):
    return random(dtype, d["R"], d["C"], scale=2)


# name -> (module, inputs, references, peer); inputs are in the order of the operator.
def softmax(dtype, d):
    x = rows(dtype, d)
    return "softmax_rows", [x], [torch.softmax(x.double(), 1)], [x.shape], [dtype], lambda: torch.softmax(x, 1)


def logsumexp(dtype, d):
    x = rows(dtype, d)
    return "logsumexp_rows", [x], [torch.logsumexp(x.double(), 1)], [x.shape[:1]], [dtype], lambda: torch.logsumexp(x, 1)


def rmsnorm(dtype, d):
    x, g = rows(dtype, d), random(dtype, d["C"])
    expected = x.double() / (x.double().pow(2).mean(1, keepdim=True) + 1e-5).sqrt() * g.double()
    return "rmsnorm_rows", [x, g, ctypes.c_float(1e-5)], [expected], [x.shape], [dtype], lambda: torch.nn.functional.rms_norm(x, (d["C"],), g, 1e-5)


def layernorm(dtype, d):
    x, g, b = rows(dtype, d), random(dtype, d["C"]), random(dtype, d["C"])
    expected = torch.nn.functional.layer_norm(x.double(), (d["C"],), g.double(), b.double(), 1e-5)
    peer = lambda: torch.nn.functional.layer_norm(x, (d["C"],), g, b, 1e-5)
    return "layernorm_rows", [x, g, b, ctypes.c_float(1e-5)], [expected], [x.shape], [dtype], peer


def cross_entropy(dtype, d):
    x, target = rows(dtype, d), torch.randint(0, d["C"], (d["R"],), device="cuda", dtype=torch.int32)
    lse = torch.logsumexp(x.double(), 1)
    loss = lse - x.double().gather(1, target.long()[:, None])[:, 0]
    peer = lambda: torch.nn.functional.cross_entropy(x, target.long(), reduction="none")
    return "cross_entropy", [x, target], [loss, lse], [x.shape[:1]] * 2, [dtype] * 2, peer


def matmul_bias_gelu(dtype, d):
    a, w, b = random(dtype, d["M"], d["K"]), random(dtype, d["K"], d["N"], scale=d["K"] ** -0.5), random(dtype, d["N"])
    expected = torch.nn.functional.gelu(a.double() @ w.double() + b.double(), approximate="none")
    peer = lambda: torch.nn.functional.gelu(torch.addmm(b, a, w))
    return "matmul_bias_gelu", [a, w, b], [expected], [(d["M"], d["N"])], [dtype], peer


def attention(module, is_causal):
    def made(dtype, d):
        kv = d.get("Hk", d["H"])
        q, k, v = random(dtype, d["B"], d["H"], d["S"], d["D"]), random(dtype, d["B"], kv, d["T"], d["D"]), random(dtype, d["B"], kv, d["T"], d["D"])
        peer = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=kv != d["H"])
        return module, [q, k, v], [attention_reference(q, k, v, is_causal)], [q.shape], [dtype], peer
    return made


samples = {"softmax": softmax, "logsumexp": logsumexp, "rmsnorm": rmsnorm, "layernorm": layernorm, "cross_entropy": cross_entropy,
           "matmul_bias_gelu": matmul_bias_gelu, "attention": attention("attention", True), "attention_nomask": attention("attention_nomask", False),
           "attention_dynamic": attention("attention_dynamic", True)}
table = []
for source in sorted(folder.glob("*.cu")):
    name, kind = source.stem.split(".")
    torch.manual_seed(1)
    d = sizes[name]
    module, inputs, expected, shapes, dtypes, peer = samples[name](types[kind], d)
    run_time = [d[x] for x in d.get("runtime", [])]
    faults = []
    try:
        launch, registers, spills = compiled(source, module)
        guard, guarded, results = 256, [], []
        for shape, dtype in zip(shapes, dtypes):
            count = int(torch.tensor(shape).prod())
            whole = torch.full((count + 2 * guard,), float("nan"), device="cuda", dtype=dtype)
            guarded.append(whole)
            results.append(whole[guard:guard + count].view(shape))
        run = lambda stream=None: must(call(launch, [*inputs, *results], run_time, stream))
        run()
        torch.cuda.synchronize()
        errors = [((r.double() - e).abs() / (1 + e.abs())).max().item() for r, e in zip(results, expected)]
        finite = all(bool(torch.isfinite(r).all()) for r in results)
        if not finite or not max(errors) <= tolerance[kind]:
            faults.append("WRONG")
        if not all(bool(torch.isnan(w[:guard]).all() and torch.isnan(w[-guard:]).all()) for w in guarded):
            faults.append("writes outside")
        first = [r.clone() for r in results]
        other = torch.cuda.Stream()
        for i in range(3 if quick else 100):
            run(other if i % 2 else None)
            torch.cuda.synchronize()
            if not all(torch.equal(f, r) for f, r in zip(first, results)):
                faults.append("not the same bits")
                break
        if not quick:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run()
            for r in results:
                r.fill_(float("nan"))
            graph.replay()
            torch.cuda.synchronize()
            if not all(torch.equal(f, r) for f, r in zip(first, results)):
                faults.append("graph")
        first_input = next(x for x in inputs if isinstance(x, torch.Tensor) and x.dim() > 0)
        for what, bad in contract_breakers(first_input):
            replaced = [bad if x is first_input else x for x in inputs]
            if not call(launch, [*replaced, *results], run_time):
                faults.append(f"takes {what}")
        times = ("", "") if quick else (f"{microseconds(run):.1f}", f"{microseconds(peer):.1f}")
        table.append((source.stem, ", ".join(faults) or "ok", f"{max(errors):.1e}", registers, spills, *times))
    except RuntimeError as error:
        table.append((source.stem, str(error)[:150], "", "", "", "", ""))
print(torch.cuda.get_device_name(), folder.name)
print(f"{'sample':26} {'':8} {'error':>8} {'regs':>5} {'spill':>6} {'us':>9} {'peer us':>9}")
for row in table:
    print(f"{row[0]:26} {row[1]:8} {row[2]:>8} {row[3]:>5} {row[4]:>6} {row[5]:>9} {row[6]:>9}")
sys.exit(any(row[1] != "ok" for row in table))
