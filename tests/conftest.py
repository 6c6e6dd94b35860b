# SPDX-License-Identifier: BSD-3-Clause
"""Which tests are variations: those on another MPI library than MPICH.

`make test` leaves them out, `make test MORE=1` runs them (tests/CMakeLists.txt).
"""

import pytest

_NAMES = ("mpi", "library")  # the parameters that say on which MPI library a test runs


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("depth: for `make test-conformance`", "more: for `make test MORE=1`"):
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if any(params.get(name, "mpich") not in ("mpich", None) for name in _NAMES):
            item.add_marker(pytest.mark.more)
