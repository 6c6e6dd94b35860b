# SPDX-License-Identifier: BSD-3-Clause
"""The directive `header`: a public header as a page, in the header's order and words.

A comment stands for the declarations below it, up to a blank line or the next comment: so do the
headers, which are written to be read without a tool. Sphinx reads each signature itself, so what
is taken apart wrongly does not build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r"-{4} (.*?)\s*-*$")
OURS = re.compile(r"\bLACUNA_(?:API|NODISCARD)\s+")


class Entry(NamedTuple):
    comment: str
    text: str  # one declaration on one line, without its body; empty: the comment stands alone
    body: str
    is_joined: bool  # follows another one without a blank line or a comment


def _without_preprocessor(text: str) -> str:
    """Keeps `#define NAME VALUE` outside of conditions, as a declaration. All have a guard."""
    kept, depth = [], 0
    for line in text.splitlines():
        word = line.split()[0] if line.startswith("#") else ""
        depth += word.startswith("#if")
        if not word:
            # What is only there for C++ is no declaration.
            kept.append("" if depth > 1 else line)
        elif depth == 1 and re.match(r"#define \w+ \S", line):
            kept.append(f"{line};")
        depth -= word == "#endif"
    return "\n".join(kept)


def _comment_at(text: str, at: int) -> tuple[str, int]:
    """The comment that begins at `at`, as lines without marks, and where it ends."""
    if text.startswith("/*", at):
        end = text.index("*/", at) + 2
        lines = text[at + 2 : end - 2].split("\n")
        return "\n".join(re.sub(r"^ \*(?: |$)", "", line) for line in lines).strip("\n "), end
    lines = []
    while text.startswith("//", at):
        end = (text + "\n").index("\n", at)
        lines.append(text[at + 2 : end].removeprefix(" "))
        at = end + 1 + len(text[end + 1 :]) - len(text[end + 1 :].lstrip(" "))
    return "\n".join(lines), end


def _closing(text: str, at: int) -> int:
    """Where the brace at `at` is closed."""
    depth = 0
    for found in re.finditer(r"[{}]", text[at:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return at + found.start()
    raise ValueError(f"no closing brace: {text[at : at + 40]}")


def _declaration_at(text: str, at: int) -> tuple[str, str, int]:
    """The declaration that begins at `at`: its text, its body, and where it ends."""
    depth, begin = 0, at
    while depth or text[at] not in ";{":
        depth += (text[at] in "(") - (text[at] in ")")
        at += 1
    head, body = text[begin:at], ""
    if text[at] == "{":
        end = _closing(text, at)
        body = text[at + 1 : end]
        at = end
        rest = re.match(r"\}[ \w]*;", text[at:])
        at += len(rest[0]) - 1 if rest else 0
    head = re.sub(r"\s+", " ", OURS.sub("", head)).strip()
    return re.sub(r"\)( noexcept)? : .*", r")\1", head), body, at + 1


def entries(text: str) -> Iterator[Entry]:
    """The comments and declarations of a text, in its order."""
    at, comment, is_joined = 0, "", False
    while at < len(text):
        blank = re.match(r"\s*", text[at:])[0]
        at += len(blank)
        if blank.count("\n") > 1 or not text[at:]:
            if comment:
                yield Entry(comment, "", "", False)
            comment, is_joined = "", False
        if not text[at:]:
            return
        if text.startswith(("/*", "//"), at):
            if comment:
                yield Entry(comment, "", "", False)
            comment, at = _comment_at(text, at)
            comment = "" if comment.startswith("namespace ") else comment  # of a closing brace
            is_joined = False
            continue
        label = re.match(r"(public|private):", text[at:])
        if label:
            if label[1] == "private":
                return
            at += len(label[0])
            continue
        declaration, body, at = _declaration_at(text, at)
        yield Entry(comment, declaration, body, is_joined)
        comment, is_joined = "", True


# ---- as reStructuredText ----


def prose(comment: str, names: set[str], domain: str) -> list[str]:
    """A comment's paragraphs; functions of the header become links."""

    def word(found: re.Match[str]) -> str:
        is_linked = domain == "c" and found[1] in names
        return f":c:func:`{found[1]}`" if is_linked else f"``{found[0]}``"

    def plain(text: str) -> str:
        """What is no name is escaped."""
        parts = re.split(r"(\b[A-Za-z]\w*_\w+\b(?:\(\))?)", text)
        escaped = [re.sub(r"([\\*`_|<])", r"\\\1", part) for part in parts]
        named = [re.sub(r"^(\w+)(\(\))?$", word, part) for part in parts]
        return "".join(named[i] if i % 2 else escaped[i] for i in range(len(parts)))

    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", comment) if comment else []:
        if all(line.startswith("  ") for line in paragraph.splitlines()):
            lines += [".. code-block:: " + ("c" if domain == "c" else "c++"), ""]
            lines += [f"   {line[2:]}" for line in paragraph.splitlines()]
        else:
            parts = re.split(r"`([^`]+)`", " ".join(paragraph.split()))
            lines.append("".join(f"``{p}``" if i % 2 else plain(p) for i, p in enumerate(parts)))
        lines.append("")
    return lines


