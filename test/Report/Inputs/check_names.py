"""Makes pages of plans whose model, cluster and files have hostile names, and checks that the names
are text there. Arguments: the folder of the sources, a folder to write to."""

import json
import os
import re
import subprocess
import sys

import browser

NAMES = [
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=document.title='run'>",
    "\"quotes' &lt; {{data}} \\u003c $(x)",
    "x" * 200,
    "\udcff\udcc3( no utf-8",
    "\x1b[31mred\x1b[0m",
    "\u202eleft to right\u202c \u200f",
    "<!-- <script> --!>",
]


def run(*arguments):
    """Runs tessera plan, whose text has none of the characters that a terminal obeys."""
    text = subprocess.run(["tessera", "plan", *arguments], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    if re.search("[\x00-\x09\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e]", text):
        sys.exit(f"{arguments}: the text has a control character")


def make(source, folder, number, name):
    """A page of a plan, one that compares it, and one on which its options change."""
    model = json.load(open(f"{source}/share/models/tiny-gpt2.json"))
    cluster = json.load(open(f"{source}/share/clusters/h100-sxm-ib.json"))
    cluster["name"] = name.encode("utf-8", "replace").decode()
    file = os.path.join(folder, str(number), name.replace("/", "_") + ".json")
    os.mkdir(os.path.dirname(file))
    json.dump(model, open(file, "w"))
    clusters = os.path.join(folder, str(number), "clusters")
    os.mkdir(clusters)
    os.symlink(f"{source}/share/devices", os.path.join(folder, str(number), "devices"))
    json.dump(cluster, open(f"{clusters}/c.json", "w"))
    page = os.path.join(folder, f"{number}.html")
    report = os.path.join(folder, str(number), "r" + name.replace("/", "_"))
    run(file, "--cluster", f"{clusters}/c.json", "--dp", "2", "--global-batch", "8", "--html",
        page, "--json", "-o", report)
    other = os.path.join(folder, f"{number}-compare.html")
    run("--compare", report, report, "--html", other)
    explored = os.path.join(folder, f"{number}-explore.html")
    run(file, "--cluster", f"{clusters}/c.json", "--dp", "2", "--zero", "0,1", "--global-batch",
        "8", "--explore", "--html", explored)
    run(file, "--cluster", f"{clusters}/c.json", "--dp", "2", "--global-batch", "8")
    run(file)
    return page, other, explored


def main(source, folder):
    folder = os.path.abspath(folder)
    with browser.start() as page:
        count = 0
        for number, name in enumerate(NAMES):
            shown = name.replace("/", "_").encode("utf-8", "surrogateescape")
            shown = shown.decode("utf-8", "replace")
            for path in make(source, folder, number, name):
                page.resize(360)
                page.open(path)
                for width in (360, 1280):
                    page.resize(width)
                    page.settle()
                    wide = page.run("return document.documentElement.scrollWidth - innerWidth")
                    if wide > 0:
                        sys.exit(f"{name!r}: {wide} pixels too wide")
                elements, title, is_shown = page.run(
                    "return [document.querySelectorAll('img, script').length, document.title,"
                    " document.getElementById('page').textContent.includes(arguments[0])]",
                    shown.strip())
                if elements != 2:
                    sys.exit(f"{name!r}: an element of a name")
                if "run" in title.split():
                    sys.exit(f"{name!r}: a script of a name ran")
                if not is_shown:
                    sys.exit(f"{name!r}: is not in the page {path}")
                faults = [entry["message"] for entry in page.logs("browser")]
                if faults:
                    sys.exit(f"{name!r}: {faults}")
            count += 1
        print(f"{count} names are text")


if __name__ == "__main__":
    main(*sys.argv[1:])
