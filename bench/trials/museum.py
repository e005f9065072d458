"""Do the interpreter and the proof find the museum's silent bugs of distributed training?

    python3 bench/trials/museum.py --build build [--write] [FILE.mlir...]

A file of test/museum holds the reference @NAME and local functions: @NAME_right, which computes it
(further ones, as @NAME_right_halo, do so in another way), and @NAME_wrong, which has the mistake.
Each local function is interpreted against the reference and proven. Prints a JSON line for each
function and one of totals. Fails if a wrong function is proven or equals its reference, if a right
one differs from it, or if test/museum/expected.csv or the table of docs/museum.md have other
answers. `--write` writes both."""

import argparse
import collections
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "museum"
HEADING = "## Cases"
FUNCTION = re.compile(r"^func\.func @(\w+)\(.*?^\}\n", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"verify-partition: (?:deviates|not provable): ([\w.]+): (.*)")
FIELDS = ("Source", "Mistake", "Parallelism", "Found by")

Case = collections.namedtuple("Case", "path name fields mesh functions unproven")


def join(lines):
    return " ".join(line.removeprefix("//").strip() for line in lines)


def read_case(path):
    """A case; its comment is fields, as "Source: ..."."""
    content = path.read_text()
    fields = {}
    for line in content.partition("\n\n")[0].splitlines():
        name, colon, rest = line.removeprefix("// ").partition(": ")
        if colon and name in FIELDS:
            fields[name] = rest
        elif fields:
            fields[list(fields)[-1]] += " " + line.removeprefix("// ")
    functions = {match[1]: match[0] for match in FUNCTION.finditer(content)}
    mesh = re.search(r"^dist\.mesh .*\n", content, re.MULTILINE)
    if tuple(fields) != FIELDS or not mesh or path.stem not in functions:
        sys.exit(f"{path}: expects a comment of {', '.join(FIELDS)}, a mesh and @{path.stem}")
    unproven = {}
    for match in re.finditer(r"^((?://.*\n)+)func\.func @(\w+)\(", content, re.MULTILINE):
        reason = join(match[1].splitlines())
        if reason.startswith("Unproven: "):
            unproven[match[2]] = reason.removeprefix("Unproven: ")
    del functions[path.stem]
    for name in functions:
        if not re.match(rf"{path.stem}_(right|wrong)", name):
            sys.exit(f"{path}: expects a name {path.stem}_right or _wrong but got {name}")
    return Case(path, path.stem, fields, mesh[0], functions, unproven)


def judge(build, cases):
    """Rows of the local functions, by name."""
    run = subprocess.run([build / "bin" / "tessera", "verify", "--json", "--pairs",
                          *(case.path for case in cases)], capture_output=True, text=True)
    if not run.stdout:
        sys.exit(run.stderr.strip())
    answers = {answer["name"]: answer for answer in json.loads(run.stdout)["functions"]}
    rows = {}
    for case in cases:
        for name in case.functions:
            answer = answers[name]
            match = REASON.search(answer["reason"])
            equal = all(output["ok"] for output in answer["outputs"])
            rows[name] = {"case": case.name, "function": name,
                          "interpreter": "equal" if equal else "differs",
                          "difference": max((output["difference"] for output in
                                             answer["outputs"]), key=float),
                          "proof": answer["proof"], "op": match and match[1],
                          "reason": match and match[2], "witness": answer["witness"]}
    return rows


def is_wrong(row):
    return row["function"].endswith("_wrong")


def find_faults(cases, rows):
    """Sentences on functions that are not judged as their names say."""
    for row in rows.values():
        name, equal = row["function"], row["interpreter"] == "equal"
        if is_wrong(row) and row["proof"] == "proven":
            yield f"@{name} is proven"
        if row["proof"] == "refuted" and not row["witness"]:
            yield f"@{name} is refuted without a witness"
        if row["proof"] == "refuted" and not is_wrong(row):
            yield f"@{name} is refuted: {row['witness']}"
        if equal == is_wrong(row):
            yield f"@{name}: the interpreter says {row['interpreter']} ({row['difference']})"
    for case in cases:
        kinds = [name.removeprefix(case.name + "_") for name in case.functions]
        if not {"right", "wrong"} <= set(kinds):
            yield f"{case.name} expects a right and a wrong function"
        for name in case.functions:
            unproven = rows[name]["proof"] != "proven" and not is_wrong(rows[name])
            if unproven != (name in case.unproven):
                yield (f"@{name} is {rows[name]['proof']}: expects a reason, 'Unproven: ...', "
                       "above a right function that is not proven, and above no other")