def _members(body: str) -> Iterator[tuple[str, str]]:
    """Of an enumeration or a struct: each member and its comment, which stands behind it."""
    member = r"([^,;/]+?)\s*(?:[,;]|(?=/|$))\s*(?:/\*\s*(.*?)\s*\*/)?"
    for text, comment in re.findall(member, body, re.DOTALL):
        if text.strip():
            yield " ".join(text.split()), " ".join(comment.split())


def _kind(entry: Entry, domain: str) -> tuple[str, str]:
    """The directive of a declaration, and its signature."""
    if found := re.match(r"#define (\w+)", entry.text):
        return "c:macro", found[1]
    if found := re.match(r"typedef (enum|struct) (\w+)", entry.text):
        return f"c:{found[1]}", found[2]
    if found := re.match(r"(class|struct) (.*)", entry.text):
        return f"cpp:{found[1]}", found[2]
    if found := re.match(r"using (.*)", entry.text):
        return "cpp:type", found[1]
    kind = "function" if "(" in entry.text else "member"
    return f"{domain}:{kind}", entry.text.removeprefix("inline ")


def lines_of(text: str, domain: str, names: set[str]) -> list[str]:
    """A header, or the inside of a class, as lines of reStructuredText."""
    out: list[str] = []
    last = ""  # the directive that another declaration may join
    place = 0  # where its signatures end
    for entry in entries(text):
        heading = RULE.match(entry.comment.split("\n")[0])
        if heading:
            title = heading[1][:1].upper() + heading[1][1:]
            out += ["", title, "-" * len(title), ""]
            continue
        said = prose(entry.comment, names, domain)
        if not entry.text:
            out += said
            continue
        if entry.text.startswith(("namespace detail", "extern ")):
            continue
        if entry.text.startswith(("namespace", "inline namespace")):
            out += lines_of(entry.body, domain, names)
            continue
        kind, signature = _kind(entry, domain)
        if entry.is_joined and kind == last:
            out.insert(place, " " * len(f".. {kind}:: ") + signature)
            place += 1
            continue
        out += ["", f".. {kind}:: {signature}"]
        # In C a comment is for all that follow it directly, in a class for the next member.
        last, place = "" if said and domain == "cpp" else kind, len(out)
        out += [""] + [f"   {line}".rstrip() for line in said]
        if kind in ("c:enum", "c:struct"):
            member = "enumerator" if kind == "c:enum" else "member"
            for name, comment in _members(entry.body):
                name = re.sub(r"\s*=.*", "", name) if member == "enumerator" else name
                out += ["", f"   .. c:{member}:: {name}", ""]
                out += [f"      {line}".rstrip() for line in prose(comment, names, domain)]
        elif kind in ("cpp:class", "cpp:struct"):
            inside = entry.body if kind == "cpp:struct" else entry.body.partition("public:")[2]
            out += [f"   {line}".rstrip() for line in lines_of(inside, domain, names)]
            last = ""
    return out


def page(path: Path) -> list[str]:
    """A whole header."""
    domain = "cpp" if path.suffix == ".hpp" else "c"
    text = path.read_text(encoding="utf-8")
    names = set(re.findall(r"\b(lacuna_\w+)\(", text))
    # A rule of dashes that clang-format broke is one line.
    text = re.sub(r"(/\* -{4} .*?)\n \* -+\n \*/", r"\1 */", text)
    # The first comment is the header's own; it begins with the license and the name of the file.
    first, end = _comment_at(text, 0)
    first = first.split("\n\n", 1)[1].split(": ", 1)[1]
    first = re.sub(r"^lacuna\.h\b", "`lacuna.h`", first[0].upper() + first[1:], flags=re.IGNORECASE)
    lines = prose(first, names, domain)
    if domain == "cpp":
        lines += ["", ".. cpp:namespace:: lacuna", ""]
    return lines + lines_of(_without_preprocessor(text[end:]), domain, names)


class Header(SphinxDirective):
    """``.. header:: include/lacuna/lacuna.h``"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = ROOT / self.arguments[0]
        self.env.note_dependency(str(path))
        node = nodes.Element()
        node.document = self.state.document
        nested_parse_with_titles(self.state, StringList(page(path), source=str(path)), node)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("header", Header)
    return {"parallel_read_safe": True}
