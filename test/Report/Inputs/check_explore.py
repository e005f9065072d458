"""Compares rows of plan --explore, drawn at random, with plan --json of the row's options: the
numbers in the columns' units and decimals, or the error. Arguments: tessera, and the number of
rows of each space."""

import concurrent.futures
import json
import random
import shlex
import subprocess
import sys

SPACES = {
    "pipelines": "llama3-70b --ranks 512 --global-batch 512 --seq 8192 --tokens 15e12 --price 2 "
                 "--tp 1,2,4,8 --pp ..8 --zero 0.. --schedule 1f1b,interleaved,zb-v --vpp 1,2,5 "
                 "--sp=on,off",
    "every option": "gpt2 --ranks 8 --global-batch 16 --seq 1024 --ep 1 --etp on --grad-dtype bf16 "
                    "--offload none --overlap on --overlap-tp=off --stage-layers time "
                    "--document-tokens 0 --attention flash --eager=off --fused-loss=on "
                    "--tp 1,2 --pp 1,2 --cp 1,2 --cp-method auto,ring --sp=on,off --zero 1,2 "
                    "--zero2-reduce each,last --schedule 1f1b,interleaved --vpp 1,2 "
                    "--micro-batch 1,2 --recompute none,full --precision bf16,f32 "
                    "--optimizer adamw,sgd",
    "sequences": "llama3-8b --tp 1,2,4,8 --dp 4,8 --micro-batches 4,8 --cp 1,2 "
                 "--seq 2048,4096,8192 --recompute none,selective,full",
    "experts": "mixtral-8x7b --ranks 64 --global-batch 256 --seq 4096 --tp 1,2,4 --ep 1..8 "
               "--etp on,off --pp 1,2,3 --offload none,host",
    "framework": "tiny-gpt2 --framework megatron-core --ranks 4,8 --global-batch 8 --seq 16 "
                 "--dp 1,2,4 --tp 1,2,3 --zero 0,1,2,3 --sp=off,on --set loss-copies=2",
}
FACTORS = {"s": 1, "ms": 1e3, "us": 1e6, "GB": 1e-9, "MB": 1e-6, "kB": 1e-3, "%": 100, "$": 1,
           "": 1}


def run(tessera, arguments):
    return subprocess.run([tessera, "plan", *arguments, "--json"], capture_output=True, text=True)


class Cells:
    """The texts of a table by column."""

    def __init__(self, table):
        self.columns = table["columns"]

    def text(self, column, row):
        if "text" in column:
            return column["text"][row]
        return f"{column['packed'][row] / 10 ** column['digits']:.{column['digits']}f}" + \
            column.get("suffix", "")

    def column(self, name):
        column = next(each for each in self.columns if each["name"] == name)
        return [self.text(column, row) for row in range(len(column.get("text",
                                                                       column.get("packed"))))]


def values_of(report, parts):
    """The number of each column of a plan's report."""
    memory, step, layout = report["memory"], report["step"], report["layout"]
    stage = memory["stages"][memory["fullest_stage"]]
    seconds = step["seconds"]
    ideal = report["mfu"] * seconds
    kernels = sum(value for name, value in step["causes"].items()
                  if step["resources"][name] == "compute")
    values = {
        "step": seconds,
        "1e6 tokens": 1e6 * seconds / (layout["global-batch"] * layout["seq"]),
        "tokens a second": report["tokens_per_second"], "MFU": report["mfu"],
        "days": report.get("budget", {}).get("days"),
        "dollars": report.get("budget", {}).get("dollars"),
        "fits with": report["fit_probability"],
        "fill": stage["total_bytes"] / memory["device_bytes"],
        "free": memory["device_bytes"] - stage["total_bytes"],
        "fullest stage": memory["fullest_stage"], "memory": stage["total_bytes"],
        "dp": layout["dp"], "ranks": layout["ranks"], "global-batch": layout["global-batch"],
        "micro-batches": layout["global-batch"] // (layout["dp"] * layout["micro-batch"]),
    }
    for name, value in stage["categories"].items():
        values["memory: " + name] = value
    for part, resource, column in parts:
        isThere = step["resources"].get(part) == resource
        values[column] = step["causes"][part] if isThere else 0
    values["step: the model's FLOPs at the peak"] = ideal
    values["step: what matmuls and attention lose"] = kernels - ideal
    return values


