"""Memory of training programs: as planned, as allocated, and under a limit.

    train_memory.py CONFIG.json UNEVEN.json TEXT FOLDER

A GPT-2 of 3.3 million parameters, bf16, on dp=4 with zero=0 to 3 must satisfy:
* parameters and state of a rank, from the manifest, are exactly the sum over tensors of
  ceil(elements / shards) x bytes, and so are the sums of gradients that the loop over
  micro-batches carries; UNEVEN too, on dp=3, which divides none of its matrices, alone and with
  tp=2, which divides the dimensions that it shards;
* the memory of a rank, above the memory of an idle program, is at most the plan, 2 % and the
  library's buffers;
* zero=2 plans no more than zero=1, zero=3 no more than zero=2, also for the small model itself and
  with 1 and 4 micro-batches: a scattered gradient is added to its sum;
* under one limit for each process zero=3 trains, and zero=0 cannot."""

import json
import math
import pathlib
import re
import subprocess
import sys

RANKS = 4
SHARDED = {0: (), 1: ("state",), 2: ("state", "gradients"), 3: ("state", "gradients", "param")}


def run(*command, check=True):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if check and done.returncode:
        sys.exit(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done


def elements(value):
    count = 1
    for extent in value["shape"]:
        count *= extent
    return count


def expect(name, ours, wanted):
    print(f"{name}: {ours} bytes")
    if ours != wanted:
        sys.exit(f"{name}: expects {wanted} bytes but got {ours}")


def check_plan(manifest, sums, zero, ranks=RANKS, name="", shards={}, precision="bf16"):
    """Bytes of a rank by category. `ranks` is the size of dp; `shards` maps names to the number of
    shards of tp."""
    # Bytes per element, and copies; bf16 has a master copy in addition to two moments.
    bytes_of, copies = {"bf16": (2, 3), "f32": (4, 2)}[precision]
    name += f"zero={zero}"
    count = lambda value, what: ((ranks if what in SHARDED[zero] else 1)
                                 * shards.get(value["name"], 1))
    part = lambda value, what: -(-elements(value) // count(value, what))
    arguments = manifest["arguments"]
    params = [a for a in arguments if a["role"] == "param"]
    state = [a for a in arguments if a["role"] == "state" and a["shape"]]
    total = sum(elements(p) for p in params)
    expect(f"{name} parameters", sum(p["bytes"] for p in params),
           bytes_of * sum(part(p, "param") for p in params))
    expect(f"{name} state", sum(s["bytes"] for s in state),
           4 * copies * sum(part(p, "state") for p in params))
    if sum(elements(s) for s in state) != copies * total:
        sys.exit(f"expects {copies} tensors of state for each parameter")
    wanted = sum(4 * part(p, "gradients") for p in params)
    # Under zero=1 the gradient of the few positions may be sharded like its state.
    slack = 4 * sum(elements(p) for p in params if p["name"] == "wpe") if zero == 1 else 0
    if not wanted - slack <= sums <= wanted:
        sys.exit(f"{name} gradients: expects {wanted} bytes but got {sums}")
    print(f"{name} gradients: {sums} bytes")


def sum_bytes(text):
    """Bytes of the tensors that the loop over micro-batches carries."""
    (loop,) = [line for line in text.splitlines() if "scf.for" in line]
    total = 0
    for shape in re.findall(r"tensor<((?:\d+x)+)f32>", loop[loop.index("-> ("):]):
        total += 4 * math.prod(int(extent) for extent in shape.split("x")[:-1])
    return total


def check_uneven(graph, mesh, name, precision="bf16"):
    """Three ranks that divide no matrix: flat state is sharded by other boundaries."""
    shards = {}
    strategy = "dp,tp" if "tp" in mesh else "dp"
    for zero in range(4):
        program = graph.parent / "uneven"
        command = ["tessera", "compile", graph, "--mesh", mesh, "--strategy",
                   f"{strategy},zero={zero}", "--precision", precision, "--micro-batches", 2,
                   "--quiet"]
        scheduled = run(*command, "--compile-to=schedule").stdout
        run(*command, "-o", program)
        manifest = json.loads(run(program, "--manifest").stdout)
        if zero == 0:
            shards = {a["name"]: elements(a) // math.prod(a["local_shape"])
                   for a in manifest["arguments"] if a["role"] == "param"}
            if set(shards.values()) != ({1, 2} if "tp" in mesh else {1}):
                sys.exit(f"expects parts of two ranks over tp but got {shards}")
        elif not any("logical_shape" in a for a in manifest["arguments"]):
            sys.exit("expects sizes that three ranks do not divide")
        check_plan(manifest, sum_bytes(scheduled), zero, ranks=3, name=name, shards=shards,
                   precision=precision)


def check_order(graph):
    """The arena's bytes shrink from stage to stage."""
    for micro in (1, 2, 4):
        plans = []
        for zero in range(4):
            text = run("tessera", "compile", graph, "--mesh", f"dp={RANKS}", "--strategy",
                       f"dp,zero={zero}", "--micro-batches", micro, "--quiet",
                       "--compile-to=schedule").stdout
            plans.append(int(re.search(r"rt\.arena_bytes = (\d+)", text).group(1)))
        print(f"{graph.stem}, {micro} micro-batches, arenas by stage: {plans}")
        if plans != sorted(plans, reverse=True):
            sys.exit(f"{graph.stem}, {micro} micro-batches: expects no stage to plan more than "
                     f"the one before but got {plans}")


def main():
    config, uneven, text, folder = *sys.argv[1:4], pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    model = json.loads(pathlib.Path(config).read_text())
    model.update(n_embd=256, n_layer=4)
    (folder / "model.json").write_text(json.dumps(model))
    run("tessera", "model", folder / "model.json", "--batch", 8, "--seq", 16, "--train", "--quiet",
        "-o", folder / "g.mlir")
    run("tessera", "model", config, "--batch", 16, "--seq", 16, "--train", "--quiet", "-o",
        folder / "small.mlir")
    run("tessera", "model", folder / "model.json", "--batch", 16, "--seq", 16, "--train",
        "--quiet", "-o", folder / "large.mlir")
    run("tessera", "model", uneven, "--batch", 12, "--seq", 16, "--train", "--quiet", "-o",
        folder / "uneven.mlir")
    check_uneven(folder / "uneven.mlir", "dp=3", "uneven ")
    model = json.loads(pathlib.Path(uneven).read_text())
    model.update(vocab_size=260)
    (folder / "even-vocab.json").write_text(json.dumps(model))
    run("tessera", "model", folder / "even-vocab.json", "--batch", 12, "--seq", 16, "--train",
        "--quiet", "-o", folder / "uneven-tp.mlir")
    check_uneven(folder / "uneven-tp.mlir", "dp=3,tp=2", "uneven tp ")
    check_uneven(folder / "uneven-tp.mlir", "dp=3,tp=2", "uneven tp f32 ", "f32")
    check_order(folder / "small.mlir")
    check_order(folder / "large.mlir")
    reports = {}
    for zero in range(4):
        program = folder / f"zero{zero}"
        command = ["tessera", "compile", folder / "g.mlir", "--mesh", f"dp={RANKS}", "--strategy",
                   f"dp,zero={zero}", "--precision", "bf16", "--micro-batches", 2, "--quiet"]
        scheduled = run(*command, "--compile-to=schedule").stdout
        run(*command, "-o", program)
        check_plan(json.loads(run(program, "--manifest").stdout), sum_bytes(scheduled), zero)
        log = run(program, "--data", text, "--steps", 4, "--log=jsonl").stdout
        memory = json.loads(log.splitlines()[-1])["memory"]
        bound = 1.02 * memory["planned_bytes"] + memory["scratch_bytes"]
        print(f"zero={zero}: plan {memory['planned_bytes']}, measured {memory['measured_bytes']}, "
              f"library scratch {memory['scratch_bytes']}")
        if memory["measured_bytes"] > bound:
            sys.exit(f"zero={zero}: expects at most {bound:.0f} bytes but measures "
                     f"{memory['measured_bytes']}")
        if memory["arena_bytes"] < 0.9 * memory["planned_bytes"]:
            sys.exit(f"zero={zero}: the plan is not used: {memory}")
        reports[zero] = memory
    small, large = reports[3], reports[0]
    # Enough for zero=3 with all memory of a process, plus half of the difference to zero=0.
    needed = small["measured_bytes"] + small["private_bytes_at_start"]
    limit = (needed + large["planned_bytes"]) // 2
    if not needed < limit < large["planned_bytes"]:
        sys.exit(f"zero=3 needs {needed}, zero=0 plans {large['planned_bytes']}: nothing between")
    limited = lambda zero: run(folder / f"zero{zero}", "--data", text, "--steps", 4, "--quiet",
                               "--memory-limit", limit, check=False)
    if limited(3).returncode:
        sys.exit(f"zero=3 fails with {limit} bytes: {limited(3).stderr}")
    refused = limited(0)
    if refused.returncode != 1 or "--memory-limit" not in refused.stderr:
        sys.exit(f"zero=0 runs with {limit} bytes: {refused.stderr}")
    print(f"with {limit} bytes per process zero=3 trains and zero=0 does not: {refused.stderr.strip()}")


if __name__ == "__main__":
    main()
