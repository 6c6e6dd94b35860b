# SPDX-License-Identifier: BSD-3-Clause
"""lacuna.engine on arrays in a device's memory, with a device of the host's (fake_device.py):
NumPy is the oracle. tests/gpu/engine_on_device.py does the same on a device.
"""

import ctypes

import numpy as np
import pytest
from fake_device import DlPack, FakeDriver, FakeLibrary, Interface

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import Plan, Type
from lacuna.engine.device import arrays, driver, library, plans


@pytest.fixture
def device(monkeypatch):
    fake = FakeDriver()
    fake.library = FakeLibrary(fake)
    for module in (arrays, plans):
        monkeypatch.setattr(module, "driver", fake)
    for module in (library, plans):
        monkeypatch.setattr(module, "library", lambda: fake.library)
    return fake


class Stream:
    """As newer CuPy and PyTorch have them."""

    def __init__(self, handle, version=0):
        self.told = (version, handle)

    def __cuda_stream__(self):
        return self.told


@pytest.mark.parametrize(
    "shown",
    [
        Interface,
        DlPack,
        lambda array: DlPack(array, None),
        lambda array: DlPack(array, is_cupy=True),
    ],
)
def test_what_a_view_shows(device, shown):
    matrix = np.arange(120, dtype=np.int32).reshape(6, 20)
    for view in (matrix, matrix.T, matrix[::2, 3:9], matrix[::-1, ::-3], matrix[:3, :2]):
        datatype = Type.of(shown(view))
        assert datatype.text() == Type.of(view).text()
        plan = Plan(datatype)
        out = np.zeros(view.nbytes, np.uint8)
        assert plan.pack(shown(view), out=Interface(out)).array is out
        assert out.tobytes() == view.tobytes()
        other = np.zeros_like(matrix)
        begins = (view.__array_interface__["data"][0] - matrix.__array_interface__["data"][0]) // 4
        target = np.lib.stride_tricks.as_strided(
            other.reshape(-1)[begins:], view.shape, view.strides
        )
        plan.unpack(Interface(out), shown(target))
        assert (target == view).all()
        assert (other != 0).sum() <= view.size


def test_structured_elements(device):
    dtype = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8]})
    array = np.zeros(5, dtype)
    array["a"], array["b"] = np.arange(5), np.arange(5) / 3
    view = Interface(array)
    assert Type.of(view).text() == Type.of(array).text()
    packed = Plan(Type.of(view)).pack(view)
    assert packed.tobytes() == Plan(Type.of(array)).pack(array).tobytes()


def test_new_bytes_are_the_devices_and_end(device):
    matrix = np.arange(12.0).reshape(3, 4)
    packed = Plan("vector(3, 1, 4, double)").pack(Interface(matrix), offset=8)
    assert isinstance(packed, arrays.DeviceBytes)
    assert len(packed) == 24
    assert len(device.memory) == 1
    assert np.frombuffer(packed.tobytes()).tolist() == [1, 5, 9]
    room = np.zeros((3, 4))
    Plan("vector(3, 1, 4, double)").unpack(packed, Interface(room), offset=16)
    assert room[:, 2].tolist() == [1, 5, 9]
    del packed
    assert not device.memory


def test_from_one_layout_to_another_and_in_slices(device):
    matrix = np.arange(200, dtype=np.int32).reshape(10, 20)
    turned = np.zeros((20, 10), np.int32)
    plan, other = Plan(Type.of(matrix)), Plan(Type.of(turned.T))
    plan.copy(Interface(matrix), other, DlPack(turned.T), stream=7)
    assert (turned == matrix.T).all()
    assert device.library.calls == [("copy", 7, 0)]
    out = np.zeros(800, np.uint8)
    for begin, end in ((100, 800), (0, 100)):
        plan.pack(Interface(matrix), out=Interface(out[begin:end]), slice_=(begin, end))
    assert out.tobytes() == matrix.tobytes()
    matrix[:] = 0
    for begin, end in ((100, 800), (0, 100)):
        plan.unpack(Interface(out[begin:end]), Interface(matrix), slice_=(begin, end))
    assert out.tobytes() == matrix.tobytes()


def test_streams(device):
    array, out = np.arange(8), np.zeros(8, int)
    plan = Plan("contiguous(8, int64_t)")
    for stream, handle in ((None, 0), (0, 0), (1, 1), (0x7F00, 0x7F00), (Stream(0x8800), 0x8800)):
        plan.pack(Interface(array), out=Interface(out), stream=stream)
        assert device.library.calls[-1] == ("pack", handle, 0)
    # One plan for one count.
    assert len(device.library.plans) == 1
    # An array says after what it may be used; the same stream keeps the order by itself.
    plan.pack(Interface(array, stream=5), out=Interface(out, stream=6), stream=5)
    plan.pack(Interface(array, stream=1), out=Interface(out))
    assert device.waits == [(5, 6)]
    tensor, host = DlPack(array), DlPack(out, device=(3, 0))
    plan.pack(tensor, out=host, stream=9)
    plan.pack(tensor, out=host)
    assert tensor.streams == [9, 1]  # 1 names the default one
    assert host.streams == [None, None]


