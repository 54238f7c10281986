"""Printed kernels on a GPU: compiles a .cu with nvcc and calls its launcher on tensors of PyTorch."""
import ctypes
import pathlib
import subprocess

import torch


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.POINTER(ctypes.c_longlong)), ("strides", ctypes.POINTER(ctypes.c_longlong)),
                ("rank", ctypes.c_int)]


def compiled(source, module, level="-O3"):
    """The launcher, and what ptxas says of each kernel."""
    source = pathlib.Path(source)
    major, minor = torch.cuda.get_device_capability()
    architecture = f"{major}{minor}" + ("a" if major == 9 else "")  # with what only this generation has
    library = source.with_suffix(f".{level[1:]}.so")
    command = ["nvcc", "-std=c++17", "-Xptxas", level, f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v", "-o", str(library), str(source)]
    report = library.with_suffix(".txt")
    if not report.exists():
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{source.name}: {done.stderr[-2000:]}")
        report.write_text(done.stderr)
    lines = report.read_text().splitlines()
    registers = [int(line.split("Used ")[1].split(" ")[0]) for line in lines if "Used" in line]
    spills = sum(int(line.split(" bytes spill stores")[0].split(" ")[-1]) for line in lines if "spill stores" in line)
    launch = getattr(ctypes.CDLL(str(library)), module + "_launch")
    launch.restype = ctypes.c_int
    return launch, max(registers), spills


def call(launch, arguments, dims=(), stream=None):
    """Tensors and plain ctypes numbers, in the module's order. What does not hold, or nothing."""
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
        raise RuntimeError("refused: " + answer)


def microseconds(run, rounds=15):
    """Median of single runs, the second-level cache written over before each. Runs are replayed graphs: the host's part is not counted, ours
    and the peer's alike."""
    flush = torch.empty(64 * 1024 * 1024, dtype=torch.int32, device="cuda")
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(rounds):
        flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]
