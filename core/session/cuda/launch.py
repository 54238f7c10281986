"""Builds kernel.cu with nvcc and calls it through its C interface. Needs NumPy, nvcc and NVIDIA's driver; no PyTorch.

    arguments, sizes = launch.inputs()          # random ones; or arrays of your own, as `inputs` makes them
    kernel = launch.Kernel(launch.Device())
    outputs = kernel.run(arguments, sizes)      # NumPy arrays, by name
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77  # what a test exits with where it cannot run
try:
    import numpy as np
except ImportError:
    sys.exit("NumPy is missing. Install it: python3 -m pip install numpy")

import reference

FOLDER = pathlib.Path(__file__).resolve().parent
GUARD = 256  # bytes on either side of every tensor, which nothing may touch


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


class Device:
    """The first GPU, through the driver's own library."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            skip("there is no libcuda.so.1 here. Run this on a machine with an NVIDIA GPU and its driver.")
        count, self.number, context, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(256)
        if self.library.cuInit(0) != 0 or self.library.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
            skip("the driver finds no GPU here. nvidia-smi says what is wrong.")
        self.call("cuDeviceGet", ctypes.byref(self.number), 0)
        self.call("cuDeviceGetName", name, 256, self.number)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
        self.call("cuCtxSetCurrent", context)
        self.name = name.value.decode()
        self.capability = self.attribute(75) * 10 + self.attribute(76)
        self.cache_bytes = self.attribute(38)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else status}")

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.number)
        return value.value

    def take(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def give_back(self, pointer):
        self.call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def fill(self, pointer, byte, size):
        self.call("cuMemsetD8_v2", ctypes.c_uint64(pointer), ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def write(self, pointer, array):
        if array.nbytes:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))

    def read(self, pointer, array):
        if array.nbytes:
            self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer), ctypes.c_size_t(array.nbytes))

    def wait(self):
        self.call("cuCtxSynchronize")


def build(capability):
    """The shared library, made in a folder of its own that is gone with this process."""
    number = reference.TARGET.split("_")[1]
    if number.endswith("a"):  # what only one generation has
        if int(number[:-1]) != capability:
            skip(f"the kernel is for {reference.TARGET} alone, and this GPU is sm_{capability}. Export the plan for another target.")
    elif int(number) > capability:
        skip(f"the kernel is for {reference.TARGET} or later, and this GPU is sm_{capability}. Export the plan for another target.")
    else:
        number = str(capability)
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=os.path.join(home, "bin"))
    if nvcc is None:
        sys.exit("nvcc is missing. Install the CUDA toolkit and put its folder bin on the PATH, or set CUDA_HOME.")
    build.folder = tempfile.TemporaryDirectory()
    library = os.path.join(build.folder.name, "kernel.so")
    done = subprocess.run([nvcc, "-std=c++17", f"-gencode=arch=compute_{number},code=sm_{number}", "-shared", "-Xcompiler", "-fPIC",
                           "-o", library, str(FOLDER / "kernel.cu")], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("nvcc does not compile kernel.cu:\n" + done.stderr + done.stdout)
    return ctypes.CDLL(library)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.POINTER(ctypes.c_longlong)), ("strides", ctypes.POINTER(ctypes.c_longlong)),
                ("rank", ctypes.c_int)]


def shape_of(parameter, sizes):
    return reference.extents(reference.Evaluation({}, sizes))[parameter["name"]]


def stored(array, parameter):
    """The bytes as they lie in memory, and the strides of the declared axes, in elements."""
    order = parameter["order"] or list(range(array.ndim))
    memory = np.ascontiguousarray(array.transpose(order)) if array.ndim else array
    strides, step = [0] * array.ndim, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= array.shape[axis]
    return memory, strides


def as_declared(memory, parameter):
    return memory.transpose(np.argsort(parameter["order"])) if parameter["order"] else memory


