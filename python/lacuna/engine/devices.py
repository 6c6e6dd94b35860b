# SPDX-License-Identifier: BSD-3-Clause
"""What is loaded when the engine meets an array on a device: lacuna.gpu, which is above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacuna.engine.type import Type
    from lacuna.gpu.plans import DevicePlans


def type_text_of(array: Any) -> str:
    """What an array on a device shows."""
    from lacuna.gpu import arrays

    return arrays.type_text_of(array)


def plans_of(datatype: Type) -> DevicePlans:
    """The plans of a type on devices."""
    from lacuna.gpu.plans import DevicePlans

    return DevicePlans(datatype)
