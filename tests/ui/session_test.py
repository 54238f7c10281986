#!/usr/bin/python3
"""A real session of the explorer in a real window: mouse and keyboard events of the X server, the screen read through the mirror file.

usage: session_test.py FATHOM_EXPLORER     needs Xvfb, xdotool and OpenGL in software; where one is missing it is skipped (status 77)
"""
import os
import shutil
import signal
import tempfile
import unittest

from window import Display, Explorer, program_to_test

EXPLORER = ""


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
        explorer = Explorer(EXPLORER, self.display, self.folder, *arguments)
        self.explorers.append(explorer)
        return explorer

    def test_a_whole_session(self):
        explorer = self.start("softmax")
        # the tour of the first minute, once
        explorer.click("tour/next")
        explorer.until(lambda items: any(i["id"] == "tour/label" and i["text"] == "2 of 6" for i in items), "the tour goes on")
        explorer.click("tour/skip")
        explorer.until(lambda items: not any(i["id"].startswith("tour/") for i in items), "the tour ends")
        # a picture of a panel
        picture = os.path.join(self.folder, "steps.png")
        explorer.command("Save a picture of this panel")
        explorer.until(lambda items: any(i["id"] == "palette/save" for i in items), "the question for the path is answered by a row")
        explorer.answer_with_path(picture)
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
        # a wrong repair and a right one
        explorer.click("bar/learn")
        explorer.click("why/reductions/o")
        explorer.click("why/o/repair/written")
        explorer.type("acc")
        explorer.until(lambda items: any(i["id"].startswith("why/o/laws/C1/") and i["text"].startswith("✕") for i in items), "the repair is refuted")
        self.assertFalse(explorer.item("why/o/repair/take")["enabled"])
        explorer.key("ctrl+a")
        explorer.type("exp(p.m - p.m') * acc")  # not as Fathom spells it
        explorer.until(lambda items: any(i["id"] == "why/o/repair/take" and i["enabled"] for i in items), "the repair is derived")
        explorer.click("why/o/repair/take")
        explorer.until(lambda items: any(i["id"].startswith("why/o/") and "In the plan: exp" in i["text"] for i in items), "it is in the plan")
        # a run on this machine, and the plan taken away
        explorer.click("bar/tune")
        explorer.click("tune/trials/run")
        explorer.until(lambda items: any(i["id"].startswith("tune/trials/") and "✓ ok" in i["text"] for i in items), "the run is verified")
        trace = os.path.join(self.folder, "mine.trace")
        explorer.click("tune/run/export")
        explorer.answer_with_path(trace)
        with open(trace, encoding="utf-8") as file:
            self.assertIn("o.sum/j/repair = exp(p.m - p.m') * acc", file.read())
        explorer.click("bar/explore")
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
        explorer.answer_with_path(path)
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

    def test_work_is_kept_when_the_system_ends_the_program(self):
        explorer = self.start("softmax")
        explorer.click("tour/skip")
        explorer.click("middle/program")
        explorer.click("middle/program/editor")
        explorer.key("ctrl+End")
        explorer.type("# mine")
        explorer.until(lambda items: any(i["id"] == "middle/program/editor" and "# mine" in i["text"] for i in items), "it is typed")
        explorer.process.send_signal(signal.SIGTERM)
        self.assertEqual(explorer.process.wait(timeout=60), 0)
        again = self.start("rmsnorm")
        again.click("status/restore")
        again.until(lambda items: any(i["id"] == "bar/file" and i["text"].startswith("softmax") for i in items), "the program is back")
        again.click("middle/program")
        again.until(lambda items: any(i["id"] == "middle/program/editor" and "# mine" in i["text"] for i in items), "what was typed is back")


if __name__ == "__main__":
    EXPLORER = program_to_test(__doc__)
    unittest.main(verbosity=2)