def inputs(seed=0, sizes=None):
    """Random arguments in range, stored as the kernel takes them, and the sizes: floats of mean 0 and variance 1."""
    sizes = {**reference.DIMS, **(sizes or {})}
    random, arguments = np.random.default_rng(seed), {}
    scalars = [p for p in reference.PARAMETERS if not p["result"] and not len(shape_of(p, sizes)) and p["dtype"][0] in "bf"]
    for p in reference.PARAMETERS:
        if p["result"]:
            continue
        shape = shape_of(p, sizes)
        if p["dtype"] in ("f16", "bf16", "f32", "f64"):
            values = random.standard_normal(shape, dtype=np.float32) if len(shape) else np.float32(random.uniform(0.25, 1.125))
            values = np.abs(values) + 0.125 if p["positive"] else values
        elif p["dtype"] == "bool":
            values = random.random(shape) < 0.75
        else:
            values = random.integers(0, min(p["largest"], 127 if p["dtype"] == "i8" else 2**31 - 1), shape, endpoint=True)
        arguments[p["name"]] = np.asarray(reference.encoded(values, p["dtype"]))
    for value in (None, 0.5, 1, 2, 8, 0, -1):
        for p in scalars if value is not None else []:
            arguments[p["name"]] = np.asarray(reference.encoded(value, p["dtype"]))
        if reference.holds(reference.Evaluation(arguments, sizes)):
            return arguments, sizes
    sys.exit("No scalar that was tried keeps the operator's conditions; give arguments of your own.")


class Kernel:
    def __init__(self, device):
        self.device = device
        self.start = getattr(build(device.capability), reference.NAME + "_launch")
        self.start.restype = ctypes.c_int

    def prepare(self, arguments, sizes):
        """Arguments on the GPU: a function that launches, and one that reads the results back and gives the memory back."""
        device, keep, placed = self.device, [], []
        tensors = (Tensor * len(reference.PARAMETERS))()
        for i, p in enumerate(reference.PARAMETERS):
            shape = shape_of(p, sizes)
            if not p["result"] and not len(shape):  # a scalar lies on the host, bf16 and f16 as f32
                as_type = "f32" if p["dtype"] in ("f16", "bf16") else p["dtype"]
                value = reference.encoded(reference.decoded(arguments[p["name"]], p["dtype"]), as_type)
                keep.append(np.ascontiguousarray(value))
                tensors[i] = Tensor(keep[-1].ctypes.data, None, None, 0)
                continue
            blank = np.empty(shape, dtype=reference.encoded(np.zeros(()), p["dtype"]).dtype)
            memory, strides = stored(blank if p["result"] else arguments[p["name"]], p)
            pointer = device.take(memory.nbytes + 2 * GUARD)
            device.fill(pointer, 0xFF, memory.nbytes + 2 * GUARD)  # NaN, until somebody writes
            if not p["result"]:
                device.write(pointer + GUARD, memory)
            numbers = ctypes.c_longlong * max(len(shape), 1)
            keep += [numbers(*shape), numbers(*strides)]
            tensors[i] = Tensor(pointer + GUARD, keep[-2], keep[-1], len(shape))
            placed.append((p, pointer, memory))
        dims = [sizes[name] for name in reference.RUNTIME]
        numbers = (ctypes.c_longlong * max(len(dims), 1))(*dims)

        def launch(stream=None):
            error = ctypes.c_char_p()
            if self.start(tensors, len(tensors), numbers, len(dims), ctypes.c_void_p(stream), ctypes.byref(error)):
                raise RuntimeError(error.value.decode() if error.value else "the launch was refused")

        def results():
            device.wait()
            outputs, touched = {}, []
            for p, pointer, memory in placed:
                whole = np.empty(memory.nbytes + 2 * GUARD, dtype=np.uint8)
                device.read(pointer, whole)
                if (whole[:GUARD] != 0xFF).any() or (whole[len(whole) - GUARD:] != 0xFF).any():
                    touched.append(p["name"])
                if p["result"]:
                    inner = whole[GUARD:len(whole) - GUARD].view(memory.dtype).reshape(memory.shape)
                    outputs[p["name"]] = as_declared(inner, p)
            return outputs, touched

        def close():
            keep.clear()
            for _, pointer, _ in placed:
                device.give_back(pointer)

        return launch, results, close

    def run(self, arguments, sizes):
        launch, results, close = self.prepare(arguments, sizes)
        launch()
        outputs, _ = results()
        close()
        return outputs
