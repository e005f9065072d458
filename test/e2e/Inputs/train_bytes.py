"""Communication of training programs, counted by the runtime.

    train_bytes.py CONFIG.json GROUPED.json TEXT FOLDER

GROUPED has query heads in two groups. Trains on two ranks in f32, where an all-reduce moves as many
bytes as a bandwidth-optimal one, with 1 and 4 micro-batches. Calls and bytes must be those in the
program's manifest, and, with P the bytes of all parameters (tied ones once), n = 2 and m
micro-batches:
* over dp, except for scalars of at most 256 bytes: 2(n-1)/n P with zero=0 (or less) and 1,
  (m+1)(n-1)/n P with zero=2, at most 3m(n-1)/n P with zero=3;
* over tp, for any m: four all-reduces of batch x seq x hidden per block, one for the embedding and
  one for the head, three of batch x seq in the loss; with sp as many reduce-scatters and gathers,
  and the gradients of norms and biases.
With GROUPED on four ranks two share each key and value head: over those two only the gradients of
these heads' weights are reduced, once per step. There small reductions (the loss) are read whole
from all ranks."""

import json
import pathlib
import subprocess
import sys

BATCH, SEQ, STEPS, SCALARS = 16, 32, 2, 256


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def measure(graph, text, mesh, strategy, micro):
    """The collectives of the last step line, and the manifest."""
    program = graph.parent / "program"
    run("tessera", "compile", graph, "--mesh", mesh, "--strategy", strategy,
        "--micro-batches", micro, "--quiet", "-o", program)
    manifest = json.loads(run(program, "--manifest"))
    log = run(program, "--data", text, "--steps", STEPS, "--log=jsonl")
    return json.loads(log.splitlines()[-1])["collectives"], manifest


def count(folder, text, axis, strategy, micro):
    """Maps each kind to the calls and bytes that a rank receives in a step; and the manifest."""
    entries, manifest = measure(folder / "g.mlir", text, f"{axis}=2", strategy, micro)
    found = {}
    for entry in entries:
        if entry["axes"] != axis or entry["calls"] % STEPS:
            sys.exit(f"{strategy}: expects the same over {axis} in each step but got {entry}")
        found[entry["op"]] = (entry["calls"] // STEPS,
                              entry["bytes_received_per_rank"] // STEPS)
    (planned,) = manifest["communication"]
    total = sum(size for _, size in found.values())
    if planned["calls"] != {op: calls for op, (calls, _) in found.items()}:
        sys.exit(f"{strategy}: plans {planned['calls']} but runs {found}")
    if planned["bytes"] != total:
        sys.exit(f"{strategy}: plans {planned['bytes']} bytes but receives {total}")
    return found, total, manifest


def expect(what, value, low, high):
    print(f"{what}: {value} bytes")
    if not low <= value <= high:
        sys.exit(f"{what}: expects {low} to {high} bytes but got {value}")


def check_dp(folder, text, micro):
    for zero in range(4):
        _, total, manifest = count(folder, text, "dp", f"dp,zero={zero}", micro)
        parameters = 0
        for value in manifest["arguments"]:
            if value["role"] == "param":
                size = 4
                for extent in value["shape"]:
                    size *= extent
                parameters += size
        bound = {0: parameters, 1: parameters, 2: (micro + 1) * parameters // 2,
                 3: 3 * micro * parameters // 2}[zero]
        # A gradient may be reduced as a smaller tensor, and a gather be reused.
        low = bound if zero in (1, 2) else int(0.8 * bound)
        expect(f"zero={zero}, {micro} micro-batches, over dp", total, low, bound + SCALARS)


def check_tp(folder, text, micro, model):
    hidden, layers = model["n_embd"], model["n_layer"]
    tokens, sums = BATCH * SEQ * 4, (4 * layers + 2) * BATCH * SEQ * hidden * 4
    found, total, _ = count(folder, text, "tp", "tp", micro)
    if list(found) != ["all_reduce"]:
        sys.exit(f"tp: expects all-reduces alone but got {found}")
    expect(f"tp, {micro} micro-batches", total, sums + 3 * tokens, sums + 3 * tokens + SCALARS)
    found, _, _ = count(folder, text, "tp", "tp,sp", micro)
    expect(f"tp,sp, {micro} micro-batches, reduce-scatters", found["reduce_scatter"][1], sums // 2,
           sums // 2)
    expect(f"tp,sp, {micro} micro-batches, gathers", found["all_gather"][1], sums // 2, sums // 2)
    # Norms, the biases that tp does not shard, the table of positions, and the loss.
    small = (2 * (2 * layers + 1) + 2 * layers + model["n_positions"]) * hidden * 4
    expect(f"tp,sp, {micro} micro-batches, all-reduces", found["all_reduce"][1], 3 * tokens,
           3 * tokens + small + SCALARS)


def check_heads(folder, text, micro, model):
    entries, _ = measure(folder / "grouped.mlir", text, "tp=4", "tp", micro)
    found = {(e["op"], e["axes"]): e["bytes_received_per_rank"] // STEPS for e in entries}
    hidden, layers = model["hidden_size"], model["num_hidden_layers"]
    # Tensors with 4 bytes per element cost 2 (n-1)/n of their bytes; small ones n-1.
    sums = (4 * layers + 2) * BATCH * SEQ * hidden * 4 * 3 // 2
    loss = 3 * BATCH * SEQ * 4 * 3
    weights = 2 * layers * hidden * (hidden // model["num_attention_heads"]) * 4
    if set(found) != {("all_reduce", "tp"), ("all_reduce", "tp:(2)2")}:
        sys.exit(f"grouped: expects all-reduces over tp and its minor half but got {found}")
    name = f"grouped, {micro} micro-batches, over"
    expect(f"{name} tp", found["all_reduce", "tp"], sums + loss // 2, sums + loss + SCALARS)
    expect(f"{name} its minor half", found["all_reduce", "tp:(2)2"], weights, weights)


def main():
    config, grouped, text, folder = *sys.argv[1:4], pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    for source, name in ((config, "g"), (grouped, "grouped")):
        run("tessera", "model", source, "--batch", BATCH, "--seq", SEQ, "--train", "--quiet",
            "-o", folder / f"{name}.mlir")
    model, other = (json.loads(pathlib.Path(path).read_text()) for path in (config, grouped))
    for micro in (1, 4):
        check_dp(folder, text, micro)
        check_tp(folder, text, micro, model)
        check_heads(folder, text, micro, other)


if __name__ == "__main__":
    main()
