"""A window of the explorer on an X server of our own: keys and mouse by xdotool, the screen read as items (the mirror) or as pixels."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy

WAIT_SECONDS = 60


def missing_tools():
    return [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]


def program_to_test(usage):
    """The first argument, taken off; ends the process where there is none, or no window can be opened (status 77)."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    if missing_tools():
        print("skipped: " + ", ".join(missing_tools()) + " missing")
        sys.exit(77)
    return os.path.abspath(sys.argv.pop(1))


class Display:
    """An X server of our own; the number is one that nobody uses."""

    def __init__(self, size="1280x800"):
        self.read, write = os.pipe()
        self.folder = tempfile.mkdtemp()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", size + "x24", "-nolisten", "tcp",
                                        "-fbdir", self.folder], pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        self.name = ":" + os.read(self.read, 16).decode().strip()

    def close(self):
        self.server.terminate()
        self.server.wait(10)
        os.close(self.read)
        shutil.rmtree(self.folder)

    def picture(self):
        """What the screen shows: rows x columns x (red, green, blue). The server keeps it as an X window dump."""
        with open(os.path.join(self.folder, "Xvfb_screen0"), "rb") as file:
            dump = file.read()
        size, _, _, _, width, height = struct.unpack(">6I", dump[:24])
        bits, row = struct.unpack(">2I", dump[44:52])
        colours = struct.unpack(">I", dump[76:80])[0]
        assert bits == 32, "a screen of 24 bits has pixels of 32"
        pixels = numpy.frombuffer(dump, numpy.uint8, row * height, size + 12 * colours).reshape(height, row // 4, 4)
        return pixels[:, :width, 2::-1].copy()


class Explorer:
    def __init__(self, program, display, folder, *arguments):
        self.display = display
        self.mirror = os.path.join(folder, "mirror.json")
        if os.path.exists(self.mirror):
            os.remove(self.mirror)
        # As on a machine where it was never started: a first start has its tour.
        self.env = dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1", HOME=folder, XDG_CONFIG_HOME=os.path.join(folder, "config"),
                        XDG_STATE_HOME=os.path.join(folder, "state"))
        self.process = subprocess.Popen([program, *arguments, "--mirror", self.mirror], env=self.env, cwd=folder)
        self.until(lambda items: any(i["id"].startswith("steps/") and i["kind"] == "row" for i in items), "the steps appear")

    def items(self):
        try:
            with open(self.mirror, encoding="utf-8") as file:
                return json.load(file)
        except (FileNotFoundError, json.JSONDecodeError):
            return []

    def until(self, holds, what):
        """Waits until the screen is as wanted; bounded."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            items = self.items()
            if items and holds(items):
                return items
            if self.process.poll() is not None:
                raise AssertionError(f"the explorer ended with {self.process.returncode} before {what}")
            time.sleep(0.05)
        raise AssertionError(f"waited {WAIT_SECONDS} s in vain until {what}; the screen holds:\n"
                             + "\n".join(f"{i['id']}: {i['text']}" for i in self.items()))

    def item(self, name):
        return next((i for i in self.items() if i["id"] == name), None)

    def xdotool(self, *words):
        subprocess.run(["xdotool", *words], env=self.env, check=True, timeout=20)

    def key(self, keys):
        """Modifiers are held as a hand holds them: a shortcut sent in one instant is no test of a person."""
        *modifiers, key = keys.split("+")
        for modifier in modifiers:
            self.xdotool("keydown", modifier)
            time.sleep(0.08)
        self.xdotool("key", key)
        time.sleep(0.08)
        for modifier in reversed(modifiers):
            self.xdotool("keyup", modifier)
        time.sleep(0.15)

    def type(self, text):
        self.xdotool("type", "--delay", "40", text)
        time.sleep(0.2)

    def click(self, name):
        item = self.until(lambda items: any(i["id"] == name for i in items), f"{name} is there")
        item = next(i for i in item if i["id"] == name)
        left, top, right, bottom = item["box"]
        self.xdotool("mousemove", str(int((left + right) / 2)), str(int((top + bottom) / 2)))
        time.sleep(0.15)
        self.xdotool("click", "1")
        time.sleep(0.2)

    def answer_with_path(self, path):
        """To the palette's question for a file; waits until it is written."""
        self.until(lambda items: any(i["id"] == "palette/query" for i in items), "the path is asked for")
        self.key("ctrl+a")
        self.type(path)
        self.key("Return")
        self.until(lambda items: os.path.exists(path), f"{path} is written")

    def command(self, title):
        self.key("ctrl+k")
        self.until(lambda items: any(i["id"] == "palette/query" for i in items), "the palette opens")
        self.type(title)
        self.key("Return")

    def step(self):
        """Id of the step that is looked at."""
        return next((i["id"] for i in self.items() if i["kind"] == "dot" and i["selected"]), None)

    def text(self, panel):
        return [i["text"] for i in self.items() if i["id"].startswith(panel + "/")]

    def quit(self):
        self.key("ctrl+q")
        self.process.wait(20)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
