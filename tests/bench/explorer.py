#!/usr/bin/python3
"""The explorer in a real window, drawn by software (llvmpipe): how long frames take, how soon a key shows, what it costs at rest.

usage: explorer.py FATHOM_EXPLORER [--size 1280x800]
Prints every cell. Frames: from the begin of drawing to the finished picture.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ui"))
from window import Display, Explorer, missing_tools  # noqa: E402

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
GRAPH_NODES = 2000


def chain(length):
    """A program of many statements, each of which reads the one before."""
    lines = ["dim S = 64, T = 32", "", "operator chain(x: f32[S,T]) -> (y: f32[S])", "{"]
    for i in range(length):
        before = f"a{i - 1}[i]" if i else "x[i,0]"
        lines.append(f"  a{i}[i] = {before} * 0.5 + x[i,{i % 32}]")
    return "\n".join(lines + [f"  y[i] = a{length - 1}[i]", "}"]) + "\n"


class Frames:
    """The lines of --frames: event, begin, end, version."""

    def __init__(self, path):
        self.path = path
        self.at = 0

    def new(self):
        with open(self.path, encoding="utf-8") as file:
            rows = [[float(word) for word in line.split()] for line in file if line.endswith("\n")]
        fresh, self.at = rows[self.at:], len(rows)
        return fresh


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def report(what, values, goal):
    p50, p95 = percentile(values, 0.50), percentile(values, 0.95)
    print(f"{what:46} n {len(values):5}   p50 {p50:7.2f} ms   p95 {p95:7.2f} ms   goal p95 {goal} ms   {'met' if p95 <= goal else 'NOT MET'}")


def durations(rows):
    return [end - begin for _, begin, end, _ in rows]


def all_checked(explorer):
    explorer.until(lambda items: any(i["id"] == "status/line" and "checked" in i["text"] and "pending" not in i["text"] for i in items),
                   "everything is checked")


def steps_and_tabs(explorer, frames):
    """While checks run, and after them: every step in every tab, and the mouse across the panels."""
    for tab in ("ir", "graph", "code", "program"):
        explorer.click("middle/" + tab)
        if tab == "program":
            continue
        explorer.key("Home")
        frames.new()
        explorer.xdotool("key", "--repeat", "24", "--repeat-delay", "60", "Right")
        time.sleep(0.5)
        report(f"frames: steps, tab {tab}", durations(frames.new()), 33)
    explorer.click("middle/ir")
    frames.new()
    for x in range(40, 1240, 12):
        explorer.xdotool("mousemove", str(x), str(200 + x // 3))
    report("frames: the mouse across all panels", durations(frames.new()), 33)


def keystrokes(explorer, frames):
    """From the key to the picture with the steps of the new text; the checks of the text before are still running."""
    explorer.click("middle/program")
    explorer.click("middle/program/editor")
    explorer.xdotool("key", "ctrl+End")
    explorer.xdotool("key", "Return")
    latencies = []
    for _ in range(20):
        frames.new()
        explorer.xdotool("type", "#")
        time.sleep(0.4)
        rows = frames.new()
        first = rows[0][3]
        shown = [row for row in rows if row[3] > first]
        if shown:
            pressed = max(row[0] for row in rows if row[0] <= shown[0][1] and row[3] <= first)
            latencies.append(shown[0][2] - pressed)
    report("key to updated steps", latencies, 100)


def idle(explorer, seconds=10):
    def ticks():
        fields = pathlib.Path(f"/proc/{explorer.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    explorer.xdotool("mousemove", "640", "790")
    time.sleep(7)  # a caret stops blinking after 5 s
    before = ticks()
    time.sleep(seconds)
    share = (ticks() - before) / CLOCK_TICKS / seconds * 100
    print(f"{'processor time at rest':46} {share:.2f} % of one core over {seconds} s   goal below 1 %   {'met' if share < 1 else 'NOT MET'}")


def big_graph(program, display, folder):
    path = os.path.join(folder, "chain.fathom")
    pathlib.Path(path).write_text(chain(GRAPH_NODES - 2), encoding="utf-8")
    log = os.path.join(folder, "graph-frames")
    explorer = Explorer(program, display, folder, path, "--frames", log)
    try:
        frames = Frames(log)
        explorer.click("middle/graph")
        explorer.until(lambda items: any(i["kind"] == "node" for i in items), "the graph is drawn")
        time.sleep(1)
        frames.new()
        explorer.xdotool("mousemove", "600", "450")
        for button in ["4"] * 6 + ["5"] * 12 + ["4"] * 6:
            explorer.xdotool("click", button)
        for x in range(420, 820, 10):
            explorer.xdotool("mousemove", str(x), str(x))
        report(f"frames: a graph of {GRAPH_NODES} nodes, zoom and hover", durations(frames.new()), 33)
    finally:
        explorer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("explorer")
    parser.add_argument("--size", default="1280x800")
    options = parser.parse_args()
    if missing_tools():
        sys.exit("missing: " + ", ".join(missing_tools()))
    program = os.path.abspath(options.explorer)
    with tempfile.TemporaryDirectory() as folder:
        display = Display(options.size)
        try:
            log = os.path.join(folder, "frames")
            begin = time.monotonic()
            explorer = Explorer(program, display, folder, "attention", "--size", options.size, "--frames", log)
            try:
                print(f"{'start to a lowered sample on the screen':46} {time.monotonic() - begin:.2f} s   goal 2 s")
                frames = Frames(log)
                steps_and_tabs(explorer, frames)
                keystrokes(explorer, frames)
                all_checked(explorer)
                idle(explorer)
            finally:
                explorer.close()
            big_graph(program, display, folder)
        finally:
            display.close()


if __name__ == "__main__":
    main()
