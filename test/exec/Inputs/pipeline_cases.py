"""Verifies a hand-written pipeline program and what becomes of it by edits of its text.

    pipeline_cases.py FOLDER

FOLDER has reference.mlir and the programs that the cases begin with. Each case has a name, a
program, edits and options of tessera verify. The verifier proves it, or it must find the error: the
output has the patterns one after the other. Prints a line for each case; exit status 1 if one
fails."""

import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1])

EXACT = "--tolerance 0 --integers"
PROVEN = "proven"
TASKS_OF_STAGE_1 = "rA0.0 F0.0 BW0.0 sG0.0 rA0.1 F0.1 BW0.1 sG0.1"

# Name, program, edits (text before, text after), options, PROVEN or the patterns of the error.
CASES = [
    ("as written", "pipeline", [], EXACT, PROVEN),
    ("as written, two steps", "pipeline", [], "--steps 2", PROVEN),
    ("W separate from B, as in zero-bubble schedules", "split", [], EXACT, PROVEN),
    (
        "another order without a deadlock",
        "pipeline",
        [
            (TASKS_OF_STAGE_1, "rA0.0 F0.0 rA0.1 F0.1 BW0.0 sG0.0 BW0.1 sG0.1"),
            ("F0.1 rG0.0 sA0.1", "F0.1 sA0.1 rG0.0"),
        ],
        EXACT,
        PROVEN,
    ),
    (
        "a sum that a task adds to twice",
        "pipeline",
        [
            (
                "add [0](%loss : tensor<f32>)",
                "add [0, 0](%loss, %loss : tensor<f32>, tensor<f32>)",
            )
        ],
        "",
        ["loss .* NO", "error:"],
    ),
    (
        "a boundary that sends another value",
        "pipeline",
        [("send(%dh : tensor<2x16xf32>) add", "send(%h : tensor<2x16xf32>) add")],
        "",
        ["NO", "error:"],
    ),
    # The lists are checked before anything runs.
    (
        "a task that the list has twice",
        "pipeline",
        [("F0.1 BW0.1 sG0.1", "F0.1 BW0.0 sG0.1")],
        "",
        [r"error: 'dist\.pipeline' op list: .*BW0\.0"],
    ),
]


def edit(text, edits):
    for before, after in edits:
        assert text.count(before) == 1, f"expects '{before}' once in the program"
        text = text.replace(before, after)
    return text


def find_in_order(patterns, text):
    """The first pattern that is not after the ones before it; none if all are. A pattern does not
    cross lines, and a blank matches several."""
    text = re.sub("[ \t]+", " ", text)
    for pattern in patterns:
        found = re.search(pattern, text)
        if not found:
            return pattern
        text = text[found.end() :]
    return None


def find_fault(output, status, expected):
    """None, or why the output of tessera verify is not what the case expects."""
    if (status == 0) != (expected == PROVEN):
        return f"exit status {status}"
    if expected != PROVEN:
        missing = find_in_order(expected, output)
    else:
        ends = [r"@step: 4 ranks \(pp=2, dp=2\)", "loss .* yes"]
        calls = ["all_reduce 2", "exchange 1", "send 2"]
        orders = ([*ends, call, "pipeline proven"] for call in calls)
        missing = next(filter(None, (find_in_order(order, output) for order in orders)), None)
    return missing and f"'{missing}' is missing"


def main():
    failed = []
    for name, program, edits, options, expected in CASES:
        file = FOLDER / "case.mlir"
        file.write_text(edit((FOLDER / f"{program}.mlir").read_text(), edits))
        words = ["tessera", "verify", FOLDER / "reference.mlir", "--partitioned", file]
        done = subprocess.run(
            [*words, *options.split()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        fault = find_fault(done.stdout, done.returncode, expected)
        verdict = "proven" if expected == PROVEN else "refuted"
        if fault:
            failed.append(name)
            print(f"{name}: FAILED: {fault}\n{done.stdout}", flush=True)
        else:
            print(f"{name}: {verdict}", flush=True)
    print(f"{len(failed)} of {len(CASES)} cases failed:", "; ".join(failed) or "none")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
