"""The site: `make -C docs html`. Its pages are those of this folder, and its gallery is the folder of examples.

Nothing is fetched. The gallery shows the figures of `contact_sheet.png`, which the tests compare with what the examples
draw; `make -C docs gallery` runs the examples instead, which takes some twenty minutes. The notebooks of the course run
in the reader's browser (`run_here.py`), if the packages for it are installed.
"""

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import run_here  # noqa: E402 - beside this file, found by the line above
from contact_sheet import TILE, place  # noqa: E402 - as above
from environment_pages import names, write_pages  # noqa: E402 - as above

import rlsuite  # noqa: E402 - in order, after what is beside this file

project = "rlsuite"
author = copyright = "The rlsuite maintainers"
release = version = rlsuite.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "Thumbs.db", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = "rlsuite"
html_static_path = ["_static"]
html_css_files = ["run_here.css"]
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["config.cache", "ref.python"]  # attributes like q_, which many classes have

autodoc_typehints = "none"  # the docstrings say types in words; the lines of signatures stay short
autosummary_generate = True
numpydoc_show_class_members = False

RUN = bool(os.environ.get("RLSUITE_GALLERY"))
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "plot_gallery": RUN,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
}


PACKAGES = ("agents", "experiments", "features", "inference", "models", "planning", "plotting")
PACKAGES += ("reference", "rendering", "testing")


def list_public_names() -> None:
    """Write the page of the API: each public name once, where it is shortest."""
    lines = ["API", "===", "", "Everything below is public; ``import rlsuite as rl`` loads what is used.", ""]
    seen: set[str] = set()
    for package in ("rlsuite", *(f"rlsuite.{name}" for name in PACKAGES)):
        module = import_module(package)
        own = [name for name in module.__all__ if name not in seen]
        seen.update(own)
        lines += [package, "-" * len(package), "", (module.__doc__ or "").partition("\n")[0], ""]
        lines += [
            ".. autosummary::",
            "   :toctree: .",
            "   :nosignatures:",
            "",
            *(f"   {package}.{n}" for n in own),
            "",
        ]
    folder = DOCS / "api"
    folder.mkdir(exist_ok=True)
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")


list_public_names()  # before Sphinx looks for pages
write_pages(DOCS / "environment_pages")


def tiles() -> dict[str, Image.Image]:
    """Figures of the contact sheet by the names of their examples."""
    names = sorted(path.stem for path in (ROOT / "examples").glob("[0-9]*.py"))
    whole = Image.open(DOCS / "contact_sheet.png").convert("RGB")
    corners = ((name, *place(number)) for number, name in enumerate(names))
    return {name: whole.crop((x, y, x + TILE[0], y + TILE[1])) for name, x, y in corners}


def put_thumbnails(app: Sphinx) -> None:
    """Replace the thumbnails of the gallery, which has run nothing, by the figures of the contact sheet."""
    folder = DOCS / "gallery/images/thumb"
    for name, figure in tiles().items():
        for path in folder.glob(f"sphx_glr_{name}_thumb.*"):
            path.unlink()
        figure.save(folder / f"sphx_glr_{name}_thumb.png")


def give_a_title(page: str, text: str) -> str:
    """Give the page of an example a title, the beginning of its first sentence, and its figure."""
    head = re.search(r"^\.\. _sphx_glr_\S+:\n\n(?=(\S.*)\n)", text, flags=re.MULTILINE)
    if head is None or text[head.end() :].split("\n")[1]:  # the page of a folder has a title
        return text
    title = re.split(r"[:;] |(?<!Fig)(?<! al)\.(?: |$)", head[1])[0]
    thumbnail = f"gallery/images/thumb/sphx_glr_{Path(page).name}_thumb.png"
    shown = f".. image:: /{thumbnail}\n   :alt: {title}\n\n" if not RUN and (DOCS / thumbnail).exists() else ""
    return f"{text[: head.end()]}{title}\n{'=' * len(title)}\n\n{shown}{text[head.end() :]}"


BESIDE = {"contributing": "CONTRIBUTING.md", "environments_of_ours": "envs/README.md"}
"""Pages whose text stands in a file beside the docs."""


def lead_within_the_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links to files beside the docs lead to their pages, and show these files."""
    text = give_a_title(page, source[0]) if page.startswith("gallery/") else source[0]
    if page in BESIDE:
        text = (ROOT / BESIDE[page]).read_text(encoding="utf-8")
        text = re.sub(r"\]\((?:\.\./)?(README\.md|docs)\)", "](index.md)", text)
        text = re.sub(r"\]\((?:\.\./)?docs/", "](", text)
    if page == "environments_of_ours":
        for name, own in names().items():
            text = text.replace(f"| `{name}` |", f"| [`{name}`](environment_pages/{own}.rst) |")
        text += "\n```{toctree}\n:hidden:\n:glob:\n\nenvironment_pages/*\n```\n"
    text = re.sub(r"\]\(\.\./examples/(?!course/)([\w/]+)\.py\)", r"](gallery/\1.rst)", text)
    text = re.sub(r"\]\(\.\./CONTRIBUTING\.md(#[\w-]+)?\)", r"](contributing.md\1)", text)
    text = text.replace("](../envs/README.md)", "](environments_of_ours.md)")
    source[0] = run_here.add_buttons(text) if page == "course" and app.config.course_in_browser else text


def put_course(app: Sphinx, error: Exception | None) -> None:
    """Put the notebooks beside the pages, to be run in the browser."""
    if error is None and app.config.course_in_browser and app.builder.format == "html":
        try:
            run_here.build(Path(app.outdir))
        except RuntimeError as failure:
            raise ExtensionError(str(failure)) from failure


def keep_signs(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let bars be absolute values and conditions, and n_features_ be a name, which reST takes for its own signs."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(r"`[^`]*`|(\||(?<=\w)_(?!\w))", lambda sign: "\\" * bool(sign[1]) + sign[0], line)


def without_routing(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    """Leave out the methods that scikit-learn adds to an estimator whose `fit` takes more than X and y."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is ours."""
    app.connect("autodoc-skip-member", without_routing)
    if not RUN:
        app.connect("builder-inited", put_thumbnails, priority=900)
    app.connect("autodoc-process-docstring", keep_signs)
    app.connect("source-read", lead_within_the_site)
    app.add_config_value("course_in_browser", run_here.can_be_built(), "env")  # pages are read anew where this changes
    app.connect("build-finished", put_course)
    return {"parallel_read_safe": True}
