#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/propagation.md: docs/pictures/draw.py [DIRECTORY]. No library needed."""
import pathlib
import sys

COLOURS = {"shared": "#cfe8ff", "slave": "#e8dcff", "goes": "#ffd6d6", "stays": "#d9f2d9", "plain": "#f2f2f2"}


def svg(title, width, height, boxes, arrows, texts=()):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14">',
           f"<title>{title}</title>",
           '<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
           '<path d="M0 0L10 5L0 10z" fill="#444"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for x1, y1, x2, y2, both, dash in arrows:
        start = ' marker-start="url(#end)"' if both else ""
        style = ' stroke-dasharray="5 4"' if dash else ""
        out.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#444" marker-end="url(#end)"{start}{style}/>')
    for x, y, w, label, kind in boxes:
        out.append(f'<rect x="{x}" y="{y}" width="{w}" height="34" rx="5" fill="{COLOURS[kind]}" stroke="#444"/>')
        out.append(f'<text x="{x + w / 2}" y="{y + 22}" text-anchor="middle">{label}</text>')
    for x, y, text in texts:
        out.append(f'<text x="{x}" y="{y}" fill="#444">{text}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


PICTURES = {
    "propagation-graph": svg(
        "Two peers, a slave of them, and its own peer", 520, 230,
        [(40, 30, 120, "A  shared:1", "shared"), (300, 30, 120, "B  shared:1", "shared"),
         (40, 140, 190, "C  shared:2 master:1", "slave"), (300, 140, 190, "D  shared:2 master:1", "slave")],
        [(160, 47, 298, 47, True, False), (100, 64, 100, 138, False, False), (230, 157, 298, 157, True, False)],
        [(205, 38, "peers"), (110, 105, "master and slave: one way"), (246, 148, "peers")]),
    "propagation-umount": svg(
        "Candidates, the one that stays, and the one that slides down", 640, 260,
        [(30, 200, 110, "P  shared:1", "shared"), (30, 130, 110, "m  unmounted", "goes"),
         (240, 200, 150, "Q  receives from P", "slave"), (240, 130, 150, "candidate: goes", "goes"),
         (240, 60, 150, "cover: slides down", "stays"),
         (460, 200, 150, "R  receives from P", "slave"), (460, 130, 150, "candidate: stays", "stays"),
         (460, 60, 150, "child inside", "stays")],
        [(140, 217, 238, 217, False, False), (390, 217, 458, 217, False, False), (85, 164, 85, 198, False, False),
         (315, 164, 315, 198, False, False), (315, 94, 315, 128, False, False), (225, 77, 225, 190, False, True),
         (535, 164, 535, 198, False, False), (535, 94, 535, 128, False, False)],
        [(30, 30, "an arrow down: is mounted on; to the right: propagates to")]),
}


def main():
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    for name, text in PICTURES.items():
        (where / f"{name}.svg").write_text(text)


main()
