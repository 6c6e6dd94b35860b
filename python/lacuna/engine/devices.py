# SPDX-License-Identifier: BSD-3-Clause
"""Loads lacuna.gpu, which is above this package, when the engine meets an array on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacuna.engine.type import Type
    from lacuna.gpu.plans import DevicePlans


def type_text_of(array: Any) -> str:
    """The text of the type of all elements of an array on a device."""
    from lacuna.gpu import arrays

    return arrays.type_text_of(array)


def plans_of(datatype: Type) -> DevicePlans:
    """An object that packs and copies elements of a type in device memory."""
    from lacuna.gpu.plans import DevicePlans

    return DevicePlans(datatype)
