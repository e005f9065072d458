"""Compares checkpoints that are written slowly, while the run trains, with the states of runs
that end at their steps. The run is repeated with twice the steps until it leaves three
checkpoints: how many steps a slow write spans depends on the processor.

usage: not_torn.py TESSERA FAULTS PROGRAM DATA FOLDER STEPS
"""

import os
import pathlib
import subprocess
import sys

tessera, faults, program, data, folder, steps = sys.argv[1:]
folder = pathlib.Path(folder).absolute()
folder.mkdir(parents=True)
steps = int(steps)
while True:
    checkpoints = folder / f"ck-{steps}"
    # Each write takes 20 ms, and the ring has room for a fraction of the state.
    environment = os.environ | {"LD_PRELOAD": faults, "FAULT_BELOW": str(checkpoints),
                                "FAULT_SLOW": "20000"}
    subprocess.run([program, "--quiet", "--data", data, "--steps", str(steps),
                    "--checkpoint", checkpoints, "--checkpoint-interval", "1", "--keep", "99",
                    "--checkpoint-memory", "64KiB"],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    written = sorted(checkpoints.glob("step-*"))
    if len(written) > 2 or steps > 1000:
        break
    steps *= 2
whole = torn = 0
for step in written:
    number = int(step.name[5:])
    subprocess.run([tessera, "checkpoint", "export", step, "--folder", folder / "export"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, "--quiet", "--data", data, "--steps", str(number), "--save-final",
                    folder / "final"], check=True, stdout=subprocess.DEVNULL)
    files = sorted((folder / "final").glob("*.npy"))
    same = files and all(file.read_bytes() == (folder / "export" / file.name).read_bytes()
                         for file in files)
    whole += same
    torn += not same
print(f"{'several' if whole + torn > 2 else whole + torn} checkpoints, {torn} torn")
