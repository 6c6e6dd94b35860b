# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain`: what a type is, how lacuna moves it, and why."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import Plan, Type
from lacuna.explain import cost as explain_cost
from lacuna.explain import picture


def facts(
    text: str, count: int, measure: bool = False
) -> tuple[dict[str, Any], picture.Picture | str]:
    """The facts about `count` elements of a type, as a dictionary for JSON, and its picture."""
    if not 0 <= count < 2**63:
        raise LacunaError(Exit.USAGE, f"bad count in --count: {count}", "give 0 to 2^63 - 1")
    datatype = Type(text)
    plan = Plan(datatype)
    lb, extent = datatype.extent()
    true_lb, true_extent = datatype.true_extent()
    found = {
        "type": datatype.text(),
        "count": count,
        "size": datatype.size(),
        "lb": lb,
        "extent": extent,
        "true_lb": true_lb,
        "true_extent": true_extent,
        "packed_bytes": plan.packed_size(count),
        "explain": plan.explain(count),
        "predicted": plan.cost(count),
    }
    if measure:
        found["measured"] = explain_cost.measure(datatype, plan, count)
    return found, picture.draw(datatype, plan, count)


def explain(text: str, count: int, measure: bool, as_json: bool) -> None:
    """Prints the explanation on stdout."""
    found, drawn = facts(text, count, measure)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(found["explain"].rstrip(), markup=False)
    if found["packed_bytes"] > 0:
        console.print(explain_cost.source(found["predicted"]), markup=False)
        table = explain_cost.table(found["predicted"], found.get("measured"))
        if console.width < explain_cost.WIDTH:
            console = Console(highlight=False, soft_wrap=True, width=explain_cost.WIDTH)
        console.print(table)
    console.print()
    console.print(drawn if isinstance(drawn, str) else picture.render(drawn))
