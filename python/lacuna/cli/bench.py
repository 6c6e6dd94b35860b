# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of `lacuna bench engine` and its kin, which share many of their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.cli.nodes import nodes_command
from lacuna.cli.options import MessageSeconds, Mpi, MpiRoot, Shapes
from lacuna.launch.mpis import spelled_out

if TYPE_CHECKING:
    from lacuna.messages import exchange

_Ranks = Annotated[int, typer.Option("--ranks", help="Number of ranks; must be even.")]
_Samples = Annotated[int, typer.Option("--samples", min=1, help="Samples of each method.")]
_Seconds = Annotated[
    float, typer.Option("--seconds", min=0, help="Time budget for a row; at least 3 samples.")
]
_Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        help="Write rows, raw samples and provenance to this file; continues one that is there.",
    ),
]
_Csv = Annotated[Path | None, typer.Option("--csv", help="Write the rows to this CSV file.")]
_Quick = Annotated[bool, typer.Option("--quick", help="Fewer rows and samples.")]


def add_to(bench: typer.Typer) -> None:
    """Puts the commands under `lacuna bench`."""
    bench.command(
        "engine", short_help="Pack and unpack a corpus of types: lacuna, MPI_Pack, by hand."
    )(_engine)
    bench.command("apps", short_help="Communication patterns of real applications.")(_apps)
    bench.command("guidelines", short_help="Check performance guidelines for derived types.")(
        _guidelines
    )
    bench.command(
        "papers", short_help="Repeat the papers' experiments; their numbers beside ours."
    )(_papers)
    bench.command(
        "preload", short_help="The overhead of lacuna in calls, the speedup of messages."
    )(_preload)
    bench.command(
        "nodes", short_help="Messages and exchanges between hosts, or namespaces as such."
    )(nodes_command)
    bench.command("gpu", short_help="Types in a CUDA device's memory: lacuna and its rivals.")(_gpu)
    bench.command("results", short_help="Make docs/results from files of results, in a checkout.")(
        _results
    )
    bench.command(
        "compiled", short_help="Halo exchanges and small structs, compiled by lacuna-cc."
    )(_compiled)


