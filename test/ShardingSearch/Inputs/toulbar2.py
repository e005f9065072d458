"""Compares a solution with toulbar2's optimum for its network.

toulbar2.py FILE

FILE is a network of dist-search-shardings; its name has the cost that was found. Prints the cost,
and whether it is the optimum."""
import re
import subprocess
import sys


def main():
    with open(sys.argv[1]) as file:
        found = re.search(r"tessera_cost_(\d+)_bound_(\d+)", file.read(1000))
    output = subprocess.run(["toulbar2", sys.argv[1], "-timer=100"],
                            capture_output=True, text=True).stdout
    optimum = re.search(r"^Optimum: (\d+) ", output, re.M)
    if not optimum:
        sys.exit(f"expects an optimum from toulbar2 but got: {output[-300:]}")
    cost, bound, best = int(found[1]), int(found[2]), int(optimum[1])
    print(f"{sys.argv[1]}: cost {cost}, at least {bound}, optimum {best}")
    print("bound holds" if bound <= best else "bound is wrong")
    print("equal" if cost == best else f"{100 * (cost / best - 1):.4f} % above")


if __name__ == "__main__":
    main()
