"""Plans each model of share/models with several layouts: each row of the tables that are printed is
in the document, and each of its texts is its value in the format of its column. Writes the
documents to a folder. Arguments: the models, the folder, and the most plans; default: all."""

import json
import pathlib
import random
import subprocess
import sys

from check_document import check_column
from compare_texts import find_rows

LAYOUTS = [
    ["--dp", "8", "--zero", "3"],
    ["--dp", "4", "--pp", "2", "--zero", "1", "--schedule", "1f1b"],
    ["--dp", "2", "--pp", "4", "--schedule", "zb-h1", "--recompute", "full"],
    ["--dp", "4", "--pp", "2", "--vpp", "2", "--schedule", "interleaved"],
    ["--dp", "16", "--tp", "2", "--sp", "--precision", "fp8"],
    ["--dp", "4", "--cp", "2", "--zero", "2"],
    ["--dp", "2", "--pp", "2", "--schedule", "dualpipe"],
    ["--dp", "2", "--tp", "2", "--pp", "2", "--schedule", "zb-1p"],
]


def plan(*arguments):
    run = subprocess.run(["tessera", "plan", *arguments], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return run.stdout if run.returncode in (0, 3) else None


def main(models, folder, most="1000000"):
    random.seed(1)
    rows = documents = 0
    for model in sorted(pathlib.Path(models).glob("*.json")):
        for layout in random.sample(LAYOUTS, 4):
            if documents == int(most):
                break
            options = [str(model), "--cluster", "h100-sxm-ib", "--seq", "16", "--global-batch",
                       "64", *layout]
            text = plan(*options)
            # Some layouts do not suit some models.
            if text is None:
                continue
            document = plan(*options, "--json")
            (pathlib.Path(folder) / f"{documents}.json").write_text(document)
            documents += 1
            for section in json.loads(document)["sections"]:
                for name, table in section["tables"].items():
                    faults = [fault for column in table["columns"]
                              for fault in check_column(column, f"{options}: {name}")[0]]
                    found = find_rows(table, text)
                    if name in ("memory", "step") and not all(found):
                        faults.append(f"{options}: {name}: a row is not printed")
                    if faults:
                        sys.exit("\n".join(faults[:5]))
                    rows += sum(found)
    print(f"{documents} plans, {rows} rows are printed")


main(*sys.argv[1:])
