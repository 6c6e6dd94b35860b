# SPDX-License-Identifier: BSD-3-Clause
"""The documents say what is so: options, links, commands; and they fit on a screen."""

import ast
import os
import re
import subprocess

import pytest
from conftest import BUILD, COMMAND, MPI_ROOT, ROOT, one_line_error, run_quietly

TABLE = re.compile(r'\{OptionId::k\w+, "(LACUNA_\w+)"')


SOURCES = (
    "bench cmake costs engine examples include interpose mpi optimizer packaging "
    "python setup tests".split()
)


TOP = ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")


def documents():
    found = [ROOT / f"{name}.md" for name in TOP] + sorted((ROOT / "docs").rglob("*.md"))
    for folder in SOURCES:
        found += sorted((ROOT / folder).rglob("README.md"))
    return found


def test_every_option_is_documented_and_no_other():
    known = set(TABLE.findall((ROOT / "engine/base/options.cpp").read_text()))
    assert known
    text = (ROOT / "docs/user/options.md").read_text()
    assert set(re.findall(r"^\| `(LACUNA_\w+)", text, re.MULTILINE)) == known


def test_options_that_documents_name_exist():
    known = set(TABLE.findall((ROOT / "engine/base/options.cpp").read_text()))
    known |= {"LACUNA_LIBRARY_DIR", "LACUNA_COMPILED_TABLE", "LACUNA_PYTHON", "LACUNA_CHECK"}
    known |= {"LACUNA_MPICC"}
    for page in [ROOT / "README.md", *USER]:
        text = re.sub(r"-D ?LACUNA_\w+|`LACUNA_MPI(_ROOT)?(=ON)?`", "", page.read_text())  # CMake's
        told = set(re.findall(r"\bLACUNA_[A-Z_]*[A-Z]\b", text))
        assert told <= known, (page.name, told - known)


def anchors(page):
    """The names that a page's headings have in links."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_links_lead_somewhere():
    for document in documents():
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", document.read_text()):
            if "://" in target:
                continue
            page = document.parent / target if target else document
            assert page.exists(), f"{document}: {target}"
            if anchor and page.suffix == ".md":
                assert anchor in anchors(page), f"{document}: {target}#{anchor}"


@pytest.mark.parametrize("folder", ["experiments", "decisions"])
def test_the_list_of_a_folder_names_each_page(folder):
    pages = {page.name for page in (ROOT / "docs" / folder).glob("*.md")} - {"README.md"}
    listed = re.findall(
        r"^- \[[^\]]+\]\((.*?)\)", (ROOT / "docs" / folder / "README.md").read_text(), re.M
    )
    assert sorted(listed) == sorted(pages)


def test_setup_refuses_an_unknown_word():
    command = [ROOT / "setup" / "setup.sh", "everything"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    usage = "setup/setup.sh build|test|optimizer [packages], or mpi|sources|aarch64"
    assert result.stderr == f"lacuna setup: usage: {usage}\n"


def test_the_tests_of_the_rules_exist():
    sources = [
        path
        for path in (ROOT / "tests").rglob("*")
        if path.suffix in (".cpp", ".F90", ".py", ".txt", ".cmake")
    ]
    text = "\n".join(path.read_text() for path in sources)
    names = {path.name for path in sources}
    topics = set(re.findall(r"^TOPIC\((\w+)\)", text, re.MULTILINE))
    for line in (ROOT / "docs/internals/rules.md").read_text().splitlines():
        if not line.startswith("|") or line.count("|") != 3:
            continue
        for name in re.findall(r"`([a-z_]+(?:\.\w+)?)`", line.split("|")[2]):
            known = name in topics or name in names or name.split(".")[-1] in text
            assert known, name


def test_every_topic_of_the_preload_runs():
    folder = ROOT / "tests/interpose"
    topics = set()
    for path in folder.rglob("*.cpp"):
        topics |= set(re.findall(r"^TOPIC\((\w+)\)", path.read_text(), re.MULTILINE))
    grouped = set(re.findall(r"^(\w+)$", (folder / "topics.ini").read_text(), re.MULTILINE))
    assert not grouped - topics
    runs = [folder / "tests.cmake", folder / "hosts/hosts.cmake"]
    runs.append(folder / "start/processes_test.cpp")
    runs += (ROOT / "tests/cli").rglob("*.py")
    words = set(re.findall(r"\w+", "\n".join(path.read_text() for path in runs)))
    assert not topics - grouped - words


def test_the_quirks_are_of_tests_and_topics_that_exist():
    folder = ROOT / "tests/interpose"
    rows = (folder / "tests.cmake").read_text()
    table = (folder / "rows.cmake").read_text()
    known_mpis = set(re.findall(r'^  "([\w-]+) \w+ \w+"', table, re.MULTILINE))
    for line in (folder / "quirks.txt").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        tests, topics, mpis, _what, _why = line.split(" : ", 4)
        assert set(mpis.split()) <= known_mpis
        for test in set(tests.split()) - {"*", "hosts"}:
            stem = test.rpartition(".")[0]
            known = f"_test({test} " in rows or f"_test({stem}.${{" in rows
            assert known, test
        for topic in set(topics.split()) - {"*"}:
            listed = (folder / "topics.ini").read_text()
            known = f"[{topic[1:]}]" in listed if topic[0] == "@" else topic in rows + listed
            assert known, topic


COMMANDS = "explain machine preload run tune report doctor docs bench costs demo".split()
LAUNCHERS = r"\b(mpirun|mpiexec|srun)\b"


def commands_in(text):
    """What follows `lacuna` where a document shows a command: its words, and its long options."""
    for line in text.replace("\\\n", " ").splitlines():
        for found in re.finditer(r"\blacuna ([a-z]+)( [a-z]+)?([^`#|\n;]*)", line):
            if found[1] not in COMMANDS:
                continue
            own = re.split(LAUNCHERS, found[3])[0]
            words = [found[1]]
            if found[1] in ("bench", "costs") and found[2]:
                words.append(found[2].strip())
            yield tuple(words), re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", own)


def test_commands_and_options_that_documents_show_exist(lacuna):
    shown = {}
    for page in documents():
        if "experiments" in page.parts:
            continue  # these tell of the day on which they were made
        for words, options in commands_in(page.read_text()):
            for option in options:
                shown.setdefault(words, {}).setdefault(option, page)
    assert len(shown) > 10
    for words, options in shown.items():
        result = lacuna(*words, "--help", COLUMNS="200")
        assert result.returncode == 0, (words, options)
        known = set(re.findall(r"--[a-z][a-z0-9-]*", result.stdout))
        for option, page in options.items():
            assert option in known, (page, words, option)


def messages(path):
    """What a source may print: strings that document nothing; of C++, what is no comment."""
    text = path.read_text()
    if path.suffix != ".py":
        return re.sub(r'"\s+"', "", re.sub(r"//.*", "", text))
    nodes = list(ast.walk(ast.parse(text)))
    documenting = [node.value for node in nodes if isinstance(node, ast.Expr)]
    strings = [node for node in nodes if isinstance(node, ast.Constant) and node not in documenting]
    return "\n".join(str(node.value) for node in strings)


def test_messages_name_pages_that_their_readers_have(lacuna):
    """`lacuna docs PAGE`, for who has no clone."""
    told = set()
    for folder in "bench costs engine interpose optimizer python".split():
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".cpp", ".hpp"):
                text = messages(path)
                assert not re.search(r"(?<!\]\()docs/(user|internals)/\w", text), path
                told |= set(re.findall(r"lacuna docs (\w+)", text))
    pages = {page.stem: page.read_text() for page in USER if page.stem != "README"}
    assert len(told) > 3 and told <= pages.keys()
    listed = dict(line.split(maxsplit=1) for line in lacuna("docs").stdout.splitlines())
    assert listed == {name: text.splitlines()[0][2:] for name, text in pages.items()}
    assert lacuna("docs", "run").stdout == pages["run"]
    one_line_error(lacuna("docs", "walk"), 2, "no page walk", f"known are {', '.join(pages)}")


WIDTH = 120


def prose(text):
    """The lines of a document, with their numbers, that are no table and not in a code block."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ")):
            yield number, line


