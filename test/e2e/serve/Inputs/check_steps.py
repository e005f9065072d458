"""Compares steps on request with those of a run that begins with the same numbers, bit for bit.

usage: check_steps.py FOLDER STEPS PROGRAM [OPTION ...]
"""

import pathlib
import subprocess
import sys

import numpy as np
from serve_client import Client

folder, steps, program, *options = sys.argv[1:]
folder, steps = pathlib.Path(folder), int(steps)
client = Client(program, "--quiet", *options)
generator = np.random.default_rng(0)
batch = {name: generator.integers(0, 250, shape).astype(dtype)
         for name, (_, dtype, shape) in client.inputs.items()}
folder.mkdir(parents=True)
for name, values in batch.items():
    np.save(folder / f"{name}.npy", values)
subprocess.run([program, "--quiet", "--inputs", folder, "--init-missing", "--steps", str(steps),
                "--save-final", folder / "final", "--save-outputs", folder / "outputs", *options],
               check=True, stdout=subprocess.DEVNULL)


def widened(values, dtype):
    """bf16 as f32, as files have it."""
    return ((values.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else values)


for step in range(steps):
    results = client.call(**batch)
types = {value["name"]: value["dtype"]
         for value in client.manifest["arguments"] + client.manifest["results"]}
for name, values in results.items():
    saved = np.load(folder / "outputs" / f"{name}.npy")
    assert np.array_equal(saved, widened(values, types[name]).reshape(saved.shape)), name
state = {}
for index in client.kept():
    name = client.manifest["arguments"][index]["name"]
    # Windows that end inside of rows.
    state[index] = client.get(index, window=1000)
    saved = np.load(folder / "final" / f"{name}.npy")
    assert np.array_equal(saved, widened(state[index], types[name])), name
# The next steps, in a new program that gets this state.
last = client.call(**batch)
assert client.close() == 0
client = Client(program, "--quiet", "--seed", "9", *options)
for index, values in state.items():
    client.set(index, values, window=1000)
again = client.call(**batch)
assert all(np.array_equal(last[name], again[name]) for name in last)
assert client.close() == 0
print(f"{len(results)} results and {len(state)} values are the same")
