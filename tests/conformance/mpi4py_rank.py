# SPDX-License-Identifier: BSD-3-Clause
"""One rank of mpi4py's own test suite: runs it and writes one line for each test.

mpi4py_rank.py TESTS RESULTS PATTERN...   with TESTS the suite's folder and PATTERN the names of
its files. Lines go to RESULTS.<rank> as they come, so that a crash shows where it was: first the
name of a test, then how it ended; at last "end", and whether lacuna is there. Whatever the ends,
the exit code is 0.
"""

from __future__ import annotations

import ctypes
import fnmatch
import os
import sys
import unittest


class Record(unittest.TestResult):
    """Writes "name", then " end" after it."""

    def __init__(self, stream) -> None:
        super().__init__()
        self._stream = stream
        self._end = ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def startTest(self, test) -> None:
        super().startTest(test)
        self._end = "ok"
        self._write(test.id())

    def stopTest(self, test) -> None:
        super().stopTest(test)
        self._write(f" {self._end}\n")

    def addError(self, test, error) -> None:
        self._fail("error", test, error)

    def addFailure(self, test, error) -> None:
        self._fail("failure", test, error)

    def _fail(self, end: str, test, error) -> None:
        self._end = end
        print(f"{test.id()}: {end}: {error[1]!r}", file=sys.stderr)
        if not hasattr(test, "_testMethodName"):  # of a whole class or module, without startTest
            self._write(f"{test.id()} {end}\n")

    def addSkip(self, test, reason) -> None:
        self._end = "skipped"

    def addExpectedFailure(self, test, error) -> None:
        self._end = "expected"

    def addSubTest(self, test, subtest, error) -> None:
        if error is not None:
            self._fail("failure", test, error)


def main() -> int:
    tests, results, *patterns = sys.argv[1:]
    sys.path.insert(0, tests)
    sys.argv = [sys.argv[0]]
    from mpi4py import MPI

    names = sorted(name for name in os.listdir(tests) if name.endswith(".py"))
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromName(name.removesuffix(".py"))
        for name in names
        if any(fnmatch.fnmatch(name, f"test_{pattern}.py") for pattern in patterns)
    )
    with open(f"{results}.{MPI.COMM_WORLD.Get_rank()}", "w", encoding="utf-8") as stream:
        suite.run(Record(stream))
        print("end", "lacuna" if has_lacuna() else "alone", file=stream)
    return 0


def has_lacuna() -> bool:
    return hasattr(ctypes.CDLL(None), "lacuna_interposed")


if __name__ == "__main__":
    sys.exit(main())