def test_devices(device):
    array, out = np.arange(8), np.zeros(8, int)
    address = array.__array_interface__["data"][0]
    device.devices[address] = 1
    plan = Plan("contiguous(8, int64_t)")
    with pytest.raises(LacunaError, match="devices 0 and 1"):
        plan.pack(Interface(array), out=Interface(out))
    device.pinned.add(out.__array_interface__["data"][0])
    plan.pack(Interface(array), out=out)
    assert (out == array).all()
    assert device.library.calls == [("pack", 0, 1)]
    device.of_host.add(address)
    with pytest.raises(LacunaError, match="memory of no CUDA device"):
        plan.pack(Interface(array), out=Interface(out))
    plan.pack(DlPack(array, device=(2, 3)), out=out)
    assert device.library.calls[-1] == ("pack", 0, 3)
    assert len(device.library.plans) == 2
    del plan
    assert device.library.destroyed == 2


def test_what_is_wrong_is_said_and_nothing_is_moved(device):
    matrix, zeros = np.arange(12.0).reshape(3, 4), np.zeros(3)
    plan = Plan("vector(3, 1, 4, double)")
    mem, out = Interface(matrix), Interface(zeros)
    frozen, old = DlPack(matrix, flags=1), DlPack(matrix, version=(2, 0))
    for what, call in (
        ("data are at bytes 32 to 104 of mem", lambda: plan.pack(mem, offset=32)),
        ("data are at bytes -8 to 64 of mem", lambda: plan.pack(mem, offset=-8)),
        ("out has 16 bytes, 24 are needed", lambda: plan.pack(mem, out=Interface(zeros[:2]))),
        ("out has gaps", lambda: plan.pack(mem, out=Interface(np.zeros(6)[::2]))),
        ("out cannot be written", lambda: plan.pack(mem, out=Interface(zeros, read_only=True))),
        ("mem cannot be written", lambda: plan.unpack(out, Interface(matrix, read_only=True))),
        ("mem cannot be written", lambda: plan.unpack(out, frozen)),
        ("packed has 16 bytes", lambda: plan.unpack(Interface(zeros[:2]), mem)),
        ("out is ndarray, memory of the host", lambda: plan.pack(mem, out=zeros)),
        ("mem is ndarray, memory of the host", lambda: plan.unpack(out, matrix)),
        ("bytes 5 to 25 of 24 are no slice", lambda: plan.pack(mem, slice_=(5, 25))),
        ("mem speaks DLPack 2.0", lambda: plan.pack(old)),
        ("stream is str", lambda: plan.pack(mem, out=out, stream="s")),
        ("bad stream: -1", lambda: plan.pack(mem, out=out, stream=-1)),
        ("version 3 of __cuda_stream__", lambda: plan.pack(mem, out=out, stream=Stream(8, 3))),
        ("all memory is the host's", lambda: plan.pack(matrix, stream=8)),
        ("copying: the fake says no", lambda: plan.copy(mem, Plan("double"), out)),
    ):
        before = matrix.copy()
        with pytest.raises(LacunaError, match=what):
            call()
        assert (matrix == before).all()
    assert (zeros == 0).all()


def test_without_a_driver(monkeypatch):
    monkeypatch.setattr(driver, "_FILE", "libnosuchcuda.so.1")
    driver.driver.cache_clear()
    try:
        with pytest.raises(LacunaError, match="no CUDA driver: libnosuchcuda") as error:
            Plan("double").pack(Interface(np.zeros(1)))
    finally:
        driver.driver.cache_clear()
    assert error.value.code == Exit.ENVIRONMENT
    assert "nvidia-smi" in error.value.remedy


def test_without_a_device(monkeypatch):
    class Loaded:
        """The driver of a machine whose device is not there."""

        def __init__(self, _):
            for name in driver._SIGNATURES:
                setattr(self, name, Function(100 if name == "cuInit" else 0))

    class Function:
        def __init__(self, status):
            self.status = status

        def __call__(self, *_):
            return self.status

    monkeypatch.setattr(ctypes, "CDLL", Loaded)
    driver.driver.cache_clear()
    try:
        with pytest.raises(LacunaError, match=r"no CUDA device: .*CUDA error 100") as error:
            driver.device_of(8)
    finally:
        driver.driver.cache_clear()
    assert error.value.code == Exit.ENVIRONMENT


def test_where_the_library_was_not_built(monkeypatch, tmp_path):
    monkeypatch.setenv("LACUNA_LIBRARY_DIR", str(tmp_path))
    library.library.cache_clear()
    with pytest.raises(LacunaError, match=r"no liblacuna-cuda\.so in") as error:
        library.library()
    assert error.value.code == Exit.ENVIRONMENT
    assert "nvcc" in error.value.remedy


def test_that_the_library_has_what_is_called():
    if not (library.paths.library_dirs()[0] / "liblacuna-cuda.so").is_file():
        pytest.skip("liblacuna-cuda.so was not built: CMake found no nvcc")
    # The text is this thread's: another test may have left one.
    assert isinstance(library.library().lacuna_gpu_last_error(), bytes)