def compare(tessera, tables, base, choice):
    """The faults of a combination, and whether it is valid."""
    options, layouts, invalid = (Cells(tables[name]) if name in tables else None
                                 for name in ("options", "layouts", "invalid"))
    names = list(choice)
    arguments = base + [word for argument in choice.values() for word in argument[1].split(" ", 1)]
    result = run(tessera, arguments)
    wanted = [choice[name][0] for name in names]

    def find(table):
        columns = [table.column(name) for name in names] if table else []
        return next((row for row, texts in enumerate(zip(*columns)) if list(texts) == wanted), None)

    row, bad = find(layouts), find(invalid)
    title = " ".join(arguments)
    if result.returncode not in (0, 3):
        error = result.stderr.splitlines()[-1].split("error: ", 1)[1]
        if row is not None or invalid.column("error")[bad] != error:
            return [f"{title}: expects the error {error}"], False
        return [], False
    report = json.loads(result.stdout)
    if row is None:
        return [f"{title}: is invalid: {bad is not None and invalid.column('error')[bad]}"], True
    parts = list(zip(*(Cells(tables["parts"]).column(name)
                       for name in ("part", "waits for", "column"))))
    values = values_of(report, parts)
    known = {"step: " + name for name in report["step"]["causes"]}
    faults = []
    for column in layouts.columns:
        name, text = column["name"], layouts.text(column, row)
        if name in names:
            continue
        expected = {"fits": "yes" if report["memory"]["fits"] else "no",
                    "waits for": report["bottleneck"],
                    "cp-method": report["layout"]["cp-method"]}.get(name)
        if expected is None:
            number = values[name] * FACTORS[column.get("unit", "")]
            if abs(number) * 10 ** column["digits"] <= 0.5:
                number = 0
            expected = f"{number:.{column['digits']}f}" + column.get("suffix", "")
        if text != expected:
            faults.append(f"{title}: {name}: {text}, expects {expected}")
    shown = {column["name"].split(" (")[0] for column in layouts.columns}
    missing = {name for name in known if report["step"]["resources"][name[6:]] != "compute"} - shown
    return faults + [f"{title}: no column {name}" for name in missing], True


def check_space(tessera, pool, name, text, count):
    base = shlex.split(text) + ["--cluster", "h100-sxm-ib"]
    result = run(tessera, base + ["--explore"])
    if result.returncode not in (0, 3):
        return print(f"{name}: {result.stderr}")
    tables = json.loads(result.stdout)["sections"][0]["tables"]
    options = {}
    cells = Cells(tables["options"])
    for option, value, argument in zip(*(cells.column(each)
                                         for each in ("option", "value", "argument"))):
        options.setdefault(option, []).append((value, argument))
    # The base is the command without the options that have several values.
    words, rest = shlex.split(text), []
    while words:
        word = words.pop(0)
        hasValue = word.startswith("--") and "=" not in word
        values = [words.pop(0)] if hasValue else []
        if word.split("=")[0] not in options:
            rest += [word, *values]
    rest += ["--cluster", "h100-sxm-ib"]
    total = 1
    for values in options.values():
        total *= len(values)
    numbers = random.Random(name)
    choices = [{option: numbers.choice(values) for option, values in options.items()}
               for _ in range(count)]
    results = list(pool.map(lambda choice: compare(tessera, tables, rest, choice), choices))
    for fault in [fault for faults, _ in results for fault in faults][:6]:
        print(f"{name}: {fault}")
    valid = sum(isValid for _, isValid in results)
    print(f"{name}: {total} layouts of {len(options)} options, {valid} of {count} rows are valid, "
          f"{sum(bool(faults) for faults, _ in results)} differ")


def main(tessera, count):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, text in SPACES.items():
            check_space(tessera, pool, name, text, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
