# SPDX-License-Identifier: BSD-3-Clause
"""cmake/layers.py catches what it is there to catch, and only that."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "layers.py"


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "engine/type/a.cpp",
            '#include "plan/plan.hpp"\n',
            "type must not include plan/plan.hpp",
        ),
        (
            "engine/kernels/a.cpp",
            '# include "machine/machine.hpp"\n',
            "kernels must not include",
        ),
        (
            "engine/machine/a.hpp",
            '#include "kernels/kernel.hpp"\n',
            "machine must not include",
        ),
        (
            "engine/base/a_test.cpp",
            '#include "type/type.hpp"\n',
            "base must not include",
        ),
        (
            "engine/plan/a.cpp",
            "#include <mpi.h>\n",
            "mpi.h may not be included in plan",
        ),
        ("examples/a.c", "#include <mpi.h>\n", "mpi.h may not be included in examples"),
        ("examples/a.cpp", '#include "exec/pack.hpp"\n', "examples must not include"),
        ("mpi/a.cpp", '#include "interpose/library/next.hpp"\n', "mpi must not include"),
        (
            "interpose/policy/a.cpp",
            '#include "interpose/files/files.hpp"\n',
            "interpose/policy must not include",
        ),
        (
            "optimizer/pass/types/a.cpp",
            '#include "optimizer/pass/calls/site.hpp"\n',
            "optimizer/pass/types must not include",
        ),
        (
            "optimizer/templates/a.cpp",
            '#include "optimizer/templates/calls/a.hpp"\n',
            "optimizer/templates must not include",
        ),
        (
            "optimizer/pass/calls/a.cpp",
            '#include "optimizer/templates/buffer_arg.hpp"\n',
            "optimizer/pass must not include",
        ),
        (
            "optimizer/pass/new/a.cpp",
            '#include "optimizer/pass/base/options.hpp"\n',
            "optimizer/pass/new has no place",
        ),
        (
            "interpose/new/a.cpp",
            '#include "interpose/policy/policy.hpp"\n',
            "has no place in cmake/layers.py",
        ),
        (
            "interpose/requests/table.hpp",
            '#include "interpose/collectives/side.hpp"\n',
            "interpose/requests must not include",
        ),
        (
            "bench/apps/applications/a.cpp",
            '#include "bench/apps/ways/way.hpp"\n',
            "bench/apps/applications must not include bench/apps/ways/way.hpp",
        ),
        (
            "engine/gpu/bodies/a.hpp",
            '#include "gpu/plan.hpp"\n',
            "engine/gpu/bodies must not include engine/gpu/plan.hpp",
        ),
        (
            "engine/machine/probe/loops/a.cpp",
            '#include "machine/probe/survey.hpp"\n',
            "engine/machine/probe/loops must not include engine/machine/probe/survey.hpp",
        ),
        (
            "engine/type/a.hpp",
            '#include "type/text/text.hpp"\n',
            "engine/type must not include engine/type/text/text.hpp",
        ),
        (
            "engine/exec/a.cpp",
            '#include "exec/stream/stream.hpp"\n',
            "engine/exec must not include engine/exec/stream/stream.hpp",
        ),
        (
            "engine/exec/new/a.cpp",
            '#include "exec/exec.hpp"\n',
            "engine/exec/new has no place in cmake/layers.py",
        ),
        ("engine/exec/a.cpp", 'void f() { printf("x"); }\n', "must not call printf"),
        (
            "engine/exec/a.cpp",
            "void f() {\n  std::abort();\n}\n",
            "a.cpp:2: the engine must not",
        ),
        (
            "engine/exec/a.cpp",
            "void f() { std::cerr << 1; }\n",
            "must not call std::cerr",
        ),
        ("bench/a.cpp", "// caf\u00e9\n", "bench/a.cpp:1: not ASCII"),
        ("python/lacuna/a.py", "x = '\u2264'\n", "python/lacuna/a.py:1: not ASCII"),
        ("engine/kernels/a.cpp", "bool fast = is_amd();\n", "a.cpp:1: is_amd: the maker is"),
        ("engine/base/a.hpp", "#include <cpuid.h>\n", "a.hpp:1: cpuid: the maker is"),
        ("engine/plan/a_test.cpp", 'if (__builtin_cpu_is("amd")) {}\n', "the maker is asked in"),
        ("python/lacuna/a.py", 'x = "AuthenticAMD" in text\n', "the maker is asked in"),
        (
            "python/lacuna/base/a.py",
            "def f():\n    from lacuna.cli.main import main\n",
            "python/lacuna/base must not import lacuna.cli",
        ),
        ("tests/cli/test_a.py", 'x = "vendor_id" in text\n', "the maker is asked in"),
    ],
)
def test_a_planted_violation_is_caught(tmp_path, name, text, expected):
    plant(tmp_path, name, text)
    result = run(tmp_path)
    assert result.returncode == 1
    assert expected in result.stdout
    assert name in result.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "engine/plan/a.cpp",
            '#include "kernels/kernel.hpp"\n#include "machine/machine.hpp"\n',
        ),
        ("engine/api/a.cpp", '#include "lacuna/lacuna.h"\n#include "exec/pack.hpp"\n'),
        ("engine/exec/a_test.cpp", 'void f() { printf("x"); }\n'),
        ("engine/exec/a_test.cpp", '#include "exec/stream/stream.hpp"\n'),
        ("engine/exec/stream/a.cpp", '#include "exec/exec.hpp"\n'),
        ("engine/type/a_test.hpp", '#include "type/text/text.hpp"\n'),
        (
            "engine/exec/a.cpp",
            '// never printf( here\nconst char* s = "exit(1)"; /* abort() */\n',
        ),
        (
            "engine/exec/a.cpp",
            "int n = snprintf(buffer, 4, format);\nbool at_exit = next_exit;\n",
        ),
        ("interpose/a.cpp", '#include <mpi.h>\n#include "mpi/decode.hpp"\n'),
        ("include/lacuna/lacuna_mpi.h", "#include <mpi.h>\n"),
        ("engine/machine/a.cpp", '#include <cpuid.h>\nbool amd = name == "AuthenticAMD";\n'),
        ("interpose/a.cpp", "const bool is_intel_mpi = true;\n"),
    ],
)
def test_what_is_allowed_passes(tmp_path, name, text):
    plant(tmp_path, name, text)
    result = run(tmp_path)
    assert result.returncode == 0, result.stdout


def test_an_empty_tree_is_no_success(tmp_path):
    assert run(tmp_path).returncode == 1