def test_lines_fit_on_a_screen():
    pages = [ROOT / f"{name}.md" for name in (*TOP, "docs/README")]
    for folder in ("user", "internals", "experiments", "results"):
        pages += sorted((ROOT / "docs" / folder).glob("*.md"))
    long = [
        f"{page.relative_to(ROOT)}:{number}: {len(line)} characters"
        for page in pages
        for number, line in prose(page.read_text())
        if len(line) > WIDTH
    ]
    assert not long, "\n".join(long)


USER = sorted((ROOT / "docs/user").glob("*.md"))
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """The code blocks of a page: the words behind the marks, and the text."""
    return [(words.split(), text) for words, text in BLOCK.findall(page.read_text())]


def is_runnable(page):
    return any(words == ["sh", "run"] for words, _ in blocks(page))


def loosely(line):
    """A line of output without what differs from run to run: numbers and blanks."""
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "0", line)).strip()


def is_in(wanted, lines):
    """Whether a line that a page shows is among others; "..." stands for anything."""
    pattern = ".*".join(re.escape(part) for part in loosely(wanted).split("..."))
    return any(re.fullmatch(pattern, loosely(line)) for line in lines)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """What a user has: the command, and the modules of an MPI library and of lacuna loaded."""
    prefix = tmp_path / "prefix"
    (prefix / "lib/pkgconfig").mkdir(parents=True)
    (prefix / "include").symlink_to(ROOT / "include")
    for name in ("liblacuna.so", "liblacuna.so.0"):
        (prefix / "lib" / name).symlink_to(BUILD / "lib" / name)
    package = (BUILD / "CMakeFiles/installed/lacuna.pc").read_bytes()
    (prefix / "lib/pkgconfig/lacuna.pc").write_bytes(package)
    monkeypatch.setenv("PKG_CONFIG_PATH", str(prefix / "lib/pkgconfig"))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{prefix / 'lib'}:{MPI_ROOT / 'mpich' / 'lib'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = [COMMAND.parent, MPI_ROOT / "mpich" / "bin", os.environ["PATH"]]
    monkeypatch.setenv("PATH", ":".join(map(str, path)))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("page", filter(is_runnable, USER), ids=lambda page: page.stem)
def test_what_users_are_told_to_type_works(page, installed):
    """A block `sh run` is run by bash, where the programs that the pages show lie as files; the
    lines of a block `text output` behind it are in what it prints."""
    if page.stem == "compile" and not (BUILD / "lib" / "lacuna-optimizer.so").exists():
        pytest.skip("lacuna-cc was not built: it needs LLVM 19 (make optimizer)")
    for other in USER:
        for words, text in blocks(other):
            if len(words) == 2 and re.fullmatch(r"[\w.-]+\.(c|cpp|py|f90)", words[1]):
                (installed / words[1]).write_text(text)
    printed = None
    for words, text in blocks(page):
        if words == ["sh", "run"]:
            result = run_quietly(["bash", "-euo", "pipefail", "-c", text], {}, installed)
            assert result.returncode == 0, (text, result.stdout, result.stderr)
            printed = [*result.stdout.splitlines(), *result.stderr.splitlines()]
        elif words == ["text", "output"]:
            for line in text.splitlines():
                assert is_in(line, printed), "\n".join([line, "is not in:", *printed])
