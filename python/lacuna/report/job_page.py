# SPDX-License-Identifier: BSD-3-Clause
"""A job in the page of `lacuna report`: its table, and a figure of the time of its calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lacuna.base import figures
from lacuna.report import job as job_report

Report = dict[str, Any]

_BARS = 14  # rows with the most time
_INCHES = 10
_INCHES_A_BAR = 0.45
_COLORS = {
    "waiting": "#cccccc",
    "o": "#999999",
    "L": "#56b4e9",
    "l_p": "#e69f00",
    "l_m": "#d55e00",
}
_KEYS = {"waiting": "wait_seconds", "o": "o_seconds", "L": "L_seconds"} | {
    "l_p": "l_p_seconds",
    "l_m": "l_m_seconds",
}


def draw(folder: Path, report: Report, names: dict[str, str]) -> list[tuple[Path, str]]:
    """Writes the PNG file; returns it with its description, or nothing if no call was timed.
    `names`: of place_names().
    """
    if not job_report.has_costs(report):
        return []
    rows = sorted(report["rows"], key=lambda row: -row["costs"]["seconds"])[:_BARS][::-1]
    figure, panels = figures.panels(1, 1.6 + _INCHES_A_BAR * len(rows), width=_INCHES)
    panel = panels[0][0]
    left = [0.0] * len(rows)
    for piece, key in _KEYS.items():
        widths = [row["costs"][key] for row in rows]
        panel.barh(range(len(rows)), widths, left=left, color=_COLORS[piece], label=piece)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    labels = [
        f"{row['function']} in {names[row['costs']['site']] or '?'}\n"
        f"{job_report.type_text(report, row)}"
        for row in rows
    ]
    panel.set_yticks(range(len(rows)), labels, fontsize=7)
    panel.set_xlabel("seconds, all ranks together")
    panel.legend(fontsize=8, ncols=len(_KEYS), loc="lower right", bbox_to_anchor=(1, 1))
    panel.grid(axis="x", alpha=0.3)
    title = f"{report['provenance']['program']}: where the time of its calls goes"
    path = figures.save(figure, folder / "job-pieces.png", report["provenance"], title)
    words = (
        "o: one copy; l_p: packing minus that copy; L: network (collectives: and library); "
        "l_m: what the library adds for the type; waiting: for other ranks"
    )
    return [(path, words)]
