#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lacuna.engine on arrays in a device's memory, on a device: the CPU's engine is the oracle.

    engine_on_device.py [--types N] [--seed N]

Needs neither NumPy, CuPy nor PyTorch: arrays are memory of the driver's with
`__cuda_array_interface__`, or in DLPack capsules (tests/cli/engine/fake_device.py). Where PyTorch
or CuPy can be imported, their arrays and streams are moved, too. Exit code 1: something is
wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import random
import re
import sys
import time
from ctypes import byref, c_void_p
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "cli" / "engine")]

from fake_device import DlPack  # noqa: E402

from lacuna.base.errors import LacunaError  # noqa: E402
from lacuna.engine import (  # noqa: E402
    Plan,
    Type,
    capi,
)
from lacuna.engine.device import driver  # noqa: E402


class DeviceArray:
    """Bytes on the device; what a view of NumPy's would say of them, too, for DlPack."""

    def __init__(self, data: bytes, stream: int | None = None) -> None:
        self.stream = stream
        self.shape, self.strides, self.itemsize, self.ndim = (len(data),), (1,), 1, 1
        self.dtype = type("dtype", (), {"kind": "u"})
        with driver.on(0):
            self.address = driver.allocate(len(data))
        self.write(data)

    def __del__(self) -> None:
        if getattr(self, "address", 0) and not sys.is_finalizing():
            with driver.on(0):
                driver.free(self.address)

    def write(self, data: bytes) -> None:
        room = ctypes.create_string_buffer(data, len(data))
        with driver.on(0):
            driver.copy(self.address, ctypes.addressof(room), len(data))

    def read(self) -> bytes:
        room = ctypes.create_string_buffer(self.shape[0])
        with driver.on(0):
            driver.copy(ctypes.addressof(room), self.address, self.shape[0])
        return room.raw

    @property
    def __array_interface__(self) -> dict:
        return {"data": (self.address, False)}

    @property
    def __cuda_array_interface__(self) -> dict:
        told = {"shape": self.shape, "typestr": "|u1", "data": (self.address, False)}
        return told | {"strides": None, "stream": self.stream, "version": 3}


class Stream:
    """A stream of the driver's, as newer libraries have them."""

    def __init__(self) -> None:
        create = driver.driver().cuStreamCreate
        create.argtypes = [ctypes.POINTER(c_void_p), ctypes.c_uint]
        handle = c_void_p()
        with driver.on(0):
            driver.check(create(byref(handle), 1), "a stream")
        self.handle = handle.value

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def synchronize(self) -> None:
        with driver.on(0):
            driver.synchronize(self.handle)


class OfTheHost:
    """The same by the CPU's engine, on buffers of ctypes."""

    def __init__(self, plan: Plan, count: int, origin: int) -> None:
        self.plan, self.count, self.origin = plan._handle, count, origin

    def pack(self, mem: bytes, size: int) -> bytes:
        source, out = ctypes.create_string_buffer(mem, len(mem)), ctypes.create_string_buffer(size)
        at = c_void_p(ctypes.addressof(source) + self.origin)
        capi.check(capi.library().lacuna_pack(self.plan, at, self.count, out), "packing")
        return out.raw

    def unpack(self, packed: bytes, mem: bytes) -> bytes:
        room = ctypes.create_string_buffer(mem, len(mem))
        at = c_void_p(ctypes.addressof(room) + self.origin)
        capi.check(capi.library().lacuna_unpack(self.plan, packed, self.count, at), "unpacking")
        return room.raw


def draw_type(draw: random.Random) -> str:
    """Vectors, lists, structs, transposes, in each other now and then."""
    basic = draw.choice(["double", "float", "int", "char", "int16_t", "c_double_complex"])
    n, m = draw.randint(1, 60), draw.randint(1, 9)
    kind = draw.randrange(6)
    if kind == 0:
        return f"vector({n}, {m}, {m + draw.randint(0, 9)}, {basic})"
    if kind == 1:
        places = sorted(draw.sample(range(0, 40 * n, 4), n))
        return f"indexed_block({draw.randint(1, 4)}, {places}, {basic})"
    if kind == 2:
        return f"resized(0, 32, struct([1, 2, 1], [0, 8, 24], [char, {basic}, int]))".replace(
            "c_double_complex", "float"
        )
    if kind == 3:
        return f"resized(0, 8, vector({8 * n}, 1, {8 * n}, double))"
    if kind == 4:
        lengths = [draw.randint(1, 9) for _ in range(n)]
        places = [12 * i for i in range(n)]
        return f"indexed({lengths}, {places}, {basic})"
    return f"hvector({m}, 1, {n * 480 + draw.randint(0, 9)}, vector({n}, 1, 2, {basic}))"


