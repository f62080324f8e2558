"""The elements of an XML file, with the lines on which they begin; what an XML file can do besides is refused.

A document type declaration is the only way to define entities. It is refused where it begins, so that a file can
neither name another file or host nor grow while it is read. Elements nest to a limit, and nothing else is looked up:
the standard library's expat parses bytes that were read before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from rlsuite.errors import FileError
from rlsuite.models.files import reading

DEEPEST = 200
"""Elements within each other; a decision diagram needs two for each variable."""


@dataclass(eq=False, slots=True)
class Element:
    """An element of a file."""

    path: str | os.PathLike[str]
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=lambda: list[Element]())
    text: str = ""
    """The text directly in it, before, between and after its children"""

    def fail(self, reason: str) -> NoReturn:
        """Raise `FileError` for its line."""
        raise FileError(f"{self.path}:{self.line}: {reason}")

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of this name."""
        return (one for one in self.children if one.tag == tag)

    def find(self, tag: str) -> Element | None:
        """Return the child of this name, if there is one; there must not be several."""
        found = list(self.all(tag))
        if len(found) > 1:
            found[1].fail(f"<{tag}> stands twice in <{self.tag}>")
        return found[0] if found else None

    def expect(self, *tags: str) -> None:
        """Raise `FileError` for the first child of another name: what is not read must not be skipped."""
        for one in self.children:
            if one.tag not in tags:
                one.fail(
                    f"<{one.tag}> in <{self.tag}> is not read; there may be {', '.join(f'<{tag}>' for tag in tags)}"
                )

    def attribute(self, name: str) -> str:
        """Return an attribute, without blanks around it."""
        if name not in self.attributes:
            self.fail(f"<{self.tag}> has no attribute {name}")
        return self.attributes[name].strip()

    def words(self) -> list[str]:
        """Return its text, split at white space."""
        return self.text.split()


def only(element: Element, tag: str) -> Element:
    """Return the only child of this name."""
    found = element.find(tag)
    if found is None:
        element.fail(f"<{element.tag}> has no <{tag}>")
    return found


def read_document(path: str | os.PathLike[str], root: str) -> Element:
    """Return the outermost element of a file.

    Parameters
    ----------
    path
        The file.
    root : str
        What it must be called.

    Raises
    ------
    FileError
        If the file is missing or not XML, declares a document type, nests too deeply, or is of another kind; the line
        is named.
    """
    with reading(path):
        content = Path(path).read_bytes()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    open_elements: list[Element] = []
    outermost: list[Element] = []
    texts: list[list[str]] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(path, tag, attributes, parser.CurrentLineNumber)
        if len(open_elements) == DEEPEST:
            element.fail(f"elements are within each other more than {DEEPEST} deep")
        (open_elements[-1].children if open_elements else outermost).append(element)
        open_elements.append(element)
        texts.append([])

    def end(_: str) -> None:
        open_elements.pop().text = "".join(texts.pop())

    def characters(text: str) -> None:
        texts[-1].append(text)

    def refuse(*_: object) -> NoReturn:
        raise FileError(
            f"{path}:{parser.CurrentLineNumber}: a document type declaration (<!DOCTYPE ...>) may define entities, and "
            "is not read: delete it"
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as cause:
        reason = expat.ErrorString(cause.code)
        raise FileError(f"{path}:{cause.lineno}:{cause.offset + 1}: this is not XML: {reason}") from cause
    except (ValueError, LookupError) as cause:  # an encoding that Python does not know, or not for XML
        raise FileError(f"{path}:1: its encoding cannot be read: {cause}") from cause
    if outermost[0].tag != root:
        outermost[0].fail(f"the file holds <{outermost[0].tag}>, not <{root}>")
    return outermost[0]
