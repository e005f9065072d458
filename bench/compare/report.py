"""Pages of reports against Vega-Lite, bokeh and plotly: bytes and seconds until they are ready, of
no data and of 15,000 rectangles; the seconds of plan --explore against those of pricing the same
plans (report.cpp); what --html adds to plan; and the answer to keys and to a pointer. Prints one
JSON line per figure. The libraries come from PyPI, into .env/pages."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "Report" / "Inputs"))
import browser  # noqa: E402

PACKAGES = ["altair==6.*", "vl-convert-python==1.*", "bokeh==3.9.*", "plotly"]
# Valid layouts alone, so that each is priced.
SPACE = {"tp": "1,2,4,8", "pp": "1,2,4,5,8,16", "zero": "0,1,2,3", "micro-batch": "1,2",
         "sp": "on,off", "recompute": "none,selective,full", "grad-dtype": "f32,bf16",
         "optimizer": "adamw,sgd", "precision": "bf16,fp8", "overlap": "on,off"}
FIXED = {"ranks": "5120", "seq": "8192", "global-batch": "10240"}
LARGE = ["plan", "llama3-405b", "--cluster", "h100-sxm-ib", "--ranks", "16384", "--tp", "8", "--pp",
         "16", "--sp", "--zero", "2", "--seq", "8192", "--global-batch", "2048", "--schedule",
         "interleaved", "--vpp", "8"]
# 15,000 rectangles: 16 ranks and 312 micro-batches, whose backward has two actions.
RECTANGLES = ["plan", "llama3-70b", "--cluster", "h100-sxm-ib", "--ranks", "16", "--pp", "16",
              "--seq", "4096", "--global-batch", "312", "--schedule", "zb-h1"]
# Milliseconds until a key or a move of the pointer is drawn, 100 of each.
ANSWERS = """
const done = arguments[0], times = [];
const hosts = [...document.querySelectorAll('.drawing')].filter(host => host.clientHeight);
const step = async () => {
  for (let i = 0; i < 200; ++i) {
    const host = hosts[i % hosts.length], box = host.getBoundingClientRect();
    const begin = performance.now();
    host.dispatchEvent(i < 100
        ? new KeyboardEvent('keydown', {key: ['ArrowRight', 'ArrowDown', 'Enter'][i % 3]})
        : new PointerEvent('pointermove', {clientX: box.left + (i * 37) % box.width,
                                           clientY: box.top + (i * 17) % box.height}));
    document.body.offsetHeight;
    times.push(performance.now() - begin);
    await new Promise(next => setTimeout(next));
  }
  done(times);
};
step();
"""


def install():
    """The Python of an environment that has the libraries."""
    python = ROOT / ".env" / "pages" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def run(command, rounds):
    """The least seconds of a command."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        times.append(time.perf_counter() - begin)
        if status not in (0, 3):
            sys.exit(f"{' '.join(map(str, command))} failed")
    return min(times)


def ready(page, path, rounds):
    """The least seconds until a page is ready."""
    times = []
    for _ in range(rounds):
        page.call("POST", "/url", {"url": "about:blank"})
        begin = time.perf_counter()
        page.open(path)
        times.append(time.perf_counter() - begin)
    return min(times)


def print_line(figure, **numbers):
    print(json.dumps({"figure": figure, **numbers}), flush=True)


def compare_pages(tessera, page, folder, python, rounds):
    (folder / "empty.json").write_text(json.dumps(
        {"tessera_report": 1, "title": "", "command": "", "sections": []}))
    subprocess.run([tessera, "report", folder / "empty.json", "-o", folder / "empty.html"],
                   check=True)
    peers = json.loads(subprocess.run(
        [python, ROOT / "bench" / "compare" / "report_peer.py", folder], check=True,
        stdout=subprocess.PIPE).stdout)
    print_line("page without data", bytes=(folder / "empty.html").stat().st_size, **peers)
    run([tessera, *RECTANGLES, "--html", folder / "rectangles.html", "--json", "-o",
         folder / "rectangles.json"], 1)
    tables = json.loads((folder / "rectangles.json").read_text())["sections"][0]["tables"]
    column = tables["pipeline"]["columns"][0]
    numbers = {"rectangles": len(column.get("packed", column.get("text")))}
    for name in ("rectangles", "vega", "bokeh"):
        prefix = "" if name == "rectangles" else name + "_"
        path = folder / f"{name}.html"
        numbers[prefix + "bytes"] = path.stat().st_size
        numbers[prefix + "ready_seconds"] = round(ready(page, path, rounds), 3)
    print_line("15,000 rectangles", **numbers)


def compare_explore(tessera, floor, page, folder, rounds):
    options = {**FIXED, **SPACE}
    words = [f"--{name}={value}" for name, value in options.items()]
    path = folder / "explore.html"
    command = [tessera, "plan", "llama3-70b", "--cluster", "h100-sxm-ib", *words, "--explore",
               "--html", path]
    prices, seconds = [], []
    for _ in range(rounds):
        prices.append(json.loads(subprocess.run(
            [floor, "llama3-70b", "h100-sxm-ib", *(word[2:] for word in words)], check=True,
            stdout=subprocess.PIPE).stdout))
        seconds.append(run(command, 1))
    least = min(each["seconds"] for each in prices)
    print_line("plan --explore", layouts=prices[0]["plans"], valid=prices[0]["valid"],
               seconds=round(min(seconds), 3), price_seconds=least,
               ratio=round(min(seconds) / least, 2), bytes=path.stat().st_size,
               ready_seconds=round(ready(page, path, rounds), 3))


def compare_plan(tessera, page, folder, rounds):
    path = folder / "large.html"
    plain = run([tessera, *LARGE], rounds)
    drawn = run([tessera, *LARGE, "--html", path], rounds)
    print_line("plan --html", plan_seconds=round(plain, 3), html_seconds=round(drawn, 3),
               bytes=path.stat().st_size, ready_seconds=round(ready(page, path, rounds), 3))
    times = sorted(page.run(ANSWERS, kind="async"))
    print_line("answers of plan --html", milliseconds=round(statistics.median(times), 2),
               of_99_percent=round(times[int(len(times) * 0.99) - 1], 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    tessera = build / "bin" / "tessera"
    python = install()
    with tempfile.TemporaryDirectory() as name, browser.start() as page:
        folder = pathlib.Path(name)
        page.resize(1280)
        compare_pages(tessera, page, folder, python, options.rounds)
        compare_explore(tessera, build / "bin" / "report", page, folder, options.rounds)
        compare_plan(tessera, page, folder, options.rounds)


if __name__ == "__main__":
    main()
