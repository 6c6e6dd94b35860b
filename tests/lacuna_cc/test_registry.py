# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose types are registered, for calls that look them up when they run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from programs import (
    HERE,
    LIBRARIES,
    REMARKS,
    agree,
    deep_if_sharing,
    find,
    lacuna_cc,
    plain_cc,
    plain_result,
    run,
)

pytestmark = pytest.mark.skipif(
    shutil.which("clang-19") is None, reason="no clang-19; remedy: setup/setup.sh optimizer"
)

GIVEN_AWAY = """
#include "check.h"
struct kept { MPI_Datatype type; };
void make(struct kept *kept, int n);
void use(const struct kept *kept);
void send_elsewhere(MPI_Datatype type, const void *data);
#if PARTS & 1
__attribute__((noinline)) void make(struct kept *kept, int n) {
  MPI_Type_vector(n, 1, n + 1, MPI_DOUBLE, &kept->type);
  MPI_Type_commit(&kept->type);
}
int main(int argc, char **argv) {
  struct kept kept;
  start(&argc, &argv);
  refill(1);
  make(&kept, 4 + argc);
  use(&kept);
  MPI_Type_free(&kept.type);
  MPI_Finalize();
}
#endif
#if PARTS & 2
__attribute__((noinline)) void use(const struct kept *kept) {
  int at = 0;
  static struct kept own;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  make(&own, 3);
  MPI_Type_dup(own.type, &own.type);
  refill(1);
  MPI_Pack(sent, 2, kept->type, got, kBytes, &at, MPI_COMM_SELF);
  tell("packed", NULL, kept->type);
  refill(2);
  if (rank == 0) send_elsewhere(kept->type, sent);
  if (rank == 1) MPI_Recv(got, 99, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  tell("sent elsewhere", NULL, kept->type);
}
#endif
#if PARTS & 4
void send_elsewhere(MPI_Datatype type, const void *data) {
  MPI_Send(data, 3, type, 1, 5, MPI_COMM_WORLD);
}
#endif
"""


@pytest.mark.parametrize("library", [deep_if_sharing(name) for name in LIBRARIES])
def test_types_that_are_given_away_are_registered(library: str, tmp_path: Path) -> None:
    """MPI is not called to pack them, so that it makes no difference if it does so wrongly."""
    source, wrong = tmp_path / "given_away.c", tmp_path / "wrong.so"
    source.write_text(GIVEN_AWAY)
    words = ["-DSENDS", "-shared", "-fPIC", str(find("wrong_pack.c")), "-o", str(wrong)]
    plain_cc(library, *words)
    words = [f"-I{HERE}", "-DPARTS=7", str(source)]
    plain_cc(library, *words, "-o", str(tmp_path / "plain"))
    right = run(library, tmp_path / "plain")
    assert run(library, tmp_path / "plain", preload=wrong) != right
    lacuna_cc(library, *words, "-o", str(tmp_path / "registry"))
    assert run(library, tmp_path / "registry", preload=wrong) == right
    # In one file, for calls of another one that makes types, and of one that makes none, too.
    objects = [str(tmp_path / f"{part}.o") for part in (1, 2, 4)]
    for part, file in zip((1, 2, 4), objects, strict=True):
        lacuna_cc(library, f"-I{HERE}", f"-DPARTS={part}", "-c", str(source), "-o", file)
    lacuna_cc(library, *objects, "-o", str(tmp_path / "together"))
    assert run(library, tmp_path / "together", preload=wrong) == right
    # That one does as it says in a program in which nobody notes types.
    plain_cc(
        library, f"-I{HERE}", "-DPARTS=3", str(source), objects[2], "-o", str(tmp_path / "one")
    )
    assert run(library, tmp_path / "one") == right
    # With LACUNA_CHECK=1 what is found is compared with MPI's own, which is told to be another.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACUNA_CHECK", "1")
        lacuna_cc(library, "-g", *words, "-o", str(tmp_path / "checked"))
    told: list[str] = []
    assert run(library, tmp_path / "checked", told=told) == right
    assert "lacuna" not in told[0]
    assert run(library, tmp_path / "checked", preload=wrong, told=told) == right
    line = GIVEN_AWAY[: GIVEN_AWAY.index("MPI_Pack(sent")].count("\n") + 1
    assert re.search(rf"the compiled pack in .*away.c:{line}: MPI_Pack in use: ", told[1]), told[1]
    # A library may be unloaded while its types live: there none is registered.
    main, shared = tmp_path / "main.c", str(tmp_path / "shared.so")
    main.write_text("int run(int, char **);\nint main(int c, char **v) { return run(c, v); }\n")
    lacuna_cc(library, *words, "-Dmain=run", "-shared", "-fPIC", "-o", shared)
    plain_cc(library, str(main), shared, "-o", str(tmp_path / "user"))
    assert run(library, tmp_path / "user") == right
    assert run(library, tmp_path / "user", preload=wrong) != right


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_types_are_registered_where_that_pays(library: str, tmp_path: Path) -> None:
    source, counting = find("worth.c"), tmp_path / "count.so"
    plain_cc(library, "-shared", "-fPIC", str(find("count_registered.c")), "-o", str(counting))
    remarks = lacuna_cc(library, *REMARKS, str(source), "-o", str(tmp_path / "noting"))
    agree(source, remarks)
    told: list[str] = []
    right = plain_result(library, source.name)
    assert run(library, tmp_path / "noting", preload=counting, told=told) == right
    registered = {name: int(many) for name, many in re.findall(r"^([\w ]+): (\d+)$", told[0], re.M)}
    # Of 3000 types each.
    assert 0 < registered["in vain"] < 60
    assert registered["asked for"] > 2800
    assert 0 < registered["in vain again"] < 60
    # What one call saves is more than the attribute takes on MPICH, and less on Open MPI.
    once = registered["asked for once"]
    assert once > 2800 if library == "mpich" else once < 100
