"""Solves random cost function networks with lib/Search (cost_network.cpp), and with toulbar2 if it
is installed, with a limit of 60 seconds each. Prints one JSON line per network; both optima must be
equal."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile


def run_toulbar2(path):
    """Milliseconds and cost, or the best cost at the time limit."""
    output = subprocess.run(["toulbar2", path, "-timer=60"], capture_output=True,
                            text=True).stdout
    optimum = re.search(r"^Optimum: (\d+) .* and ([\d.]+) seconds", output, re.M)
    if optimum:
        return round(float(optimum[2]) * 1e3, 1), int(optimum[1])
    found = re.findall(r"^New solution: (\d+)", output, re.M)
    return None, int(found[-1]) if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    args = parser.parse_args()
    program = f"{args.build}/bin/cost_network"
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen([program, folder], stdout=subprocess.PIPE, text=True) as lines:
            for line in lines.stdout:
                figures = json.loads(line)
                if shutil.which("toulbar2"):
                    time, cost = run_toulbar2(f"{folder}/{figures['network']}.cfn")
                    figures["toulbar2_ms"], figures["toulbar2_cost"] = time, cost
                    if time is not None and figures["gap"] == 0 and cost != figures["cost"]:
                        sys.exit(f"{figures['network']}: expects {cost} but got "
                                 f"{figures['cost']}")
                print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
