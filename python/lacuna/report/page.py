# SPDX-License-Identifier: BSD-3-Clause
"""The page of `lacuna report`: results of benchmarks and jobs as HTML that needs no network, with
PNG files.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from lacuna.base import results
from lacuna.bench import guidelines
from lacuna.bench.apps import command as bench_apps
from lacuna.bench.apps import summary as apps_summary
from lacuna.bench.apps.summary import Apps
from lacuna.bench.papers import command as papers
from lacuna.costs import tables as costs_tables
from lacuna.launch import mpis
from lacuna.report import job as job_report

Result = dict[str, Any]

_SHOWN_WORST = 15
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
td, th { padding: 2px 9px; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; }
th { background: #f3f3f3; }
h1, h2, h3 { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
.head td { overflow-wrap: anywhere; text-align: left; }
.head td:first-child { white-space: nowrap; vertical-align: top; }
figure { margin: 1em 0; }
img { max-width: 100%; min-width: 45em; }
figcaption, .note { color: #555; font-size: 13px; }
.bad { color: #b00020; } .good { color: #00693e; }
"""


def write(files: list[Path], found: list[Result], output: Path) -> None:
    """Writes report.html and the figures into the folder `output`. Two files are compared, too."""
    results.make_folder(output)
    sections: list[str] = []
    written: list[Path] = []
    for path, result in zip(files, found, strict=True):
        folder = output if len(files) == 1 else output / path.stem
        results.make_folder(folder)
        text, figures = SECTIONS[result["provenance"]["kind"]](result, folder)
        sections.append(_head(path, result) + text)
        written += figures
    if len(found) == 2 and job_report.KIND not in _kinds(found):
        sections.append(_compared(files, found))
    page = output / "report.html"
    title = "lacuna: " + ", ".join(path.name for path in files)
    results.write_text(
        page,
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><body><h1>{escape(title)}</h1>{''.join(sections)}</body></html>\n",
    )
    for file in (page, *written):
        print(f"wrote {file}", file=sys.stderr)


def _kinds(found: list[Result]) -> set[str]:
    return {one["provenance"]["kind"] for one in found}


