"""Explains memory and the grid for models and clusters with the names that pages of plans are
checked with. Arguments: the source tree, a folder to write to."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "test", "Report", "Inputs"))
import browser
import check_names

# What a terminal obeys.
CONTROL = "[\x00-\x09\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e]"


def make(source, folder, number, name):
    """Pages of two topics; fails if a text has a character that a terminal obeys."""
    own = os.path.join(folder, str(number))
    os.makedirs(os.path.join(own, "clusters"))
    os.symlink(f"{source}/share/devices", os.path.join(own, "devices"))
    cluster = json.load(open(f"{source}/share/clusters/h100-sxm-ib.json"))
    cluster["name"] = name.encode("utf-8", "replace").decode()
    cluster["levels"][1]["name"] = cluster["name"]
    json.dump(cluster, open(f"{own}/clusters/c.json", "w"))
    model = os.path.join(own, name.replace("/", "_") + ".json")
    with open(f"{source}/share/models/tiny-llama.json") as file, open(model, "w") as copy:
        copy.write(file.read())
    pages = []
    for topic in ("memory", "grid"):
        page = os.path.join(folder, f"{number}-{topic}.html")
        text = subprocess.run(
            ["tessera", "explain", topic, "--model", model, "--cluster", f"{own}/clusters/c.json",
             "--tp", "2", "--pp", "2", "--html", page], check=True,
            stdout=subprocess.PIPE).stdout.decode()
        if re.search(CONTROL, text):
            sys.exit(f"{topic} of {name!r}: the text has a control character")
        pages.append(page)
    return pages


def main(source, folder):
    folder = os.path.abspath(folder)
    count = 0
    with browser.start() as page:
        for number, name in enumerate(check_names.NAMES):
            shown = name.replace("/", "_").encode("utf-8", "surrogateescape")
            shown = shown.decode("utf-8", "replace")
            for path in make(source, folder, number, name):
                page.open(path)
                title, heading, others = page.run(
                    "return [document.title, document.querySelector('h1').textContent,"
                    " document.querySelectorAll('img, iframe, script[src]').length]")
                if title == "run" or others:
                    sys.exit(f"{path}: a name is no text")
                if path.endswith("memory.html") and shown not in heading:
                    sys.exit(f"{path}: expects {shown!r} in {heading!r}")
            count += 1
    print(count, "names are text")


if __name__ == "__main__":
    main(*sys.argv[1:])