def _engine(
    mpi: Mpi = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A family, or a pattern: 'ddtbench/WRF*'; may be repeated."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only a few rows of each family; takes less than a minute."),
    ] = False,
    warm: Annotated[bool, typer.Option("--warm", help="Only with the data in cache.")] = False,
    cold: Annotated[bool, typer.Option("--cold", help="Only with the data in DRAM.")] = False,
    isa: Annotated[
        list[str] | None,
        typer.Option(
            "--isa", help="Also time lacuna's kernels of this instruction set, or of all."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Also time another build: the path of its liblacuna.so."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, help="Samples of each rival.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0, help="Time budget for one direction of a row."),
    ] = None,
    starts: Annotated[
        int,
        typer.Option(
            "--starts",
            min=1,
            help="Start the program so many times on each MPI; ratios are medians.",
        ),
    ] = 1,
    check_only: Annotated[
        bool, typer.Option("--check-only", help="Compare the bytes of all rivals; time nothing.")
    ] = False,
    strategies: Annotated[
        bool,
        typer.Option(
            "--strategies", help="Time all ways to move each row, and tell if a faster one is left."
        ),
    ] = False,
    without: Annotated[
        bool,
        typer.Option(
            "--without",
            help="Time plans without one habit of this CPU or one strategy: what is each worth?",
        ),
    ] = False,
    type_text: Annotated[
        str | None,
        typer.Option("--type", help="Time this type, instead of the corpus."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of elements of --type.")] = 1,
    random: Annotated[
        int | None,
        typer.Option("--random", min=1, help="Time so many random types, instead of the corpus."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed for --random.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write rows and raw samples to this JSON file.")
    ] = None,
    csv_file: _Csv = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", help="Write the figures into this folder.")
    ] = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Pack and unpack a corpus of types: lacuna, MPI_Pack, loops by hand, memcpy."""
    from lacuna.bench.engine import command as bench_engine

    sources = {"--type": type_text is not None, "--random": random is not None}
    sources["--only"] = bool(only)
    asked = [name for name, is_there in sources.items() if is_there]
    if len(asked) > 1:
        what = f"{' and '.join(asked)} name different rows"
        raise LacunaError(Exit.USAGE, what, "give one of them")
    if strategies and without:
        what = "--strategies and --without time different plans"
        raise LacunaError(Exit.USAGE, what, "give one of them")
    bench_engine.engine(
        bench_engine.Options(
            mpis=spelled_out(mpi or []),
            only=list(only or []),
            quick=quick,
            warm=warm or not cold,
            cold=cold or not (warm or quick),
            isas=list(isa or ([] if quick else ["all"])),
            against=against,
            samples=samples,
            seconds=seconds,
            starts=starts,
            check_only=check_only,
            strategies=strategies,
            without=without,
            given=(type_text, count) if type_text is not None else None,
            random=(random, seed) if random is not None else None,
            mpi_root=mpi_root or paths.default_mpi_root(),
            json=json_file,
            csv=csv_file,
            plots=plots,
        )
    )


def _apps(
    mpi: Mpi = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A test or a pattern: 'WRF*', NAS_MG_x-130; may be repeated."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="native, lacuna, by_hand, ...; may be repeated."),
    ] = None,
    language: Annotated[
        str,
        typer.Option(help="c++; or fortran: only applications written in Fortran, in Fortran."),
    ] = "c++",
    quick: _Quick = False,
    ranks: _Ranks = 2,
    samples: _Samples = 15,
    seconds: _Seconds = 3.0,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Compare the bytes of all methods; time nothing.")
    ] = False,
    json_file: _Json = None,
    csv_file: _Csv = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Communication patterns of real applications: derived types, by hand, MPI_Pack, lacuna."""
    from lacuna.bench.apps import command as bench_apps

    more = {"ranks": ranks, "language": language, "verify_only": verify_only, "csv": csv_file}
    options = _exchanges(mpi, samples, seconds, mpi_root, json_file, **more)
    bench_apps.apps(options, list(only or []), list(method or []), quick)


def _exchanges(
    mpi: list[str] | None,
    samples: int,
    seconds: float,
    mpi_root: Path | None,
    json_file: Path | None,
    **more: Any,
) -> exchange.Options:
    """The options of commands that time exchanges."""
    from lacuna.messages import exchange

    return exchange.Options(
        mpis=spelled_out(mpi or []),
        samples=samples,
        seconds=seconds,
        mpi_root=mpi_root or paths.default_mpi_root(),
        json=json_file,
        **more,
    )


def _guidelines(
    rule: Annotated[
        list[str] | None, typer.Argument(metavar="[RULE]...", help="Only these guidelines.")
    ] = None,
    mpi: Mpi = None,
    quick: _Quick = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a guideline does not hold under lacuna."),
    ] = False,
    samples: _Samples = 15,
    seconds: _Seconds = 1.0,
    json_file: _Json = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Check performance guidelines: a derived type is no slower than its replacements."""
    from lacuna.bench import guidelines

    options = _exchanges(mpi, samples, seconds, mpi_root, json_file)
    guidelines.guidelines(options, list(rule or []), quick, strict)


def _papers(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Such as gropp-table1 or byna-fig6; default: all."
        ),
    ] = None,
    mpi: Mpi = None,
    quick: _Quick = False,
    samples: _Samples = 9,
    seconds: _Seconds = 5.0,
    json_file: _Json = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Repeat the experiments of the papers that lacuna builds on; show their numbers and ours."""
    from lacuna.bench.papers import command as papers

    options = _exchanges(mpi, samples, seconds, mpi_root, json_file)
    papers.papers(options, list(name or []), quick)


def _compiled(
    mpi: Mpi = None,
    samples: _Samples = 15,
    seconds: _Seconds = 0.5,
    json_file: _Json = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Halo exchanges and arrays of small structs: compiled by lacuna-cc, by a plain compiler, and
    packed by hand."""
    from lacuna.bench import compiled as bench_compiled

    bench_compiled.compiled(_exchanges(mpi, samples, seconds, mpi_root, json_file))


def _preload(
    mpi: Mpi = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only three sizes of each shape; takes less than a minute."),
    ] = False,
    seconds: MessageSeconds = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="calls, messages or collectives; default: all of them."),
    ] = None,
    shape: Shapes = None,
    json_file: _Json = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", help="Write the figure into this folder.")
    ] = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Count the instructions that lacuna adds to contiguous calls; time messages and collectives of
    derived types, by MPI alone and with lacuna."""
    from lacuna.bench.preload import command as bench_preload

    if only not in (None, "calls", "messages", "collectives"):
        raise LacunaError(
            Exit.USAGE, f"unknown part in --only: {only}", "give calls, messages or collectives"
        )
    bench_preload.preload(
        bench_preload.Options(
            mpis=spelled_out(mpi or []),
            quick=quick,
            seconds=seconds,
            calls=only in (None, "calls"),
            messages=only in (None, "messages"),
            collectives=only in (None, "collectives"),
            shapes=list(shape or []),
            mpi_root=mpi_root or paths.default_mpi_root(),
            json=json_file,
            plots=plots,
        )
    )


def _gpu(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A family, or a pattern: 'ddtbench/WRF*'; may be repeated."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only a few rows of each family, and three sizes.")
    ] = False,
    own: Annotated[bool, typer.Option("--own", help="Only lacuna, no rivals.")] = False,
    sectors: Annotated[
        bool,
        typer.Option("--sectors", help="Let the device read single 32-byte sectors from DRAM."),
    ] = False,
    type_text: Annotated[str | None, typer.Option("--type", help="Only this type.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of elements of --type.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this JSON file.")
    ] = None,
    csv_file: _Csv = None,
) -> None:
    """Pack and unpack in a CUDA device's memory: lacuna, a copy for each block, kernels by hand."""
    from lacuna.bench import gpu

    if type_text is not None and only:
        raise LacunaError(Exit.USAGE, "--type and --only name different rows", "give one of them")
    gpu.bench(
        gpu.Options(
            only=list(only or []),
            quick=quick,
            rivals=not own,
            sectors=sectors,
            given=(type_text, count) if type_text is not None else None,
            json=json_file,
            csv=csv_file,
        )
    )


def _results(
    add: Annotated[
        list[Path] | None,
        typer.Option(
            "--add",
            help="Keep this --json file of transpose, preload, apps or engine; may be repeated.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", help="With --add: the machine's name, such as zen5-guest."),
    ] = None,
    readme: Annotated[
        str | None,
        typer.Option("--readme", help="The machine whose transpose the README shows from now on."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where a page differs.")
    ] = False,
    root: Annotated[
        Path | None, typer.Option("--root", help="The checkout; default: where lacuna was built.")
    ] = None,
) -> None:
    """Make the pages of docs/results and the README's table from the data in bench/results."""
    from lacuna.bench.results import command as bench_results

    if machine is not None and not add:
        raise LacunaError(Exit.USAGE, "--machine names whose results are added", "add --add FILE")
    if check and (add or readme):
        raise LacunaError(Exit.USAGE, "--check writes nothing", "leave out --add and --readme")
    bench_results.make(
        bench_results.Options(machine, list(add or []), readme, check, root or paths.checkout())
    )
