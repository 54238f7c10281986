#!/usr/bin/python3
"""Makes the explorer's faces from Debian's fonts: subsets, renamed as their licences ask, as one C++ file.

usage: fonts.py OUT.cpp        needs the packages that tools/packages.sh lists for the explorer

Each face is an EmbeddedFont of ui/fonts.hpp; its line height is (ascent - descent) / units per em, by which Dear ImGui measures sizes.
"""
import io
import pathlib
import re
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

TEXT = [(0x20, 0x7E), (0xA0, 0xFF), (0x370, 0x3FF), (0x2010, 0x203A), (0x2070, 0x209C), (0x2190, 0x21FF), (0x2200, 0x22FF),
        (0x2308, 0x230B), (0x2500, 0x257F), (0x25A0, 0x25CF), (0x2713, 0x2717), (0x27E8, 0x27E9), (0x2298, 0x2298)]
ICONS = [(int(code, 16), int(code, 16)) for code in
         re.findall(r"// ([0-9A-F]{4})$", (pathlib.Path(__file__).parent.parent / "ui/icons.hpp").read_text(encoding="utf-8"), re.MULTILINE)]
MATHS = [(0x20, 0xFFFD)]
SHARE = "/usr/share/fonts/"
KATEX = SHARE + "truetype/katex/KaTeX_"
FACES = [  # name, file, code points
    ("sans", SHARE + "opentype/inter/Inter-Regular.otf", TEXT),
    ("sans_bold", SHARE + "opentype/inter/Inter-SemiBold.otf", TEXT),
    ("mono", SHARE + "truetype/jetbrains-mono/JetBrainsMono-Regular.ttf", TEXT),
    ("mono_bold", SHARE + "truetype/jetbrains-mono/JetBrainsMono-Bold.ttf", TEXT),
    ("fallback", SHARE + "truetype/dejavu/DejaVuSans.ttf", TEXT),
    ("fallback_mono", SHARE + "truetype/dejavu/DejaVuSansMono.ttf", TEXT),
    ("icons", SHARE + "truetype/materialdesignicons-webfont/materialdesignicons-webfont.ttf", ICONS),
    ("maths", KATEX + "Main-Regular.ttf", MATHS),
    ("maths_italic", KATEX + "Math-Italic.ttf", MATHS),
    ("maths_size1", KATEX + "Size1-Regular.ttf", MATHS),
    ("maths_size2", KATEX + "Size2-Regular.ttf", MATHS),
    ("maths_size3", KATEX + "Size3-Regular.ttf", MATHS),
    ("maths_size4", KATEX + "Size4-Regular.ttf", MATHS),
]


def made(name, path, ranges):
    options = subset.Options(layout_features=[], hinting=False, desubroutinize=True, name_IDs=[1, 2, 4, 6], notdef_outline=True,
                             recommended_glyphs=False)
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[c for low, high in ranges for c in range(low, high + 1)])
    subsetter.subset(font)
    for record in font["name"].names:
        record.string = "Regular" if record.nameID == 2 else "Fathom" + name.title().replace("_", "")
    if "CFF " in font:
        cff = font["CFF "].cff
        cff.fontNames[0] = "Fathom" + name.title().replace("_", "")
        for key in ("FullName", "FamilyName", "Notice", "Copyright"):
            cff[0].rawDict.pop(key, None)
    out = io.BytesIO()
    font.save(out)
    # Dear ImGui reads hhea; the browser and the toolkit agree on it for these faces.
    height = (font["hhea"].ascent - font["hhea"].descent) / font["head"].unitsPerEm
    return out.getvalue(), height


def main():
    missing = [path for _, path, _ in FACES if not pathlib.Path(path).exists()]
    if missing:
        sys.exit(f"{missing[0]} is missing. Install Debian's font packages, which tools/packages.sh lists as packages_ui.")
    out = ['#include "fonts.hpp"\n\nnamespace fathom::ui {\nnamespace {\n']
    rows = []
    for name, path, ranges in FACES:
        data, height = made(name, path, ranges)
        numbers = ",".join(str(byte) for byte in data)
        out.append(f"const unsigned char {name}_data[] = {{{numbers}}};\n")
        rows.append(f'    {{"{name}", {name}_data, sizeof {name}_data, {height:.6f}F}},\n')
    out.append("}  // namespace\n")
    out.append(f"const EmbeddedFont embedded_fonts[] = {{\n{''.join(rows)}}};\nconst unsigned embedded_fonts_count = {len(rows)};\n")
    for ranges_name, ranges in (("text", TEXT), ("icon", ICONS), ("maths", MATHS)):
        ends = ", ".join(f"{low}, {high}" for low, high in ranges)
        out.append(f"const ImWchar {ranges_name}_ranges[] = {{{ends}, 0}};\n")
    out.append("}  // namespace fathom::ui\n")
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("".join(out))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
