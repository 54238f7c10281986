#!/usr/bin/env python3
"""Is the kernel right on this GPU? Builds it, runs it on random inputs and compares rows of the results with reference.py.

    test.py [--seconds N] [--dim NAME=SIZE]...     # for the reference, 60 by default; sizes of run-time dimensions

Exit status: 0 passed, 1 failed, 77 no GPU here that it is for.
"""
import argparse
import sys
import time

import launch  # says what is missing
import numpy as np
import reference

BORDERS = (0, 1, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256)  # tiles begin and end there
MOST_ROWS = 64


def rows_of(shape, output, random):
    """Numbers of rows along the last axis, as they are tried: where NaN stands, both ends, borders of tiles, others."""
    count = int(np.prod(shape[:-1]))
    if count == 0 or 0 in shape:
        return []
    holes = np.flatnonzero(np.isnan(output).reshape(count, -1).any(axis=1))[:4]
    last = shape[-2] if len(shape) > 1 else 1
    borders = [b for b in BORDERS if b < last] + [last - 1 - b for b in BORDERS if b < last]
    heads = count // last
    edges = [random.integers(heads) * last + b for b in borders]
    others = random.integers(count, size=MOST_ROWS)
    return list(dict.fromkeys(int(r) for r in (*holes, 0, count - 1, *edges, *others)))[:MOST_ROWS]


def compare(name, output, evaluation, until):
    """The largest error, how many rows were compared, and what is wrong first."""
    shape = output.shape or (1,)
    output, scalar = output.reshape(shape), not output.shape
    worst, compared, wrong = 0.0, 0, None
    for row in rows_of(shape, output, np.random.default_rng(1)):
        if compared and time.monotonic() > until:
            break
        place = [np.asarray(i) for i in np.unravel_index(row, shape[:-1])] if len(shape) > 1 else []
        subscripts = [] if scalar else [p.reshape(1) for p in place] + [np.arange(shape[-1])]
        expected = np.asarray(evaluation.at(name, *subscripts), dtype=float).reshape(-1)
        actual = output[tuple(int(p) for p in place)].reshape(-1)
        with np.errstate(all="ignore"):
            error = np.abs(actual - expected) / (1 + np.abs(expected))
        error[(actual == expected) | (np.isnan(actual) & np.isnan(expected))] = 0
        error[np.isnan(error)] = np.inf  # NaN against a number
        at = int(error.argmax())
        worst, compared = max(worst, float(error[at])), compared + 1
        if wrong is None and not error[at] <= reference.TOLERANCE:
            wrong = f"{name}{[int(p) for p in place] + [at]} is {actual[at]}, and should be {expected[at]}"
    return worst, compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--dim", action="append", default=[])
    options = parser.parse_args()
    try:
        sizes = {name: int(size) for name, size in (each.split("=") for each in options.dim)}
    except ValueError:
        parser.error("write --dim NAME=SIZE")
    if not set(sizes) <= set(reference.RUNTIME):
        parser.error(f"sizes that a launch takes: {', '.join(reference.RUNTIME) or 'none'}; others are part of the kernel")
    device = launch.Device()
    kernel = launch.Kernel(device)
    arguments, sizes = launch.inputs(sizes=sizes)
    start, results, close = kernel.prepare(arguments, sizes)
    start()
    outputs, touched = results()
    start()
    again, _ = results()
    close()
    print(f"{reference.NAME} on {device.name}, sm_{device.capability}")
    faults = [f"bytes beside {name} were written" for name in touched]
    types = {p["name"]: p["dtype"] for p in reference.PARAMETERS}
    evaluation, until = reference.Evaluation(arguments, sizes), time.monotonic() + options.seconds
    for name, output in outputs.items():
        if output.tobytes() != again[name].tobytes():
            faults.append(f"{name} has other bits at a second launch")
        worst, compared, wrong = compare(name, reference.decoded(output, types[name]).astype(float), evaluation, until)
        of = int(np.prod(output.shape[:-1]))
        print(f"{name}: largest error {worst:.1e} of 1 + |reference|, allowed {reference.TOLERANCE:.1e}; {compared} of {of} rows compared")
        faults += [wrong] if wrong else []
        if compared == 0 and output.size:
            faults.append(f"nothing of {name} was compared")
    for fault in faults:
        print("wrong:", fault)
    print("failed" if faults else "passed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
