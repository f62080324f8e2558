"""Scenes as SVG, read as XML."""

from xml.etree import ElementTree

import numpy as np

from rlsuite.rendering.scene import Cells, Polygons, Texts
from rlsuite.rendering.svg import svg_of_scene


def test_every_shape_has_its_place_and_colour():
    red, blue = (255, 0, 0), (0, 0, 255)
    corners = np.array([[(0.0, 0.0), (0.5, 0.0), (0.0, -0.25)], [(1.0, 0.0), (1.5, 0.0), (1.0, -0.25)]])
    shades, at = np.array([red, blue], dtype=np.uint8), np.array([(0.0, 0.0), (1.0, 0.25)])
    scene = [
        Cells(shades[np.newaxis], line=blue, said={(0, 0): "<1 & 'one'"}),
        Polygons("arrows", corners, shades),
        Texts("numbers", at, ["<1", "12345"], shades, size=0.4, room=0.86, bold=np.array([True, False])),
    ]
    svg = ElementTree.fromstring(svg_of_scene(scene, 'less than "1"', side=40))
    assert (svg.get("aria-label"), svg.get("viewBox")) == ('less than "1"', "0 0 80 40")
    cells, *groups = svg
    assert cells.get("stroke") == "#0000ff"
    assert [(cell.get("fill"), cell.findtext("title")) for cell in cells] == [
        ("#ff0000", "<1 & 'one'"),
        ("#0000ff", None),
    ]
    assert {group.get("transform") for group in groups} == {"scale(.1)"}
    assert [(group.get("class"), group.get("fill")) for group in groups] == [
        *(("arrows", "#ff0000"), ("arrows", "#0000ff")),
        *(("numbers", "#ff0000"), ("numbers", "#0000ff")),
    ]
    outlines = [group[0].get("d") for group in groups[:2]]
    assert outlines == ["M200 200l200 0 -200 -100z", "M600 200l200 0 -200 -100z"]
    assert [text.text for group in groups[2:] for text in group] == ["<1", "12345"]
    assert [group[0].get("font-weight") for group in groups[2:]] == ["bold", None]
    assert float(groups[2].get("font-size")) == round(400 * 0.86 / (0.62 * 5))  # the longest fits
