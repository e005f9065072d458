"""Looks for barriers in pages of reports with axe-core (https://github.com/dequelabs/axe-core), in
light and dark, wide and narrow, with tables open. Rows of a table are alike, so each table keeps
its first ones. Prints the violations, and fails if there are any. axe-core comes from the package
axe-playwright-python of PyPI."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "Report" / "Inputs"))
import browser  # noqa: E402

PACKAGE = "axe-playwright-python==0.1.8"
CLUSTER = ["--cluster", "h100-sxm-ib"]
PLAN = ["plan", "llama3-70b", *CLUSTER, "--ranks", "512", "--tp", "8", "--pp", "4", "--sp",
        "--seq", "8192", "--global-batch", "512"]
OPEN = """
for (const details of document.querySelectorAll('details')) details.open = true;
for (const body of document.querySelectorAll('tbody'))
  for (const row of [...body.rows].slice(8)) row.remove();
"""
# Passed rules are not listed node by node.
RUN = ("axe.run({resultTypes: ['violations']}).then(result => JSON.stringify(result.violations.map("
       "each => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 120)])))")


def fetch(folder):
    """The text of axe-core."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                    PACKAGE], check=True)
    wheel = next(pathlib.Path(folder).glob("*.whl"))
    with zipfile.ZipFile(wheel) as files:
        return files.read("axe_playwright_python/axe.min.js").decode()


def make_pages(tessera, folder):
    """A page of each kind."""
    folder = pathlib.Path(folder)

    def run(*arguments):
        subprocess.run([tessera, *map(str, arguments)], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    run(*PLAN, "--zero", "1", "--html", folder / "plan.html", "--json", "-o", folder / "a.json")
    run(*PLAN, "--zero", "3", "--json", "-o", folder / "b.json")
    run("plan", "llama3-405b", *CLUSTER, "--dp", "8", "--seq", "8192", "--global-batch", "8",
        "--html", folder / "too_large.html")
    run("plan", "llama3-8b", "--html", folder / "minimum.html")
    run("plan", "gpt2", *CLUSTER, "--ranks", "8", "--global-batch", "8", "--seq", "1024",
        "--search", "--what-if", "--html", folder / "search.html")
    run("plan", "tiny-gpt2", *CLUSTER, "--ranks", "8", "--global-batch", "16", "--seq", "16",
        "--tp", "2,4,3", "--pp", "1,2", "--zero", "0..1", "--sp=on,off", "--explore", "--html",
        folder / "explore.html")
    for seed in "12":
        log = subprocess.run([sys.executable, ROOT / "test/Report/Inputs/make_log.py", seed],
                             check=True, stdout=subprocess.PIPE).stdout
        (folder / f"{seed}.jsonl").write_bytes(log)
    run("report", folder / "a.json", folder / "b.json", "-o", folder / "compare.html")
    run("report", folder / "1.jsonl", folder / "2.jsonl", "-o", folder / "runs.html")
    run("model", "tiny-gpt2", "--batch", "4", "--seq", "16", "--train", "-o", folder / "g.mlir")
    for zero in "13":
        run("compile", folder / "g.mlir", "--mesh", "dp=4", "--strategy", f"dp,zero={zero}",
            "--compile-to=schedule", "--dist-report", folder / f"zero{zero}.json", "-o",
            folder / "local.mlir")
    run("report", folder / "zero1.json", folder / "zero3.json", "-o", folder / "collectives.html")
    topics = subprocess.run([tessera, "explain"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.splitlines()[1:]
    for topic in (line.split()[0] for line in topics):
        run("explain", topic, "--html", folder / f"explain-{topic}.html")
    return sorted(folder.glob("*.html"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    build = pathlib.Path(parser.parse_args().build).resolve()
    violations = 0
    with tempfile.TemporaryDirectory() as folder, browser.start() as page:
        axe = fetch(folder)
        for path in make_pages(build / "bin" / "tessera", folder):
            for width, scheme in ((1280, "light"), (360, "dark")):
                page.resize(width, scheme=scheme)
                page.open(path)
                page.run(OPEN)
                # A debugger may evaluate what the policy of the page forbids.
                page.cdp("Runtime.evaluate", expression=axe)
                found = json.loads(page.cdp("Runtime.evaluate", expression=RUN, awaitPromise=True,
                                            returnByValue=True)["result"]["value"])
                for rule, count, html in found:
                    print(f"{path.name}, {width} px, {scheme}: {rule}, {count} x, {html}")
                violations += len(found)
            print(f"{path.name} is seen")
    print(f"{violations} violations")
    return violations > 0


if __name__ == "__main__":
    sys.exit(main())
