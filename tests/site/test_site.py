# SPDX-License-Identifier: BSD-3-Clause
"""The site of `make docs`: builds without a warning, is whole, loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Where a page names what a browser fetches by itself.
LOADED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
# Of <link>, which only names another page.
NAMES_PAGES = {"index", "search", "next", "prev", "author", "copyright", "canonical"}


class Page(HTMLParser):
    """What a page loads, where it links to, and the names of its places."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.loaded, self.links, self.places, self.styles = [], [], set(), []
        self.in_style = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.places.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get("style"):
            self.styles.append(given["style"])
        self.in_style = tag == "style"
        if tag == "link" and given.get("rel") in NAMES_PAGES:
            self.links.append(given["href"])
            return
        self.loaded += [given[name] for name in LOADED.get(tag, ()) if given.get(name)]

    def handle_data(self, data):
        if self.in_style:
            self.styles.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = ["-q", "-E", "-W", "--keep-going", "-b", "html", "-c", ROOT / "docs/site"]
    words += ["-d", folder / "doctrees", ROOT, folder / "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words)],
        env=os.environ | {"LACUNA_LIBRARY_DIR": str(folder)},  # no library is needed
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,  # 25 s when nothing else runs
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    found = {path: Page(path) for path in site.rglob("*.html")}
    assert len(found) > 150
    return found


def urls_in(style):
    return re.findall(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""", style)


def test_nothing_is_loaded_from_elsewhere(site, pages):
    loaded = [(page.path, name) for page in pages.values() for name in page.loaded]
    styles = [(page.path, text) for page in pages.values() for text in page.styles]
    styles += [(path, path.read_text(encoding="utf-8")) for path in site.rglob("*.css")]
    loaded += [(path, "".join(found)) for path, text in styles for found in urls_in(text)]
    assert len(loaded) > len(pages)
    for path, name in loaded:
        url = urlsplit(name)
        assert not url.netloc and url.scheme in ("", "data"), (path, name)
        if not url.scheme and url.path:  # else a part of the page itself
            assert (path.parent / unquote(url.path)).is_file(), (path, name)


def test_links_lead_to_places(site, pages):
    for page in pages.values():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = Path(os.path.normpath(page.path.parent / unquote(url.path)))
            target = page.path if not url.path else target
            assert target.is_file(), (page.path, link)
            if url.fragment and target in pages:
                assert unquote(url.fragment) in pages[target].places, (page.path, link)


def test_the_front_page_is_the_readme(site, pages):
    assert (site / "index.html").read_text() == (site / "README.html").read_text()
    links = pages[site / "index.html"].links
    for name in ("docs/user/install.html", "docs/site/command.html", "docs/site/c.html"):
        assert name in links


@pytest.mark.parametrize(
    ("header", "page"),
    [("lacuna.h", "c"), ("lacuna_mpi.h", "c"), ("lacuna_gpu.h", "gpu")],
)
def test_every_function_of_c_is_there(site, pages, header, page):
    text = (ROOT / "include/lacuna" / header).read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    names = re.findall(r"\b(lacuna_\w+)\(", text)
    names += re.findall(r"\b(LACUNA_\w+) = ", text) + re.findall(r"^\} (\w+);", text, re.MULTILINE)
    assert names
    missing = {f"c.{name}" for name in names} - pages[site / f"docs/site/{page}.html"].places
    # Enumerators and members stand below what they belong to.
    places = pages[site / f"docs/site/{page}.html"].places
    assert not {one for one in missing if not any(p.endswith(one[1:]) for p in places)}


def test_every_class_of_cpp_is_there_and_nothing_private(site):
    shown = (site / "docs/site/cpp.html").read_text()
    text = (ROOT / "include/lacuna/lacuna.hpp").read_text()
    for name in re.findall(r"^class (\w+)", text, re.MULTILINE):
        assert f"_CPPv4N6lacuna{len(name)}{name}E" in shown, name
    for name in ("packed_size", "true_extent", "hindexed_block", "machine"):
        assert f"{len(name)}{name}E" in shown, name
    assert "handle_" not in shown and "Destroy" not in shown


def test_all_of_python_is_there(site, pages):
    from lacuna import engine

    places = pages[site / "docs/site/python.html"].places
    for name in engine.__all__:
        one = getattr(engine, name)
        own = vars(one) if isinstance(one, type) else ()
        public = [f"{name}.{member}" for member in own if not member.startswith("_")]
        for full in [name, *public]:
            assert f"lacuna.engine.{full}" in places, full


def test_the_command_line_is_there(site):
    sys.path.append(str(ROOT / "packaging/manual"))
    from tree import commands

    shown = (site / "docs/site/command.html").read_text()
    text = re.sub(r"<[^>]+>", "", shown)
    for command in commands():
        assert command.name in text
        for names, told in command.options:
            assert told, (command.name, names, "has no help")
            assert names == "--help" or names.split()[0] in text, names