def describe(row, case):
    """A cell of the table."""
    if row["proof"] == "proven":
        return "proven"
    reason = case.unproven.get(row["function"])
    return f"{row['proof']} at `{row['op']}`" + (f": {reason.rstrip('.')}" if reason else "")


def make_table(cases, rows):
    table = ["| case | parallelism | mistake | source | the wrong program | the right program "
             "| found by |", "|---|---|---|---|---|---|---|"]
    for case in cases:
        wrong = describe(rows[f"{case.name}_wrong"], case)
        right = [name for name in case.functions if not is_wrong(rows[name])]
        cell = describe(rows[right[0]], case) if len(right) == 1 else "; ".join(
            f"`{name.removeprefix(case.name + '_')}` {describe(rows[name], case)}"
            for name in right)
        table.append(f"| [`{case.name}`](../test/museum/{case.name}.mlir) | "
                     f"{case.fields['Parallelism']} | {case.fields['Mistake']} | "
                     f"{case.fields['Source']} | {wrong} | {cell} | "
                     f"{case.fields['Found by']} |")
    return "\n".join(table) + "\n"


def make_expected(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["function", "answer"])
    writer.writerows([name, row["proof"]] for name, row in rows.items())
    return text.getvalue()


def check_expected(path, rows):
    with path.open() as file:
        expected = {row["function"]: row["answer"] for row in csv.DictReader(file)}
    for name, row in rows.items():
        if row["proof"] != expected.get(name):
            yield f"@{name} is {row['proof']}, but {path.name} says {expected.get(name)}"


def check_page(page, table, is_whole):
    """Compares the table of a page with another one, or with some of its rows."""
    _, there, _ = split_page(page)
    if not set(table.splitlines()) <= set(there.splitlines()) or (is_whole and there != table):
        yield f"{page.name} has another table; museum.py --write writes it"


def split_page(page):
    """The text before the table of the cases, the table and the text after it."""
    text = page.read_text()
    heading = text.find(f"\n{HEADING}\n")
    there = re.compile(r"(^\|.*\n)+", re.MULTILINE).search(text, heading) if heading >= 0 else None
    if there is None:
        sys.exit(f"{page}: expects a table under {HEADING}")
    return text[:there.start()], there[0], text[there.end():]


def count(rows):
    """Totals, for the last line."""
    wrong = [row for row in rows.values() if is_wrong(row)]
    right = [row for row in rows.values() if not is_wrong(row)]
    return {"cases": len({row["case"] for row in rows.values()}), "wrong": len(wrong),
            "wrong_by_answer": collections.Counter(row["proof"] for row in wrong),
            "right": len(right),
            "right_by_answer": collections.Counter(row["proof"] for row in right)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--write", action="store_true", help="write the answers and the table")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "museum.md")
    parser.add_argument("--expect", type=pathlib.Path, default=FOLDER / "expected.csv")
    parser.add_argument("files", type=pathlib.Path, nargs="*", help="default: all of test/museum")
    options = parser.parse_args()
    cases = [read_case(path) for path in options.files or sorted(FOLDER.glob("*.mlir"))]
    rows = judge(options.build.resolve(), cases)
    for row in rows.values():
        print(json.dumps(row))
    print(json.dumps(count(rows)))
    table, is_whole = make_table(cases, rows), not options.files
    if options.write and is_whole:
        options.expect.write_text(make_expected(rows))
        before, _, after = split_page(options.page)
        options.page.write_text(before + table + after)
    faults = [*find_faults(cases, rows), *check_expected(options.expect, rows),
              *check_page(options.page, table, is_whole)]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
