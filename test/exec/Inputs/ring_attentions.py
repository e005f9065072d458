"""Prints a program of ring attentions over N devices: forward and backward, causal or not, within
windows and within documents, sequences of 2 N to 4 N; those that 2 N divides in zig-zag order, too.

    ring_attentions.py N [TYPE] > PROGRAM.mlir"""

import itertools
import sys

n = int(sys.argv[1])
element = sys.argv[2] if len(sys.argv) > 2 else "f64"
stat = "f64" if element == "f64" else "f32"
print(f'dist.mesh @mesh ["cp"={n}]')
PINS = (
    '{dist.ring = #dist.axes<{"cp"}>, dist.factors = [#dist.axes<{}>, #dist.axes<{"cp"}>'
    + ", #dist.axes<{}>" * 5
    + "]}"
)


def sharded(rank):
    return '{dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}' + ", {}" * (rank - 2) + "]>}"


def tensors(s):
    q = (f"tensor<2x{s}x2x2x4x{element}>", 5)
    k = (f"tensor<2x{s}x2x4x{element}>", 4)
    v = (f"tensor<2x{s}x2x3x{element}>", 4)
    o = (f"tensor<2x{s}x2x2x3x{element}>", 5)
    l = (f"tensor<2x{s}x2x2x{stat}>", 4)
    return {"q": q, "k": k, "v": v, "o": o, "l": l, "g": o, "s": (f"tensor<2x{s}xi32>", 2)}


def function(name, s, arguments, results, op, types):
    t = tensors(s)
    args = ", ".join(f"%{a}: {t[a][0]} {sharded(t[a][1])}" for a in arguments)
    outs = ", ".join(f"{t[r][0]} {sharded(t[r][1])}" for r in results)
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    print(f"func.func @{name}_{s}({args}) -> ({outs}) {{")
    print(f"  {values} = {op} {PINS} : {types(t)}")
    print(f"  return {values} : " + ", ".join(t[r][0] for r in results) + "\n}")


for s in range(2 * n, 4 * n + 1):
    masks = ["", "causal "] + [f"causal window {w} " for w in range(1, s + 1)]
    orders = ["", f"order <shards = {n}, size = {s}> "] if s % (2 * n) == 0 else [""]
    for mask, documents, order in itertools.product(masks, ["", "s"], orders):
        kind = (mask.strip().replace(" ", "_") or "full") + ("_documents" if documents else "")
        kind += "_zigzag" if order else ""
        starts = f" starts %s : {tensors(s)['s'][0]}" if documents else ""
        function(
            f"forward_{kind}", s, "qkv" + documents, "ol",
            f"nn.attention {mask}scale 0.5 {order}%q, %k, %v{starts}",
            lambda t: f"{t['q'][0]}, {t['k'][0]}, {t['v'][0]} -> {t['o'][0]} stats {t['l'][0]}",
        )
        function(
            f"backward_{kind}", s, "gqkvol" + documents, "qkv",
            f"nn.attention_backward {mask}scale 0.5 {order}%g, %q, %k, %v, %o, %l{starts}",
            lambda t: ", ".join(t[x][0] for x in "qkvol"),
        )
