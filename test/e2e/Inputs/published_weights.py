"""Writes the parameters of a tiny model, from `tessera verify --dump`, into a safetensors file with
the names and layouts that the model's authors publish. Its transpositions are independent, in
Python alone.

Usage: published_weights.py gpt2|llama DUMP-DIR OUT.safetensors [PREFIX-TO-DROP [TYPE...]]

Numbers are rounded to each TYPE in turn and stored in the last, F32 if there is none."""

import ast
import json
import pathlib
import struct
import sys


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    count = (len(data) - 10 - length) // 4
    return header["shape"], list(struct.unpack(f"<{count}f", data[10 + length:]))


def transposed(values, rows):
    columns = len(values) // rows
    return [values[r * columns + c] for c in range(columns) for r in range(rows)]


def beside(parts, rows):
    """Concatenates matrices with `rows` rows along the columns."""
    rowed = [(p, len(p) // rows) for p in parts]
    return [x for r in range(rows) for p, width in rowed for x in p[r * width:(r + 1) * width]]


def gpt2(folder, layers):
    get = lambda name: read(folder / f"{name}.npy")[1]
    d = read(folder / "wte.npy")[0][1]
    out = {}

    def add(name, values, rows=None):
        out[f"transformer.{name}"] = ([len(values)] if rows is None else [rows, len(values) // rows], values)

    add("wte.weight", get("wte"), len(get("wte")) // d)
    add("wpe.weight", get("wpe"), len(get("wpe")) // d)
    for i in range(layers):
        ours, theirs = f"blocks.{i}.", f"h.{i}."
        for norm in ("1", "2"):
            add(f"{theirs}ln_{norm}.weight", get(f"{ours}ln{norm}.gamma"))
            add(f"{theirs}ln_{norm}.bias", get(f"{ours}ln{norm}.beta"))
        add(f"{theirs}attn.c_attn.weight", beside([get(f"{ours}attn.w{x}") for x in "qkv"], d), d)
        add(f"{theirs}attn.c_attn.bias", sum((get(f"{ours}attn.b{x}") for x in "qkv"), []))
        add(f"{theirs}attn.c_proj.weight", get(f"{ours}attn.wo"), d)
        add(f"{theirs}attn.c_proj.bias", get(f"{ours}attn.bo"))
        add(f"{theirs}mlp.c_fc.weight", get(f"{ours}mlp.w1"), d)
        add(f"{theirs}mlp.c_fc.bias", get(f"{ours}mlp.b1"))
        add(f"{theirs}mlp.c_proj.weight", get(f"{ours}mlp.w2"), len(get(f"{ours}mlp.b1")))
        add(f"{theirs}mlp.c_proj.bias", get(f"{ours}mlp.b2"))
    add("ln_f.weight", get("ln_f.gamma"))
    add("ln_f.bias", get("ln_f.beta"))
    return out


def llama(folder, layers):
    get = lambda name: read(folder / f"{name}.npy")[1]
    d = read(folder / "wte.npy")[0][1]
    out = {"model.embed_tokens.weight": ([len(get("wte")) // d, d], get("wte"))}

    def linear(name, values, inputs):
        out[name] = ([len(values) // inputs, inputs], transposed(values, inputs))

    for i in range(layers):
        ours, theirs = f"blocks.{i}.", f"model.layers.{i}."
        out[theirs + "input_layernorm.weight"] = ([d], get(ours + "ln1.gamma"))
        out[theirs + "post_attention_layernorm.weight"] = ([d], get(ours + "ln2.gamma"))
        for x in "qkv":
            linear(f"{theirs}self_attn.{x}_proj.weight", get(f"{ours}attn.w{x}"), d)
        wo = get(ours + "attn.wo")
        linear(theirs + "self_attn.o_proj.weight", wo, len(wo) // d)
        linear(theirs + "mlp.gate_proj.weight", get(ours + "mlp.w_gate"), d)
        linear(theirs + "mlp.up_proj.weight", get(ours + "mlp.w_up"), d)
        down = get(ours + "mlp.w_down")
        linear(theirs + "mlp.down_proj.weight", down, len(down) // d)
    out["model.norm.weight"] = ([d], get("ln_f.gamma"))
    out["lm_head.weight"] = ([len(get("lm_head")) // d, d], get("lm_head"))
    return out


# Formats of the module struct; f8 tensors contain zeros only.
FORMATS = {"F32": "f", "F16": "e", "I32": "i", "F8_E4M3": "x"}


def pack(values, kind):
    whole = [int(value) for value in values] if kind == "I32" else values
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *([] if kind == "F8_E4M3" else whole))


def main():
    family, folder, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    prefix = sys.argv[4] if len(sys.argv) > 4 else ""
    types = sys.argv[5:] or ["F32"]
    layers = len(list(folder.glob("blocks.*.attn.wq.npy")))
    header, body = {}, b""
    for name, (shape, values) in {"gpt2": gpt2, "llama": llama}[family](folder, layers).items():
        for kind in types[:-1]:
            values = struct.unpack(f"<{len(values)}{FORMATS[kind]}", pack(values, kind))
        data = pack(values, types[-1])
        header[name.removeprefix(prefix)] = {"dtype": types[-1], "shape": shape,
                                             "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    target.write_bytes(struct.pack("<Q", len(text)) + text + body)


if __name__ == "__main__":
    main()
