# SPDX-License-Identifier: BSD-3-Clause
"""The `lacuna` command: reads the command line and calls the parts.

The result goes to stdout, everything else to stderr. Each command imports its part
itself: with all of them every start took twice as long.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from lacuna import VERSION
from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError, unexpected
from lacuna.cli import bench as bench_commands
from lacuna.cli import completion
from lacuna.cli import costs as costs_commands
from lacuna.cli.docs import docs_command
from lacuna.cli.doctor import doctor_command
from lacuna.cli.machine import machine_command
from lacuna.cli.options import MPI_NAMES, Hosts, LaunchAgent, Mpi, MpiRoot
from lacuna.cli.run import run_command

app = typer.Typer(
    help="MPI derived datatypes, several times as fast, in programs that exist.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bench_app = typer.Typer(
    help="Benchmarks, with and without lacuna in one job.", rich_markup_mode=None
)
app.add_typer(bench_app, name="bench")
bench_commands.add_to(bench_app)
costs_app = typer.Typer(help="Where communication time goes.", rich_markup_mode=None)
app.add_typer(costs_app, name="costs")
costs_commands.add_to(costs_app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"lacuna {VERSION}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command(
    "explain", short_help="Show a type: size, memory, how lacuna packs it, how long that takes."
)
def explain_command(
    type_text: Annotated[
        str,
        typer.Argument(
            metavar="TYPE-TEXT",
            help="Such as vector(4, 1, 4, double); or a file NAME.opt.yaml of lacuna-cc.",
        ),
    ],
    count: Annotated[int, typer.Option("--count", help="How many elements.")] = 1,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Also measure the time, and show it beside the prediction."),
    ] = False,
    gpu: Annotated[
        bool,
        typer.Option("--gpu", help="Show it for data in a CUDA device's memory; needs no device."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Show a type's size, extent and memory, how lacuna packs it and why, and how long it takes."""
    from lacuna.explain import remarks

    if gpu and measure:
        what = "--gpu only predicts"
        raise LacunaError(Exit.USAGE, what, "time it with lacuna bench gpu --type")
    if gpu:
        from lacuna.gpu import explain as gpu_explain

        gpu_explain.explain(type_text, count, as_json)
        return
    if type_text.endswith(remarks.ENDING):
        remarks.explain(Path(type_text), as_json)
        return
    from lacuna.explain import types as explain

    explain.explain(type_text, count, measure, as_json)


app.command("machine", short_help="Show the numbers about this machine (caches, TLB, bandwidth).")(
    machine_command
)


@app.command("preload", short_help="Print the path of the library to set LD_PRELOAD to.")
def preload_command(
    mpi: Annotated[str | None, typer.Option("--mpi", help=f"One of {MPI_NAMES}.")] = None,
) -> None:
    """Print the path of the library to set LD_PRELOAD to in the ranks."""
    if mpi is None:
        raise LacunaError(
            Exit.USAGE, "no MPI named", f"name it with --mpi, one of {', '.join(paths.FAMILY_OF)}"
        )
    print(paths.preload_library(paths.family_of(mpi)))


app.command("run", context_settings={"allow_interspersed_args": False})(run_command)


@bench_app.command(
    "transpose", short_help="A transposed matrix: MPI alone, with lacuna, packed by hand."
)
def bench_transpose_command(
    mpi: Annotated[
        list[str] | None,
        typer.Option("--mpi", help="mpich (default), openmpi, intelmpi, mpiabi, or all."),
    ] = None,
    n: Annotated[
        list[int] | None, typer.Option("--n", help="Order of the matrix; may be repeated.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also 8192 (needs 4 GiB of memory).")
    ] = False,
    repetitions: Annotated[
        int | None, typer.Option("--repetitions", help="Samples of each method (default: by size).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write rows and raw samples here.")
    ] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write rows here.")] = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", help="Write the two figures into this folder.")
    ] = None,
    mpi_root: MpiRoot = None,
    hosts: Hosts = None,
    launch_agent: LaunchAgent = None,
) -> None:
    """Send a transposed matrix: by MPI alone, with lacuna, packed by hand, and contiguous data.
    Also time MPI_Pack alone."""
    from lacuna.bench import transpose
    from lacuna.launch import mpis

    options = transpose.options(mpi, n, full, repetitions, json_file, csv_file, plots, mpi_root)
    if launch_agent and not hosts:
        raise LacunaError(Exit.USAGE, "--launch-agent starts ranks on hosts", "add --hosts")
    options.hosts = mpis.two_hosts(hosts)
    options.launch_agent = launch_agent
    transpose.transpose(options)


