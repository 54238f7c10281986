#!/usr/bin/python3
"""What the command line makes for NVIDIA's GPUs (docs/command-line.md): assembly, what ptxas says, and the exported folder.

    cuda_test.py PATH_OF_FATHOM [unittest options]

nvcc, the driver and the kernel are stood in for (fake_nvcc.sh, fake_cuda.c), so that every way in which they fail is met on any machine; where
nvcc is installed the real one is asked besides.
"""
import ast
import importlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import cli_test
from cli_test import Contract, fathom

HERE = pathlib.Path(__file__).resolve().parent
TINY = ("softmax", "--target", "sm_80", "--dim", "R=40", "--dim", "C=64")
REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'softmax_rows_y' for 'sm_80'
    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 800 bytes smem, 368 bytes cmem[0]
"""
SERIALISED = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'k'\n"
ROWS = """dim R = runtime 300, C = 40

operator rows(x: f32[R, C], g: f32) -> (y: f32[R])
{
  y[i] = g * sum[j](x[i,j])
}
"""
FILES = ["README.md", "bench.py", "checks.md", "kernel.cu", "launch.py", "plan.trace", "program.fathom", "reference.py", "test.py"]


class Stood(Contract):
    """A toolkit of stand-ins; names with blanks, since no shell may see them."""

    def setUp(self):
        super().setUp()
        self.tools = os.path.join(self.folder.name, "the tools")
        self.temporary = os.path.join(self.folder.name, "for a while; $(x)")
        for folder in (self.tools, self.temporary):
            os.mkdir(folder)
        shutil.copy(HERE / "fake_nvcc.sh", os.path.join(self.tools, "nvcc"))
        self.log = os.path.join(self.folder.name, "log")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA", "FAKE"))}
        self.env.update(PATH=f"{self.tools}:/usr/bin:/bin", TMPDIR=self.temporary, FAKE_LOG=self.log, FAKE_REPORT=self.file("report", REPORT))

    def disassembler(self, name, prints):
        path = os.path.join(self.tools, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(f'#!/bin/sh\ngrep -q "machine code" "$2" && echo "{prints}"\n')
        os.chmod(path, 0o755)

    def nothing_is_left(self):
        self.assertEqual(os.listdir(self.temporary), [])


class Assembly(Stood):
    def test_without_nvcc_it_says_what_to_install_and_what_works_without(self):
        self.env["PATH"] = os.path.join(self.folder.name, "nowhere")
        for form in ("asm", "ptx", "sass"):
            done = fathom("compile", *TINY, "--emit", form, env=self.env)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            for word in ("sm_80", "no nvcc on the PATH", "Install the CUDA toolkit", "--emit code works without it"):
                self.assertIn(word, done.stderr)
        self.assertEqual(fathom("compile", *TINY, "--emit", "code", env=self.env).returncode, 0)
        self.env["CUDA_HOME"] = os.path.join(self.folder.name, "toolkit")
        shutil.copytree(self.tools, os.path.join(self.env["CUDA_HOME"], "bin"))
        self.assertNotIn("no nvcc", fathom("compile", *TINY, "--emit", "ptx", env=self.env).stderr)

    def test_ptx_where_nothing_disassembles_and_it_says_so(self):
        done = fathom("compile", "softmax", "--target", "sm_90a", "--emit", "asm", env=self.env)
        self.assertEqual((done.returncode, done.stdout), (0, ".version 8.4\n"), done.stderr)
        for word in ("PTX for sm_90a", "nvcc 12.4", "cuobjdump or nvdisasm"):
            self.assertIn(word, done.stderr)
        with open(self.log, encoding="utf-8") as stream:
            self.assertIn("-std=c++17 -gencode=arch=compute_90a,code=compute_90a -ptx", stream.read())
        self.nothing_is_left()

    def test_sass_where_something_disassembles(self):
        for name in ("nvdisasm", "cuobjdump"):
            self.disassembler(name, "by " + name)
            done = fathom("compile", *TINY, "--emit", "asm", env=self.env)
            self.assertEqual((done.returncode, done.stdout), (0, f"by {name}\n"), done.stderr)
            self.assertIn("SASS for sm_80", done.stderr)
            self.assertIn("--emit ptx", done.stderr)
        self.assertEqual(fathom("compile", *TINY, "--emit", "ptx", env=self.env).stdout, ".version 8.4\n")
        self.assertEqual(fathom("compile", *TINY, "--emit", "sass", env=self.env).stdout, "by cuobjdump\n")
        with open(self.log, encoding="utf-8") as stream:
            self.assertIn("-gencode=arch=compute_80,code=sm_80 -cubin -Xptxas -v", stream.read())
        self.nothing_is_left()

    def test_sass_alone_is_refused_where_nothing_disassembles(self):
        done = fathom("compile", *TINY, "--emit", "sass", env=self.env)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for word in ("cuobjdump or nvdisasm", "--emit ptx works without"):
            self.assertIn(word, done.stderr)

    def test_the_document_tells_what_ptxas_says_of_each_kernel(self):
        done = fathom("compile", *TINY, "--emit", "asm", "--json", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["level"], document["form"], document["maker"], document["text"]), ("asm", "ptx", "nvcc 12.4", ".version 8.4\n"))
        self.assertEqual(document["faults"], [])
        kernel, = document["kernels"]
        self.assertEqual({k: kernel[k] for k in ("name", "architecture", "registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes",
                                                 "static_shared_bytes")},
                         {"name": "softmax_rows_y", "architecture": "sm_80", "registers": 40, "stack_bytes": 24, "spill_store_bytes": 16,
                          "spill_load_bytes": 8, "static_shared_bytes": 800})
        self.assertIn("dynamic_shared_bytes", kernel)
        self.nothing_is_left()

    def test_products_that_ptxas_serialises_are_an_error(self):
        self.env["FAKE_REPORT"] = self.file("serialised", SERIALISED + REPORT)
        done = fathom("compile", *TINY, "--emit", "asm", "--json", env=self.env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ptxas C7510: Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'k'", done.stderr)
        self.assertEqual([f["code"] for f in json.loads(done.stdout)["faults"]], ["C7510"])

    def test_what_nvcc_and_ptxas_do_not_say_is_an_error(self):
        self.env["FAKE_MODE"] = "fail"
        done = fathom("compile", *TINY, "--emit", "asm", env=self.env)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for word in ("status 2", "this is not C++"):
            self.assertIn(word, done.stderr)
        del self.env["FAKE_MODE"]
        self.env["FAKE_REPORT"] = self.file("silent", "ptxas info    : 0 bytes gmem\n")
        done = fathom("compile", *TINY, "--emit", "asm", "--json", env=self.env)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no kernel", done.stderr)
        self.nothing_is_left()

    def test_a_signal_ends_what_was_started_and_leaves_nothing(self):
        self.env["FAKE_MODE"] = "hang"
        process = subprocess.Popen([cli_test.FATHOM, "compile", *TINY, "--emit", "ptx"], env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        started = self.log + ".pid"
        for _ in range(600):
            if os.path.exists(started) and os.path.getsize(started):
                break
            time.sleep(0.05)
        with open(started, encoding="utf-8") as stream:
            child = int(stream.read())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(child, 0)
        self.nothing_is_left()

    def test_the_forms_are_for_gpus(self):
        for form in ("ptx", "sass"):
            self.assert_fails(2, ["targets like sm_80", "--emit asm"], "compile", "softmax", "--emit", form)

    @unittest.skipUnless(shutil.which("nvcc"), "nvcc is not installed")
    def test_nvcc_itself(self):
        for target in ("sm_80", "sm_90a"):
            document = self.document("compile", "softmax", "--target", target, "--emit", "ptx", "--json")
            self.assertIn(f".target {target}", document["text"])
            self.assertEqual(document["faults"], [])
            names = [kernel["name"] for kernel in document["kernels"]]
            self.assertEqual(names, sorted(names))
            for kernel in document["kernels"]:
                self.assertIn(f".entry {kernel['name']}(", document["text"])
                self.assertEqual(kernel["architecture"], target)
                self.assertIsNotNone(kernel["dynamic_shared_bytes"])
                self.assertGreater(kernel["registers"], 8)


def folder_of(test, name, *arguments, options=("--quick",)):
    """An exported folder, and its path."""
    path = os.path.join(test.folder.name, name)
    done = fathom("export", *arguments, "--as", "cuda", *options, "-o", path)
    test.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
    return path


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as stream:
        return stream.read()


class Folder(Contract):
    def test_holds_the_kernel_and_all_that_made_it_the_same_each_time(self):
        arguments = ("attention", "--target", "sm_80", "--dim", "S=256", "--dim", "T=384", "--set", "o/j/tile=64", "--deterministic", "batch")
        one, two = folder_of(self, "one", *arguments), folder_of(self, "two", *arguments)
        self.assertEqual(sorted(os.listdir(one)), FILES)
        for name in FILES:
            self.assertEqual(text_of(one, name), text_of(two, name), name)
            self.assertNotIn(self.folder.name, text_of(one, name))
        again = next(line for line in text_of(one, "README.md").splitlines() if line.startswith("fathom compile "))
        made = subprocess.run([cli_test.FATHOM, *again.split()[1:]], cwd=one, capture_output=True, text=True, check=False)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertEqual(made.stdout, text_of(one, "kernel.cu"))
        for name in FILES:
            if name.endswith(".py"):
                ast.parse(text_of(one, name))

    def test_says_what_the_kernel_wants(self):
        readme = text_of(folder_of(self, "dynamic", "attention_dynamic", "--target", "sm_90a"), "README.md")
        for word in ("int attention_dynamic_launch(", "S given at run time, for example 512", "| q | f32 | B, H, S, D |", "H = 8",
                     "nvcc -std=c++17 -arch=sm_90a", "NVRTC", "exit with 77", "| o/j/tile |"):
            self.assertIn(word, readme)

    def test_tells_how_the_steps_were_checked(self):
        small = ("softmax", "--target", "sm_80", "--dim", "R=8", "--dim", "C=64")
        checked = folder_of(self, "checked", *small, options=())
        self.assertRegex(text_of(checked, "checks.md"), r"\| lower-to-kernel \| kernel \| \d+ \| passed \|")
        self.assertRegex(text_of(checked, "README.md"), r"Of \d+ steps \d+ passed their check, 0 failed")
        self.assertIn("not checked", text_of(folder_of(self, "quick", *small), "checks.md"))

    def test_is_refused_where_there_is_no_kernel(self):
        path = os.path.join(self.folder.name, "none")
        self.assert_fails(1, ["sm_80", "no Kernel level"], "export", self.file("wide.fathom", cli_test.WIDE_PRODUCT), "--target", "sm_80",
                          "--as", "cuda", "-o", path)
        self.assert_fails(1, ["No CUDA C++ is printed for x86-64", "sm_90a"], "export", "softmax", "--as", "cuda", "-o", path)
        self.assertFalse(os.path.exists(path))
        self.assert_fails(2, ["a folder", "-o softmax_rows-cuda"], "export", *TINY, "--as", "cuda")
        self.assert_fails(2, ["cannot be made"], "export", *TINY, "--as", "cuda", "--quick", "-o", self.file("a file", ""))

    def test_carries_the_mark_of_a_plan_that_is_not_sound(self):
        path = folder_of(self, "unsound", "attention_nomask", "--target", "sm_80", "--set", "o.sum/j/repair=acc * exp(p.m' - p.m)", "--unsound")
        for name in ("kernel.cu", "README.md"):
            self.assertIn("UNSOUND: o.sum/j/repair", text_of(path, name))
        self.assertIn("--unsound", text_of(path, "README.md"))


def modules(path):
    """reference, launch and test of a folder."""
    for name in ("reference", "launch", "test"):
        sys.modules.pop(name, None)
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    try:
        return [importlib.import_module(name) for name in ("reference", "launch", "test")]
    finally:
        sys.path.remove(path)


class Reference(Contract):
    """The mathematics that is printed for NumPy, against the same in another hand."""

    def rows(self, name, *arguments, sizes=None):
        """Every result at every row, and the inputs in f64."""
        path = folder_of(self, name, *arguments)
        reference, launch, _ = modules(path)
        inputs, sizes = launch.inputs(sizes=sizes)
        evaluation = reference.Evaluation(inputs, sizes)
        types = {p["name"]: p["dtype"] for p in reference.PARAMETERS}
        decoded = {n: reference.decoded(a, types[n]).astype(float) for n, a in inputs.items()}
        shapes = reference.extents(evaluation)
        results = {}
        for p in reference.PARAMETERS:
            if p["result"]:
                shape = shapes[p["name"]]
                places = launch.np.ix_(*(launch.np.arange(n) for n in shape))
                results[p["name"]] = launch.np.broadcast_to(evaluation.at(p["name"], *places), shape)
        return results, decoded, launch.np, reference

    def assert_near(self, np, actual, expected):
        self.assertEqual(np.shape(actual), np.shape(expected))
        self.assertLess(float(np.max(np.abs(actual - expected) / (1 + np.abs(expected)))), 1e-9)

    def test_attention_with_shared_heads_and_rows_that_see_nothing(self):
        results, x, np, _ = self.rows("a", "attention", "--target", "sm_80", *(f"--dim={d}" for d in ("B=1", "H=4", "Hk=2", "S=48", "T=32", "D=64")))
        k, v = (np.repeat(x[n], 2, axis=1) for n in "kv")
        scores = np.einsum("bhid,bhjd->bhij", x["q"], k) / 8
        scores[:, :, np.arange(32)[None, :] > np.arange(48)[:, None] - 16] = -np.inf
        with np.errstate(all="ignore"):
            p = np.exp(scores - scores.max(-1, keepdims=True))
            p = np.nan_to_num(p / p.sum(-1, keepdims=True))
        self.assertEqual(float(np.abs(results["o"][:, :, :16]).max()), 0)
        self.assert_near(np, results["o"], np.einsum("bhij,bhjd->bhid", p, v))

    def test_sizes_of_run_time(self):
        results, x, np, _ = self.rows("r", "attention_dynamic", "--target", "sm_80", sizes={"S": 5, "T": 9})
        self.assertEqual(results["o"].shape, (1, 8, 5, 64))
        self.assertEqual(x["k"].shape, (1, 8, 9, 64))

    def test_rows_and_integers(self):
        results, x, np, _ = self.rows("c", "cross_entropy", "--target", "sm_80", "--dim", "R=64", "--dim", "C=128")
        self.assertGreater(int(x["target"].max()), 7)
        self.assertLessEqual(int(x["target"].max()), 128)
        lse = np.log(np.exp(x["x"]).sum(1))
        padded = np.concatenate([x["x"], np.zeros((64, 1))], axis=1)  # a target of C picks nothing
        self.assert_near(np, results["lse"], lse)
        self.assert_near(np, results["loss"], lse - padded[np.arange(64), x["target"].astype(int)])
        results, x, np, _ = self.rows("l", "layernorm", "--target", "sm_80", "--dim", "R=8", "--dim", "C=64")
        rows = x["x"]
        normal = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + x["eps"])
        self.assert_near(np, results["y"], normal * x["g"] + x["b"])

    def test_parts_of_what_is_too_large_for_one_step(self):
        results, x, np, reference = self.rows("m", "matmul_bias_gelu", "--target", "sm_80", *(f"--dim={d}" for d in ("M=64", "N=128", "K=64")))
        z = x["a"] @ x["w"] + x["b"]
        self.assert_near(np, results["y"], z * 0.5 * (1 + reference.erf(z / np.sqrt(2))))
        reference.MOST, inputs = 1 << 10, {n: x[n].astype(np.float32) for n in x}
        places = np.ix_(np.arange(64), np.arange(128))
        self.assert_near(np, reference.Evaluation(inputs, reference.DIMS).at("y", *places), results["y"])


class Scripts(Stood):
    """test.py and bench.py with a driver and a kernel that are stood in for."""

    @classmethod
    def setUpClass(cls):
        if shutil.which("cc") is None:
            raise unittest.SkipTest("there is no C compiler")

    def setUp(self):
        super().setUp()
        library = os.path.join(self.folder.name, "libcuda.so.1")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(HERE / "fake_cuda.c")], check=True)
        self.env.update(LD_LIBRARY_PATH=self.folder.name, FAKE_LIBRARY=library, CUDA_HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1")
        self.path = folder_of(self, "rows", self.file("rows.fathom", ROWS), "--target", "sm_80")

    def script(self, name, *arguments, **env):
        return subprocess.run([sys.executable, os.path.join(self.path, name), *arguments], env={**self.env, **env}, capture_output=True,
                              text=True, timeout=120, check=False)

    def test_a_kernel_that_is_right_passes(self):
        done = self.script("test.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for word in ("rows on stand-in 0, sm_80", "1 of 1 rows compared", "passed"):
            self.assertIn(word, done.stdout)
        self.assertEqual(self.script("test.py", "--dim", "R=7").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path)), FILES)
        self.nothing_is_left()

    def test_a_kernel_that_is_wrong_fails_and_it_says_where(self):
        for mode, word in (("wrong", "y[299] is "), ("hole", "y[150] is nan, and should be "), ("beside", "bytes beside y were written"),
                           ("unsteady", "y has other bits at a second launch")):
            done = self.script("test.py", FAKE_KERNEL=mode)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("wrong: " + word, done.stdout)
            self.assertNotIn("passed", done.stdout)
        self.assertNotEqual(self.script("test.py", FAKE_KERNEL="refuse").returncode, 0)

    def test_what_is_missing_is_said_with_its_cure(self):
        for script in ("test.py", "bench.py"):
            for env, words in (({"FAKE_NO_GPU": "1"}, ("no GPU", "nvidia-smi")), ({"FAKE_CAPABILITY": "75"}, ("sm_80 or later", "sm_75")),
                               ({"LD_LIBRARY_PATH": ""}, ("libcuda.so.1", "driver"))):
                if "LD_LIBRARY_PATH" in env and shutil.which("nvidia-smi"):
                    continue  # this machine has the driver
                done = self.script(script, **env)
                self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
                for word in words:
                    self.assertIn(word, done.stdout)
            os.rename(os.path.join(self.tools, "nvcc"), os.path.join(self.tools, "gone"))
            done = self.script(script, PATH=self.tools)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nvcc is missing. Install the CUDA toolkit", done.stderr)
            os.rename(os.path.join(self.tools, "gone"), os.path.join(self.tools, "nvcc"))
        done = self.script("test.py", FAKE_MODE="fail")
        self.assertEqual(done.returncode, 1)
        self.assertIn("this is not C++", done.stderr)
        self.assertEqual(self.script("test.py", "--dim", "C=7").returncode, 2)

    def test_times_are_said_with_their_spread(self):
        done = self.script("bench.py", "--launches", "5")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for title in ("cold", "warm"):
            self.assertRegex(done.stdout, rf"(?m)^{title} +250\.0 us   20th to 80th percentile 250\.0 to 250\.0 us, least 250\.0 us, 5 launches$")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: cuda_test.py PATH_OF_FATHOM [unittest options]")
    cli_test.FATHOM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
