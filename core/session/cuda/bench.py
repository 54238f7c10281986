#!/usr/bin/env python3
"""How long does a launch take on this GPU? Run test.py first: a wrong result can be fast.

    bench.py [--launches N] [--dim NAME=SIZE]...

What is measured: from an event before a launch to one behind it, on an otherwise idle stream. That is the time of the kernels and of what the
GPU does between them; the host's part of the launch is not in it, unless the kernels are shorter than that. cold: the second-level cache is
written over before each launch. warm: launches follow each other on the same arrays. Clocks are as the driver leaves them.
Exit status: 0 done, 77 no GPU here that the kernel is for.
"""
import argparse
import ctypes
import sys

import launch  # says what is missing
import numpy as np
import reference


def events_around(device, before, launch_it, count):
    """Milliseconds of each launch, sorted."""
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        device.call("cuEventCreate", ctypes.byref(event), 0)
    times = []
    for _ in range(count):
        before()
        device.call("cuEventRecord", events[0], None)
        launch_it()
        device.call("cuEventRecord", events[1], None)
        device.call("cuEventSynchronize", events[1])
        took = ctypes.c_float()
        device.call("cuEventElapsedTime", ctypes.byref(took), *events)
        times.append(took.value)
    return np.sort(times)


def row(title, times):
    low, middle, high = np.percentile(times, (20, 50, 80))
    print(f"{title:5} {middle * 1000:9.1f} us   20th to 80th percentile {low * 1000:.1f} to {high * 1000:.1f} us, least {times[0] * 1000:.1f} us, "
          f"{len(times)} launches")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=50)
    parser.add_argument("--dim", action="append", default=[])
    options = parser.parse_args()
    try:
        sizes = {name: int(size) for name, size in (each.split("=") for each in options.dim)}
    except ValueError:
        parser.error("write --dim NAME=SIZE")
    if options.launches < 1:
        parser.error("--launches: at least 1")
    if not set(sizes) <= set(reference.RUNTIME):
        parser.error(f"sizes that a launch takes: {', '.join(reference.RUNTIME) or 'none'}; others are part of the kernel")
    device = launch.Device()
    kernel = launch.Kernel(device)
    arguments, sizes = launch.inputs(sizes=sizes)
    start, _, close = kernel.prepare(arguments, sizes)
    size = max(4 * device.cache_bytes, 1 << 26)
    flush = device.take(size)
    for _ in range(3):
        start()
    device.wait()
    print(f"{reference.NAME} on {device.name}, sm_{device.capability}: " + " ".join(f"{n}={s}" for n, s in sizes.items()))
    row("cold", events_around(device, lambda: device.fill(flush, 0, size), start, options.launches))
    row("warm", events_around(device, lambda: None, start, options.launches))
    device.give_back(flush)
    close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
