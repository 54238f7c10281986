#!/usr/bin/python3
"""What the explorer looks like, against pictures that were looked at by people: tests/ui/pictures.

usage: pictures_test.py FATHOM_EXPLORER             compares; skipped (status 77) where Xvfb, xdotool or Pillow is missing
       pictures_test.py FATHOM_EXPLORER --update    takes the pictures anew; look at each before committing it
       pictures_test.py FATHOM_EXPLORER --readme    takes the README's picture, whole: docs/pictures/explorer.png

A picture is kept as the means of its blocks of 4 x 4 pixels: small, and still moved by 8 pixels or by one colour. The target is `blackboard`,
which is the same on every machine; what differs from run to run (times) is left out of the comparison.
"""
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

try:
    import numpy
    from PIL import Image
    from window import Display, Explorer, program_to_test
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "tests/ui/pictures"
EXPLORER = ""
BLOCK = 4
LEAST_DIFFERENCE = 8   # of 255, in any colour of a block
MOST_BLOCKS = 3        # that may differ: rounding of another renderer
SIZE = "1280x800"
PLANTED_SHIFT = 8      # pixels


def open_tab(tab):
    return lambda explorer: explorer.click("middle/" + tab)


def fused(explorer):
    """The step at which the second reduction joins the loop."""
    explorer.click("ribbon/o.sum/j/fuse")
    explorer.click("middle/ir")


def learn(explorer):
    """The stage in the middle of the fused loop, and the question for the repair."""
    explorer.click("ribbon/o.sum/j/fuse")
    explorer.click("bar/learn")
    explorer.until(lambda items: any(i["id"] == "stage/stage.next" and i["enabled"] for i in items), "the stage is there")
    for _ in range(3):
        explorer.click("stage/stage.next")


def tune(explorer):
    explorer.click("bar/tune")


# name -> (sample, theme, what is done before the picture is taken)
PICTURES = {
    "explore-dark": ("attention", "dark", fused),
    "explore-light": ("attention", "light", fused),
    "graph-dark": ("rmsnorm", "dark", open_tab("graph")),
    "program-light": ("layernorm", "light", open_tab("program")),
    "learn-dark": ("attention", "dark", learn),
    "learn-light": ("attention", "light", learn),
    "tune-light": ("softmax", "light", tune),
}


def settle(explorer):
    explorer.until(lambda items: any(i["id"] == "status/line" and "all checked" in i["text"] for i in items), "everything is checked")
    explorer.xdotool("mousemove", "640", "797")
    before = None
    for _ in range(100):
        now = explorer.display.picture()
        if before is not None and numpy.array_equal(before, now):
            return now
        before = now
        time.sleep(0.3)
    raise AssertionError("the picture never comes to rest")


def take(name, target="blackboard"):
    sample, theme, prepare = PICTURES[name]
    folder = tempfile.mkdtemp()
    display = Display(SIZE)
    explorer = None
    try:
        explorer = Explorer(EXPLORER, display, folder, sample, "--size", SIZE, "--theme", theme, "--scale", "1", "--target", target)
        prepare(explorer)
        return settle(explorer), explorer.items()
    finally:
        if explorer is not None:
            explorer.close()
        display.close()
        shutil.rmtree(folder)


def without_times(picture, items):
    """The status line, at the bottom, is the one place that has any."""
    top = min(int(item["box"][1]) for item in items if item["id"].startswith("status/"))
    left_out = picture.copy()
    left_out[top:] = 0
    return left_out


def blocks(picture):
    height, width = (picture.shape[0] // BLOCK) * BLOCK, (picture.shape[1] // BLOCK) * BLOCK
    cut = picture[:height, :width].astype(float).reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
    return cut.mean(axis=(1, 3)).round().astype(numpy.uint8)


def differing(one, other):
    """How many blocks differ; all of them where the sizes do."""
    if one.shape != other.shape:
        return one.shape[0] * one.shape[1]
    return int((numpy.abs(one.astype(int) - other.astype(int)).max(axis=2) >= LEAST_DIFFERENCE).sum())


def roles(theme):
    """The colours of the palette's roles, as ui/theme.cpp has them; `warn` and `bad` are shown only where something is wrong."""
    text = (ROOT / "ui/theme.cpp").read_text(encoding="utf-8")
    row = re.search(r"Colours " + theme + r" = \{\{([^}]*)\}", text).group(1)
    colours = [tuple(int(word.strip()[2 + i:4 + i], 16) for i in (0, 2, 4)) for word in row.split(",")]
    return colours[:-2]


class Pictures(unittest.TestCase):
    taken = {}

    def picture(self, name):
        if name not in self.taken:
            picture, items = take(name)
            Pictures.taken[name] = (without_times(picture, items), items)
        return self.taken[name]

    def test_every_picture_is_as_it_was_looked_at(self):
        for name in PICTURES:
            with self.subTest(name):
                kept = numpy.asarray(Image.open(KEPT / (name + ".png")).convert("RGB"))
                found = blocks(self.picture(name)[0])
                count = differing(kept, found)
                if count > MOST_BLOCKS:
                    path = pathlib.Path(tempfile.gettempdir()) / (name + ".found.png")
                    Image.fromarray(found).save(path)
                    self.fail(f"{count} blocks differ; the picture that was taken: {path}. If it is as it should be: pictures_test.py --update")

    def test_a_panel_that_is_8_pixels_off_is_found(self):
        for name in PICTURES:
            picture, items = self.picture(name)
            panels = [i for i in items if i["kind"] == "panel"]
            self.assertGreaterEqual(len(panels), 3)
            for panel in panels:
                with self.subTest(f"{name} {panel['id']}"):
                    left, top, right, bottom = (int(x) for x in panel["box"])
                    moved = picture.copy()
                    moved[top:bottom, left + PLANTED_SHIFT:right] = picture[top:bottom, left:right - PLANTED_SHIFT]
                    self.assertGreater(differing(blocks(picture), blocks(moved)), MOST_BLOCKS)

    def test_one_changed_role_of_the_palette_is_found(self):
        """Each role of the theme is changed alone, wherever its pure colour stands; every role must be found in one picture at least."""
        for theme in ("dark", "light"):
            for role in roles(theme):
                with self.subTest(f"{theme} {role}"):
                    found = 0
                    for name in (name for name in PICTURES if PICTURES[name][1] == theme):
                        picture, _ = self.picture(name)
                        changed = picture.copy()
                        changed[(picture == role).all(axis=2)] = [channel + (60 if channel < 128 else -60) for channel in role]
                        found = max(found, differing(blocks(picture), blocks(changed)))
                    self.assertGreater(found, MOST_BLOCKS)


def update():
    KEPT.mkdir(exist_ok=True)
    for name in PICTURES:
        picture, items = take(name)
        Image.fromarray(blocks(without_times(picture, items))).save(KEPT / (name + ".png"), optimize=True)


def readme():
    (ROOT / "docs/pictures").mkdir(exist_ok=True)
    picture, _ = take("explore-dark", "x86-64-v3")
    Image.fromarray(picture).convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(ROOT / "docs/pictures/explorer.png", optimize=True)


if __name__ == "__main__":
    EXPLORER = program_to_test(__doc__)
    if "--update" in sys.argv:
        update()
    elif "--readme" in sys.argv:
        readme()
    else:
        unittest.main(verbosity=2)
