"""Tokens that are sent to experts by their ids, against tokens sent to all: equal results, and
the bytes that the ids say.

usage: dispatch.py FOLDER MESH...    a mesh as 2 or 2x2: devices along batch, and sequence
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

BATCH, SEQ, IN, FFN, OUT = 12, 4, 8, 6, 5
# Room of padded tokens over those of an even load: enough for these ids, and less than for all.
ROOM = "1.6"


def make_program(a, b, cases):
    """The experts of each case (choices, experts), sharded over both axes of the mesh."""
    tokens, all_axes = ('{"a"}, {"b"}', '{"a", "b"}') if b > 1 else ('{"a"}, {}', '{"a"}')
    none = "#dist.axes<{}>"
    factors = f'{{dist.factors = [{none}, {none}, {none}, #dist.axes<{all_axes}>, {none}, {none}, {none}]}}'
    mesh = f'dist.mesh @mesh ["a"={a}, "b"={b}]'
    arguments, body, values, types = [], [], [], []
    for k, e in cases:
        name = f"{k}of{e}"
        ids, gates = f"tensor<{BATCH}x{SEQ}x{k}xi32>", f"tensor<{BATCH}x{SEQ}x{k}xf32>"
        up, down = f"tensor<{e}x{IN}x{FFN}xf32>", f"tensor<{e}x{FFN}x{OUT}xf32>"
        y = f"tensor<{BATCH}x{SEQ}x{OUT}xf32>"
        by_token = f"{{dist.sharding = #dist.sharding<@mesh, [{tokens}, {{}}]>}}"
        by_expert = f"{{dist.sharding = #dist.sharding<@mesh, [{all_axes}, {{}}, {{}}]>}}"
        arguments.append(f"%x{name}: tensor<{BATCH}x{SEQ}x{IN}xf32> {by_token}")
        arguments += [f"%ids{name}: {ids} {by_token}", f"%gates{name}: {gates} {by_token}"]
        arguments += [f"%wg{name}: {up} {by_expert}", f"%wu{name}: {up} {by_expert}"]
        arguments += [f"%wd{name}: {down} {by_expert}"]
        body += [
            f"  %y{name} = nn.experts <silu> of {e} %x{name}, %ids{name}, %gates{name}, %wg{name}, %wu{name}, %wd{name} {factors}",
            f"      : tensor<{BATCH}x{SEQ}x{IN}xf32>, {ids}, {gates}, {up}, {down} -> {y}",
        ]
        values.append(f"%y{name}")
        types.append(f'{y} {{nn.output = "y{name}", dist.sharding = #dist.sharding<@mesh, [{tokens}, {{}}]>}}')
    plain = [t.split(" {")[0] for t in types]
    return "\n".join(
        [mesh, f"func.func @f({', '.join(arguments)})", f"    -> ({', '.join(types)}) {{"]
        + body
        + [f"  return {', '.join(values)} : {', '.join(plain)}", "}", ""]
    )


def make_data(folder, cases, rng):
    """Writes the arguments, and returns the ids by case. Some ids are no expert's."""
    folder.mkdir()
    count = iter(range(1000))
    save = lambda value: np.save(folder / f"arg{next(count)}.npy", value)
    floats = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    found = {}
    for k, e in cases:
        order = np.argsort(rng.random((BATCH, SEQ, e)), axis=-1)[..., :k].astype(np.int32)
        found[k, e] = np.where(rng.random(order.shape) < 0.2, -1, order).astype(np.int32)
        save(floats(BATCH, SEQ, IN))
        save(found[k, e])
        save(floats(BATCH, SEQ, k))
        for shape in [(e, IN, FFN), (e, IN, FFN), (e, FFN, OUT)]:
            save(floats(*shape))
    return found


def count_bytes(a, b, ids_by_case):
    """The most bytes that a rank receives, by collective and axes."""
    received = {}
    at = np.arange(BATCH) * a // BATCH, np.arange(SEQ) * b // SEQ

    def add(op, axes, rank, tokens, width):
        counts = received.setdefault((op, axes), np.zeros(a * b, int))
        counts[rank] += int(tokens.sum()) * width * 4

    for (k, e), ids in ids_by_case.items():
        block = -(-e // (a * b))
        # Padded experts are in equal blocks.
        owner = np.where(ids < 0, -1, ids // block)
        batch, seq = at[0][:, None], at[1][None, :]
        for i in range(a):
            for j in range(b):
                rank = i * b + j
                row = ((owner >= 0) & (owner // b == i)).any(-1)
                own = (owner == rank).any(-1)
                if b == 1:
                    add("dispatch", "a", rank, own & (batch != i), IN)
                    for other in range(a):
                        if other != i:
                            uses = (owner == other).any(-1)
                            add("combine", "a", rank, uses & (batch == i), OUT)
                    continue
                add("dispatch", "a", rank, row & (batch != i) & (seq == j), IN)
                add("dispatch", "b", rank, own & (seq != j), IN)
                for other in range(b):
                    if other != j:
                        uses = (owner == i * b + other).any(-1)
                        add("combine", "b", rank, uses & (seq == j), OUT)
                for other in range(a):
                    if other != i:
                        uses = ((owner >= 0) & (owner // b == other)).any(-1)
                        add("combine", "a", rank, uses & (batch == i) & (seq == j), OUT)
    return {key: int(counts.max()) for key, counts in received.items()}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    for mesh in sys.argv[2:]:
        a, b = (int(n) for n in (mesh.split("x") + ["1"])[:2])
        cases = [(k, e) for e in range(a * b, 7) for k in range(1, min(3, e) + 1)]
        here = folder / mesh
        here.mkdir()
        ids = make_data(here / "data", cases, np.random.default_rng(7))
        report = {}
        for mode in ("dense", "peers", "padded"):
            program = make_program(a, b, cases)
            if mode == "padded":
                program = f"module attributes {{dist.plan = #dist.plan<moe_room = {ROOM}>}} {{\n{program}}}\n"
            (here / "f.mlir").write_text(program)
            run("tessera", "compile", here / "f.mlir", "--dispatch", mode, "--quiet", "-o", here / mode)
            text = run(
                "tessera", "run", here / mode, "--ranks", str(a * b), "--inputs", here / "data",
                "--save-outputs", here / f"out.{mode}", "--report", "json",
            )  # fmt: skip
            report[mode] = json.loads(text.strip().splitlines()[-1])
        equal = 0
        for k, e in cases:
            dense, peers, padded = (
                np.load(here / f"out.{m}" / f"y{k}of{e}.npy") for m in ("dense", "peers", "padded")
            )
            equal += (
                np.array_equal(dense, peers)
                and np.array_equal(dense, padded)
                and bool(np.abs(dense).max() > 0)
            )
        sent = {
            (entry["op"], entry["axes"]): entry["bytes_received_per_rank"]
            for entry in report["peers"]["collectives"]
        }
        expected = count_bytes(a, b, ids)
        counted = all(sent.get(key) == value for key, value in expected.items())
        whole = sum(entry["op"] in ("dispatch", "combine") for entry in report["dense"]["collectives"])
        print(
            f"{mesh}: {equal} of {len(cases)} equal, "
            + ("bytes as counted" if counted and not whole else f"expects {expected} but got {sent}")
        )


main()