def table(names: list[str], rows: list[list[str]]) -> str:
    """An HTML table of text cells. On a narrow screen the table scrolls, not the page."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = ["".join(f"<td>{_lines(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _lines(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure class="wide"><img alt="{escape(path.stem)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _head(path: Path, result: Result) -> str:
    header = result["provenance"]
    if header["kind"] == job_report.KIND:
        return f"<h2>{escape(path.name)}</h2>"  # its first line says what it is
    shown = {
        "date": header["date"],
        "processor": f"{header['cpu']}, {header['cores']} cores",
        "lacuna": f"{header['lacuna']} ({header['commit'] or 'no commit'})",
        "command": " ".join(header["command"]),
        "language": header.get("language", "c++"),
        "compiler": header["compiler"],
        "ranks": str(header["ranks"]),
    }
    for name, version in header["mpi"].items():
        shown[mpis.TITLE[name]] = version.splitlines()[0]
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in shown.items()
    )
    return f'<h2>{escape(path.name)}</h2><table class="head">{rows}</table>'


def _apps(result: Result, folder: Path) -> tuple[str, list[Path]]:
    from lacuna.bench.apps import plots as apps_plots  # matplotlib takes a second to load

    found = Apps(result["rows"])
    figures = apps_plots.draw(folder, result["provenance"], found)
    parts = ["<h3>Geometric means</h3>", _means(found), "<h3>Which patterns gain</h3>"]
    parts += [_classes(found), "<h3>Worst cases</h3>", _worst(found)]
    parts += [_figure(path, caption) for path, caption in figures]
    parts += ["<h3>All tests</h3>"]
    for mpi in found.mpis:
        parts += [f"<h4>{escape(mpis.TITLE[mpi])}</h4>", _all_tests(found, mpi)]
    return "".join(parts), [path for path, _ in figures]


def _means(found: Apps) -> str:
    rows = []
    for line in apps_summary.summary(found):
        cells = [line["what"]]
        for mpi in found.mpis:
            told = line["mpi"].get(mpi)
            cells.append(
                f"{told['mean']:.2f} (worst {told['worst']:.2f}, {told['worst_id']})"
                if told
                else ""
            )
        rows.append(cells)
    return table(["time over time"] + [mpis.TITLE[mpi] for mpi in found.mpis], rows)


def _classes(found: Apps) -> str:
    rows = []
    for mpi in found.mpis:
        means = apps_summary.by_class(found, mpi, "native", "lacuna")
        if means:
            rows.append(
                [mpis.TITLE[mpi]]
                + [f"{means[name]:.2f}" if name in means else "" for name in apps_summary.CLASSES]
            )
    return table(["native / lacuna", *apps_summary.CLASSES], rows)


def _worst(found: Apps) -> str:
    """The rows with the least speedup by lacuna."""
    ratios = [
        (value, mpis.TITLE[mpi], name)
        for mpi in found.mpis
        for name, value in found.ratios(mpi, "native", "lacuna").items()
    ]
    rows = [[name, mpi, f"{value:.2f}"] for value, mpi, name in sorted(ratios)[:_SHOWN_WORST]]
    return table(["test", "MPI", "native / lacuna"], rows)


def _all_tests(found: Apps, mpi: str) -> str:
    methods = [name for name in bench_apps.METHODS if name in found.methods]
    rows = []
    for name in found.ids(mpi):
        cells = [name, f"{found.row(mpi, name, methods[-1])['bytes'] / 1024:.1f}"]
        for method in methods:
            row = found.get(mpi, name, method)
            times = (row["median_s"] * 1e6, row["mad_s"] * 1e6) if row else None
            cells.append("{:.2f} \u00b1 {:.2f}".format(*times) if times else "")
        rows.append(cells)
    return table(["test", "KiB", *(f"{name}, us" for name in methods)], rows)


def _compared(files: list[Path], found: list[Result]) -> str:
    """Times of the second file over those of the first, where they differ by more than the
    noise.
    """
    before, after = ({_key(row): row for row in one["rows"]} for one in found)
    rows, quiet, counts = [], 0, 0
    for key in before.keys() & after.keys():
        one, other = before[key], after[key]
        counts += 1
        ratio = other["median_s"] / one["median_s"]
        spread = 3 * (one["mad_s"] / one["median_s"] + other["mad_s"] / other["median_s"])
        if abs(ratio - 1) <= max(spread, 0.05):
            quiet += 1
            continue
        rows.append((ratio, [*key[1:], mpis.TITLE[key[0]], f"{ratio:.2f}"]))
    rows.sort(key=lambda row: -row[0])
    note = (
        f"{counts} times are in both files; {quiet} of them differ by less than 5 % or three times "
        "the spread of their samples. Two runs on a shared machine differ by more than methods do: "
        "compare ratios inside a file first."
    )
    title = f"{files[1].name} over {files[0].name}"
    return f'<h2>{escape(title)}</h2><p class="note">{escape(note)}</p>' + table(
        ["row", "method", "MPI", "time over time"], [cells for _, cells in rows]
    )


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["mpi"], row["id"], row["method"]


def _verdicts(result: Result, folder: Path) -> tuple[str, list[Path]]:
    return table(*guidelines.cells(result["verdicts"])), []


def _papers(result: Result, folder: Path) -> tuple[str, list[Path]]:
    parts = []
    for experiment in papers.experiments(result["rows"], result["experiments"]):
        parts.append(f"<h3>{escape(experiment.title)}</h3>")
        parts.append(f'<p class="note">{escape(experiment.then)}</p>')
        parts.append(table(*experiment.cells))
    return "".join(parts), []


def _costs(result: Result, folder: Path) -> tuple[str, list[Path]]:
    from lacuna.costs import plots as costs_plots  # matplotlib takes a second to load

    figures = costs_plots.draw(folder, result)
    parts = []
    for title, cells in costs_tables.all_cells(result, None):
        if cells[1]:
            parts += [f"<h3>{escape(title)}</h3>", table(*cells)]
    parts += [f'<p class="note">{escape(line)}</p>' for line in costs_tables.verdicts(result)]
    parts.append(f'<p class="note">{escape(costs_tables.PIECE_MEANINGS)}</p>')
    drawn = "".join(_figure(path, caption) for path, caption in figures)
    return drawn + "".join(parts), [path for path, _ in figures]


def _job(result: Result, folder: Path) -> tuple[str, list[Path]]:
    from lacuna.report import job_page

    places = job_report.place_names(result)
    drawn = job_page.draw(folder, result, places)
    text = f"<p>{escape(job_report.headline(result))}</p>"
    text += "".join(_figure(path, caption) for path, caption in drawn)
    return text + table(*job_report.cells(result, places)), [path for path, _ in drawn]


SECTIONS: dict[str, Callable[[Result, Path], tuple[str, list[Path]]]] = {
    "apps": _apps,
    "costs": _costs,
    "guidelines": _verdicts,
    job_report.KIND: _job,
    "papers": _papers,
}
