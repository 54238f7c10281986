#!/usr/bin/python3
"""Every sample in f16, bf16 and f32 through NVIDIA's compiler: plans of sm_80 for four machines of its kind, plans of sm_90a for that one.

    nvcc_all.py FATHOM [SAMPLE…]      # of those samples alone

Prints a table. Exit status: 0; 1 where a plan or its code is missing, nvcc refuses it, ptxas serialises products of a warpgroup (C7510 to
C7514) or spills registers of a plan of sm_80; 77 where nvcc is not installed. Spills that are known stand in KNOWN_SPILLS and may only shrink.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

MACHINES = {"sm_80": ["80", "86", "89", "120"], "sm_90a": ["90a"]}
JOBS = 2
LONGEST = 240  # seconds of one compilation
LONGEST_OF_ALL = 2400
# Bytes stored and loaded by nvcc 13.0, at most, by machine: a row goes when the plan's default tiles fit the registers.
KNOWN_SPILLS = {
    ("attention", "f32"): {"120": 668},
    ("attention_dynamic", "f32"): {"120": 100},
}


def spilled(report):
    return sum(int(n) for n in re.findall(r"(\d+) bytes spill (?:stores|loads)", report))


def compiled(source, machine, until):
    """Seconds, what ptxas says, and what is wrong."""
    began = time.monotonic()
    left = min(LONGEST, until - began)
    if left <= 0:
        return 0, "", "no time was left for it"
    with tempfile.TemporaryDirectory() as folder:
        command = ["nvcc", "-std=c++17", f"-gencode=arch=compute_{machine},code=sm_{machine}", "-cubin", "-Xptxas", "-v",
                   "-o", os.path.join(folder, "kernel.cubin"), str(source)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            report, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return time.monotonic() - began, "", f"nvcc took longer than {left:.0f} s"
    wrong = "" if process.returncode == 0 else "nvcc: " + (report.strip().splitlines() or ["no words"])[-1]
    return time.monotonic() - began, report, wrong


def judge(sample, kind, target, machine, report):
    """Why the report is not good; empty: it is."""
    serialised = re.search(r"\((C751[0-4])\) *(.*)", report)
    if serialised:
        return f"{serialised[1]}: {serialised[2]}"
    registers = re.findall(r": Used (\d+) registers", report)
    if len(registers) != len(re.findall(r"Compiling entry function", report)) or not registers:
        return "ptxas does not say what each kernel takes"
    allowed = KNOWN_SPILLS.get((sample, kind), {}).get(machine, 0)
    if target == "sm_80" and spilled(report) > allowed:
        return f"{spilled(report)} bytes are spilled, {allowed} are known"
    return ""


def printed(fathom, folder, target):
    """The sources that make.sh printed, and what it had no plan for."""
    make = pathlib.Path(__file__).resolve().parent.parent / "device" / "make.sh"
    done = subprocess.run(["bash", str(make), fathom, str(folder), target], capture_output=True, text=True, timeout=600, check=False)
    missing = [line for line in done.stdout.splitlines() if line.startswith("no plan: ")]
    return sorted(folder.glob("*.cu")), missing


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: nvcc_all.py FATHOM [SAMPLE…]")
    if shutil.which("nvcc") is None:
        print("skipped: there is no nvcc on the PATH; the CUDA toolkit has it")
        return 77
    fathom, wanted, until = os.path.abspath(sys.argv[1]), set(sys.argv[2:]), time.monotonic() + LONGEST_OF_ALL
    rows, faults, jobs = [], [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for target, machines in MACHINES.items():
            sources, missing = printed(fathom, pathlib.Path(folder) / target, target)
            faults += missing
            for source in sources:
                sample, kind, _ = source.name.split(".")
                if not wanted or sample in wanted:
                    jobs += [(sample, kind, target, m, pool.submit(compiled, source, m, until)) for m in machines]
        for sample, kind, target, machine, job in jobs:
            seconds, report, wrong = job.result()
            wrong = wrong or judge(sample, kind, target, machine, report)
            registers = [int(n) for n in re.findall(r": Used (\d+) registers", report)]
            known = KNOWN_SPILLS.get((sample, kind), {}).get(machine, 0)
            said = wrong or ("ok" if spilled(report) >= known else f"ok, write {spilled(report)} into KNOWN_SPILLS instead of {known}")
            rows.append((sample, kind, f"sm_{machine}", str(max(registers, default=0)), str(spilled(report)), f"{seconds:.1f}", said))
            faults += [f"{sample} {kind} sm_{machine}: {wrong}"] if wrong else []
    print(f"{'sample':18} {'type':5} {'machine':8} {'registers':>9} {'spilled':>8} {'s':>6}")
    for row in rows:
        print(f"{row[0]:18} {row[1]:5} {row[2]:8} {row[3]:>9} {row[4]:>8} {row[5]:>6} {row[6]}")
    for fault in faults:
        print("wrong:", fault)
    if not rows:
        faults.append("nothing was compiled")
    print(f"{len(rows)} compiled, {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
