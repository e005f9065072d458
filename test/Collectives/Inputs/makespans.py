"""makespans.py PROGRAM CLUSTER...: for each cluster the time of the scheduled program of dp,zero=3,
and of the kernels of a search's network, relative to those on the first cluster."""
import re
import subprocess
import sys

first = []
for cluster in sys.argv[2:]:
    done = subprocess.run(
        ["tessera-opt", sys.argv[1],
         f"--compile-to=plan mesh=dp=4 strategy=auto cluster={cluster}",
         "--remarks-filter=propagation", "--remark-policy=all", "-o", "/dev/null"],
        capture_output=True, text=True, check=True)
    text, times = done.stdout + done.stderr, []
    for name, field in (("dp,zero=3", "us"), ("the search", "kernelUs")):
        found = re.search(rf'"shardings of {name}".*?\b{field}=([0-9.e+]+)', text)
        times.append(float(found[1]))
    first = first or times
    print(" ".join(f"{time / of:.2f}" for time, of in zip(times, first)))
