"""Searches a program without seeds, and with random seeds on its arguments.

drawn_seeds.py PROGRAM.mlir AXIS=SIZE[,...] COUNT

Each draw shards one dimension of some arguments over some axes and leaves the rest to the search.
Prints the time of the scheduled program of the free search, and of the best draw; fails if a draw
is faster."""
import random
import re
import subprocess
import sys


def time_of(text):
    done = subprocess.run(
        ["tessera", "compile", "-", "--strategy", "auto", "--compile-to",
         "plan", "-o", "/dev/null"], input=text, capture_output=True, text=True)
    found = re.search(r"shardings of .*?: ([0-9.]+) us", done.stderr)
    return float(found[1]) if found else None


def draw(match, axes, chance):
    sizes = [int(n) for n in match[2].split("x")[:-1]]
    dims = [[] for _ in sizes]
    for name, size in axes:
        fitting = [d for d, n in enumerate(sizes) if n % (size * max(1, len(dims[d]) * 8)) == 0]
        if fitting and chance.random() < 0.6:
            dims[chance.choice(fitting)].append(name)
    text = ", ".join("{" + ", ".join(f'"{a}"' for a in d) + "}" for d in dims)
    return f"{match[0]} {{dist.sharding = #dist.sharding<@mesh, [{text}]>}}"


def main():
    text = open(sys.argv[1]).read()
    axes = [(a.split("=")[0], int(a.split("=")[1])) for a in sys.argv[2].split(",")]
    free = time_of(text)
    if free is None:
        sys.exit("the search found nothing")
    chance, best = random.Random(7), None
    head, body = text.split("->", 1)
    for _ in range(int(sys.argv[3])):
        seeded = re.sub(r"(%\w+: tensor<(\w+)>)", lambda m: draw(m, axes, chance), head)
        got = time_of(seeded + "->" + body)
        if got is not None:
            best = got if best is None else min(best, got)
    print(f"free {free:.2f} us, drawn {best:.2f} us")
    if best < free * 0.999:
        sys.exit("drawn seeds are faster")


main()
