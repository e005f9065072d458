"""Checks the reference results of ops/computed_ids.mlir: rows and losses of ids that are no rows
are NaN, and the others are the table's.

    check_computed_ids.py FOLDER"""

import math
import pathlib
import sys

import npy

ROWS, WIDTH, ADDED = 11, 6, 3


def main():
    folder = pathlib.Path(sys.argv[1])
    ids = [i + ADDED for i in npy.read(folder / "i.npy")]
    table = npy.read(folder / "t.npy")
    rows = npy.read(folder / "expected" / "rows.npy")
    losses = npy.read(folder / "expected" / "loss.npy")
    known = [0 <= i < ROWS for i in ids]
    assert any(known) and not all(known), known
    for at, (i, is_known) in enumerate(zip(ids, known, strict=True)):
        row = rows[at * WIDTH:(at + 1) * WIDTH]
        if is_known:
            assert row == table[i * WIDTH:(i + 1) * WIDTH], (at, row)
        else:
            assert all(map(math.isnan, row)), (at, row)
    assert [not math.isnan(loss) for loss in losses] == known, losses


if __name__ == "__main__":
    main()