@app.command(
    "tune",
    short_help="Measure for which messages packing first is faster.",
    context_settings={"allow_interspersed_args": False},
)
def tune_command(
    launcher: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LAUNCHER...", help="How to start two ranks, such as: srun -N 1 -n 2"
        ),
    ] = None,
    mpi: Mpi = None,
    network: Annotated[
        bool,
        typer.Option(
            "--network", help="Measure between two nodes, on which LAUNCHER starts the ranks."
        ),
    ] = False,
    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu",
            help="Measure where packed data of CUDA devices should lie, for an MPI library that "
            "takes their addresses; add that to the table.",
        ),
    ] = False,
    compiled: Annotated[
        bool,
        typer.Option("--compiled", help="Measure for lacuna-cc, with code that it has compiled."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter messages.")] = False,
    adds: Annotated[
        bool,
        typer.Option("--add", help="With --compiled: add to the measurements in the table."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.0, help="With --compiled: seconds for each sample."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the table to this file instead.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw what the table decides into this PNG file.")
    ] = None,
    max_load: Annotated[
        float,
        typer.Option(
            "--max-load",
            metavar="LOAD",
            help="Warn if the load average of this node is above it at the start.",
        ),
    ] = 0.5,
    mpi_root: MpiRoot = None,
) -> None:
    """Measure for which messages packing first is faster than the MPI library; keep the result as
    the table by which lacuna decides."""
    from lacuna.launch import mpis

    if adds and not compiled:
        raise LacunaError(Exit.USAGE, "--add is for the table of compiled code", "add --compiled")
    if seconds is not None and not compiled:
        raise LacunaError(
            Exit.USAGE, "--seconds is for the table of compiled code", "add --compiled"
        )
    if compiled and plot:
        raise LacunaError(Exit.USAGE, "--plot draws the table of messages", "leave out --compiled")
    if gpu and (compiled or plot):
        raise LacunaError(
            Exit.USAGE, "--gpu with --compiled or --plot", "measure one thing at a time"
        )
    if compiled:
        if launcher or network:
            raise LacunaError(
                Exit.USAGE, "--compiled with a launcher or --network", "name MPIs with --mpi"
            )
        from lacuna.tune.compiled import tune_compiled

        root = mpi_root or paths.default_mpi_root()
        names = mpis.spelled_out(mpi or [])
        tune_compiled(names, root, quick, output, adds, seconds, max_load)
        return
    from lacuna.tune import messages

    messages.tune(
        messages.Options(
            list(launcher or []),
            mpis.spelled_out(mpi or []),
            network,
            quick,
            output,
            mpi_root or paths.default_mpi_root(),
            plot,
            max_load,
            gpu,
        )
    )


@app.command("report", short_help="Show a job's report; or make a page of benchmark results.")
def report_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Files that `lacuna run --report` or a benchmark's --json wrote.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Write a page with figures into this folder (of benchmarks: lacuna-report).",
        ),
    ] = None,
) -> None:
    """Show what became of a job's calls; or make one page of benchmark results, where two files are
    compared."""
    from lacuna.report import command as report

    report.report(files, output)


app.command(
    "doctor",
    short_help="Is lacuna at work? Or, for a job that hangs: which ranks wait in lacuna, for whom.",
    context_settings={"allow_interspersed_args": False},
)(doctor_command)


app.command("docs", short_help="Show the documents: how to run, tune, read a report.")(docs_command)


@app.command("demo", short_help="See it work: a matrix sent transposed, with and without lacuna.")
def demo_command(
    output: Annotated[
        Path, typer.Option("--output", help="Write the files into this folder.")
    ] = Path("lacuna-demo"),
) -> None:
    """Send a transposed matrix, with and without lacuna, on one MPI library (MPICH where there are
    several): a table, raw data and figures. Takes a minute."""
    from lacuna.base import results
    from lacuna.bench import transpose
    from lacuna.launch import mpis

    mpi = mpis.chosen([], paths.default_mpi_root())[0].name
    plots: Path | None = output
    if not results.can_draw():
        what = "no figures, as matplotlib is not here; pip install matplotlib, then demo again"
        print(f"lacuna demo: {what}", file=sys.stderr)
        plots = None
    json_file = output / "transpose.json"
    # Seven samples of each method, also of small matrices: the table is there sooner.
    transpose.transpose(transpose.options([mpi], None, False, 7, json_file, None, plots, None))


class _Closed(io.TextIOBase):
    """Stands for a standard output that is closed: an error only if something is written to it."""

    def write(self, text: str) -> int:
        raise LacunaError(
            Exit.ENVIRONMENT, "standard output is closed", "give it a place, as in >/dev/null"
        )


def _command_name(words: list[str]) -> str:
    """The words that name the command, for messages."""
    names = [word for word in words[:2] if not word.startswith("-")]
    if names and names[0] in ("bench", "costs"):
        return " ".join(names)
    return names[0] if names else ""


def main() -> None:
    """The entry point: prints every error as one line on stderr and returns the exit code."""
    if completion.VARIABLE in os.environ:
        completion.answer(app)
    words = sys.argv[1:]
    name = _command_name(words)
    # Of a closed one Python makes None, and what is for stderr goes to stdout. What `run` starts
    # may have them closed.
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        if sys.stdout is None:
            sys.stdout = _Closed()
            if name != "run":
                sys.stdout.write("")
        if not words:
            raise LacunaError(Exit.USAGE, "no command", "see lacuna --help")
        if name == "run":
            from lacuna.launch import run

            words = run.with_report_value(words)
        code = app(words, prog_name="lacuna", standalone_mode=False) or 0
        sys.stdout.flush()
    except LacunaError as error:
        print(error.line(name), file=sys.stderr)
        code = error.code
    except KeyboardInterrupt:
        code = 130
    except (BrokenPipeError, SystemExit):  # which rich makes of it
        # Whoever read our output has stopped; nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except Exception as error:
        code = unexpected(error, name)
    sys.exit(int(code))
