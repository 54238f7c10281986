#!/usr/bin/python3
"""A real session of the explorer in a real window: mouse and keyboard events of the X server, the screen read through the mirror file.

usage: session_test.py FATHOM_EXPLORER     needs Xvfb, xdotool and OpenGL in software; where one is missing it is skipped (status 77)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

EXPLORER = ""
WAIT_SECONDS = 60


class Display:
    """An X server of our own; the number is one that nobody uses."""

    def __init__(self, size="1280x800"):
        self.read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", size + "x24", "-nolisten", "tcp"],
                                       pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        self.name = ":" + os.read(self.read, 16).decode().strip()

    def close(self):
        self.server.terminate()
        self.server.wait(10)
        os.close(self.read)


class Explorer:
    def __init__(self, display, folder, *arguments):
        self.mirror = os.path.join(folder, "mirror.json")
        if os.path.exists(self.mirror):
            os.remove(self.mirror)
        self.env = dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1", HOME=folder, XDG_CONFIG_HOME=os.path.join(folder, "config"),
                        XDG_STATE_HOME=os.path.join(folder, "state"))  # as on a machine where it was never started
        self.process = subprocess.Popen([EXPLORER, *arguments, "--mirror", self.mirror], env=self.env, cwd=folder)
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


class Session(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.display = Display()
        self.explorers = []

    def tearDown(self):
        for explorer in self.explorers:
            explorer.close()
        self.display.close()
        shutil.rmtree(self.folder)

    def start(self, *arguments):
        explorer = Explorer(self.display, self.folder, *arguments)
        self.explorers.append(explorer)
        return explorer

    def test_a_whole_session(self):
        explorer = self.start("softmax")
        # the tour of the first minute, once
        explorer.click("tour/next")
        explorer.until(lambda items: any(i["id"] == "tour/label" and i["text"] == "2 of 5" for i in items), "the tour goes on")
        explorer.click("tour/skip")
        explorer.until(lambda items: not any(i["id"].startswith("tour/") for i in items), "the tour ends")
        # a picture of a panel
        picture = os.path.join(self.folder, "steps.png")
        explorer.command("Save a picture of this panel")
        explorer.until(lambda items: any(i["id"] == "palette/save" for i in items), "the path of the picture is asked for")
        explorer.key("ctrl+a")
        explorer.type(picture)
        explorer.key("Return")
        explorer.until(lambda items: os.path.exists(picture), "the picture is written")
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        explorer.click("status/dismiss")
        # a sample, by the palette
        explorer.command("Open a sample")
        explorer.type("attention_nomask")
        explorer.key("Return")
        explorer.until(lambda items: any(i["id"] == "bar/file" and i["text"] == "attention_nomask.fathom" for i in items), "the sample is open")
        # every step, by the keyboard
        dots = [i["id"] for i in explorer.until(lambda items: any(i["id"] == "ribbon/o/j/tile" for i in items), "its steps are there")
                if i["kind"] == "dot"]
        self.assertGreater(len(dots), 15)
        cards = set()
        for dot in dots:
            explorer.until(lambda items, dot=dot: any(i["id"] == dot and i["selected"] for i in items), f"{dot} is looked at")
            cards.add("\n".join(explorer.text("card")))
            explorer.key("Right")
        self.assertEqual(len(cards), len(dots), "every step shows something of its own")
        # another tile size, by the mouse
        explorer.click("ribbon/o/j/tile")
        alternatives = [i for i in explorer.until(lambda items: any(i["id"].startswith("card/o/j/tile=") for i in items), "alternatives are there")
                        if i["kind"] == "alternative"]
        before = next(i["text"] for i in alternatives if i["selected"])
        wanted = next(i for i in alternatives if i["enabled"] and not i["selected"])
        explorer.click("middle/ir")
        explorer.click(wanted["id"])
        explorer.until(lambda items: any(i["id"] == wanted["id"] and i["selected"] for i in items), "the choice is taken")
        self.assertTrue(any("made by you" in text for text in explorer.text("card")))
        explorer.key("l")
        explorer.until(lambda items: any(i["id"] == "card/lock" and i["text"] == "Locked" for i in items), "the choice is locked")
        # undo and redo, both changes
        for keys, selected in (("ctrl+z", wanted["text"]), ("ctrl+z", before), ("ctrl+y", wanted["text"]), ("ctrl+y", wanted["text"])):
            explorer.key(keys)
            explorer.until(lambda items, selected=selected: any(i["kind"] == "alternative" and i["selected"] and i["text"] == selected
                                                                for i in items), f"{keys} shows {selected}")
        explorer.until(lambda items: any(i["id"] == "card/lock" and i["text"] == "Locked" for i in items), "the lock is back")
        # the graph and a selection in it
        explorer.click("middle/graph")
        node = next(i["id"] for i in explorer.until(lambda items: any(i["kind"] == "node" for i in items), "the graph is there")
                    if i["kind"] == "node" and i["id"].endswith("/o"))
        explorer.click(node)
        explorer.until(lambda items: any(i["id"] == node and i["selected"] for i in items), "the node is selected")
        explorer.until(lambda items: any(i["kind"] == "life" for i in items), "its life is shown")
        # the code of this machine
        explorer.click("middle/code")
        explorer.until(lambda items: any(i["id"] == "middle/code/resources" and "main loop" in i["text"] for i in items), "the assembly is there")
        explorer.until(lambda items: any(i["id"] == "middle/code/text" and ".LBB" in i["text"] for i in items), "it opens at its main loop")
        explorer.click("middle/code/llvm-ir")
        explorer.until(lambda items: any(i["id"] == "middle/code/text" and "ModuleID" in i["text"] for i in items), "LLVM IR is there")
        explorer.click("middle/graph")
        # save, quit, open again: all is as it was
        path = os.path.join(self.folder, "mine.session.json")
        explorer.key("ctrl+s")
        explorer.until(lambda items: any(i["id"] == "palette/query" for i in items), "the path is asked for")
        explorer.key("ctrl+a")
        explorer.type(path)
        explorer.key("Return")
        explorer.until(lambda items: os.path.exists(path), "the session is written")
        explorer.until(lambda items: any(i["id"] == "status/message" and path in i["text"] for i in items), "it says so")
        explorer.click("status/dismiss")
        explorer.until(lambda items: any(i["id"] == "status/line" and "all checked" in i["text"] for i in items), "everything is checked")
        shown = {panel: explorer.text(panel) for panel in ("ribbon", "steps", "card", "middle", "life")}
        step = explorer.step()
        explorer.quit()
        again = self.start(path)
        again.until(lambda items: any(i["id"] == step and i["selected"] for i in items), "the same step is looked at")
        self.assertFalse(any(i["id"].startswith("tour/") for i in again.items()), "the tour comes once")
        again.until(lambda items: any(i["kind"] == "life" for i in items), "the selection is back")
        again.until(lambda items: {panel: again.text(panel) for panel in shown} == shown, "every panel shows what it showed")
        again.quit()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    EXPLORER = os.path.abspath(sys.argv.pop(1))
    missing = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
    if missing:
        print("skipped: " + ", ".join(missing) + " missing")
        sys.exit(77)
    unittest.main(verbosity=2)