def check_type(draw: random.Random, text: str, stream: Stream) -> int:
    """Packed, unpacked and copied, whole and in slices; the number of calls."""
    plan = Plan(text)
    rows = re.match(r"resized\(0, 8, vector\((\d+)", text)
    count = min(40, int(rows.group(1))) if rows else draw.randint(1, 5)
    size = plan.packed_size(count)
    low, high = plan._around(count)
    pad = draw.choice([0, 0, 8, 1])
    origin = pad - low
    bytes_ = pad + high - low
    mem, noise = draw.randbytes(bytes_), draw.randbytes(bytes_)
    host = OfTheHost(plan, count, origin)
    wanted, packed_noise = host.pack(mem, size), draw.randbytes(size)
    on_device = DeviceArray(mem)
    out = DeviceArray(bytes(size))
    shown = draw.choice([on_device, DlPack(on_device), DlPack(on_device, None)])
    way = draw.choice([stream, stream.handle, None])
    cuts = sorted({0, size, *(draw.randint(0, size) for _ in range(draw.randint(0, 2)))})
    for begin, end in itertools.pairwise(cuts):
        part = DeviceArray(bytes(end - begin))
        plan.pack(shown, count, part, origin, (begin, end), way)
        stream.synchronize()
        assert part.read() == wanted[begin:end], f"pack [{begin}, {end})"
    plan.pack(shown, count, out, origin, stream=stream)
    stream.synchronize()
    assert out.read() == wanted, "pack"
    target = DeviceArray(noise)
    source = DeviceArray(packed_noise)
    plan.unpack(source, target, count, origin, stream=way)
    stream.synchronize()
    assert target.read() == host.unpack(packed_noise, noise), "unpack"
    target.write(noise)
    dense = Plan(f"contiguous({size}, byte)")
    dense.copy(source, plan, target, 1, count, 0, origin, way)
    stream.synchronize()
    assert target.read() == host.unpack(packed_noise, noise), "copy"
    return len(cuts) + 3


def check_waiting(stream: Stream) -> None:
    """An array that names the stream it is written on is read after that."""
    other = Stream()
    plan = Plan("vector(4000000, 1, 2, double)")
    for round_ in range(5):
        mem = DeviceArray(bytes([round_]) * 64000000, stream=other.handle)
        rows = DeviceArray(bytes([round_ + 100]) * 32000000)
        plan.unpack(rows, mem, stream=other)
        packed = plan.pack(mem, stream=stream)
        stream.synchronize()
        assert packed.tobytes() == rows.read(), "waiting for the array's stream"


def check_errors() -> None:
    mem = DeviceArray(bytes(64))
    plan = Plan("vector(3, 1, 4, double)")
    for what, call in (
        ("data are at bytes", lambda: plan.pack(mem)),
        ("out has 8 bytes", lambda: Plan("int").pack(mem, 4, DeviceArray(bytes(8)))),
        ("cannot be written", lambda: Plan("int").unpack(mem, DlPack(mem, flags=1))),
        ("unequal numbers of bytes", lambda: Plan("int").copy(mem, Plan("char"), mem)),
    ):
        try:
            call()
        except LacunaError as error:
            assert what in error.what, error.what
        else:
            raise AssertionError(f"not refused: {what}")


def check_torch(torch) -> None:
    matrix = torch.arange(600, dtype=torch.float64, device="cuda").reshape(20, 30)
    stream = torch.cuda.Stream()
    for view in (matrix.t(), matrix[::2, 3:7], matrix[4], matrix.to(torch.bfloat16)):
        plan = Plan(Type.of(view))
        out = torch.zeros_like(view, memory_format=torch.contiguous_format)
        plan.pack(view, out=out, stream=stream.cuda_stream)
        stream.synchronize()
        assert torch.equal(out, view), "torch: pack"
        room = torch.zeros_like(matrix).as_strided(view.shape, view.stride())
        if view.dtype == matrix.dtype:
            plan.unpack(out, room, stream=stream.cuda_stream)
            stream.synchronize()
            assert torch.equal(room, view), "torch: unpack"


def check_cupy(cupy) -> None:
    matrix = cupy.arange(600.0).reshape(20, 30)
    stream = cupy.cuda.Stream(non_blocking=True)
    for view in (matrix.T, matrix[::2, 3:7], matrix[::-1, ::-2]):
        out = cupy.zeros(view.shape)
        Plan(Type.of(view)).pack(view, out=out, stream=stream.ptr)
        stream.synchronize()
        assert bool((out == view).all()), "cupy: pack"


def time_of_a_call(stream: Stream) -> float:
    plan = Plan("vector(512, 1, 2, double)")
    mem, out = DeviceArray(bytes(8192)), DeviceArray(bytes(4096))
    plan.pack(mem, out=out, stream=stream.handle)
    best = 1e9
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(100):
            plan.pack(mem, out=out, stream=stream.handle)
        best = min(best, (time.perf_counter() - begin) * 1e4)
        stream.synchronize()
    return best


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--types", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    draw = random.Random(words.seed)
    stream = Stream()
    calls = failures = 0
    for _ in range(words.types):
        text = draw_type(draw)
        try:
            calls += check_type(draw, text, stream)
        except AssertionError as error:
            failures += 1
            print(f"WRONG: {text}: {error}")
    others = [("waiting", lambda: check_waiting(stream)), ("errors", check_errors)]
    for name, check in (("torch", check_torch), ("cupy", check_cupy)):
        try:
            module = __import__(name)
        except ImportError:
            print(f"{name}: skipped, not installed")
            continue
        others.append((name, lambda check=check, module=module: check(module)))
    for name, check in others:
        try:
            check()
            print(f"{name}: good")
        except (AssertionError, LacunaError) as error:
            failures += 1
            print(f"WRONG: {name}: {error}")
    print(f"a call that packs 4 KiB: {time_of_a_call(stream):.1f} us on the host")
    print(f"{words.types} types, {calls} calls, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
