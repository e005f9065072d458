"""Bytes that the generated kernels of a training step read and write, without a GPU.

Compiles a training step for CUDA up to its kernels and counts, for each launch, the bytes that it
reads and writes: each operand once, each result once. The floor of the step counts every tensor
that generated kernels touch as read once and written once in the whole step, however many kernels
read it. Data read by index (rows of a table, a label's logit) counts as far as it is read. Matmuls,
attention and other library calls are counted, but their bytes are not; the additional operands of
matmuls (biases, summands, GELU's argument, sums) are counted separately as `epilogue_bytes`. Prints
one JSON line per case; `--registers` adds registers and spilled bytes by ptxas (needs a CUDA
toolkit), `--kernels N` the N kernels that move the most bytes.

Within a launch a row that is too long for registers is read again by each op that needs it (the
logits of a loss: twice); these reads are not counted."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# name: config, batch, sequence, changes of the config.
CASES = {
    "gpt2": ("gpt2", 32, 1024, {}),
    "llama3-8b-layers": ("llama3-8b", 2, 4096, {"num_hidden_layers": 2}),
}
BYTES = {"i1": 1, "i8": 1, "f8E4M3FN": 1, "f8E5M2": 1, "bf16": 2, "f16": 2, "i32": 4, "f32": 4,
         "i64": 8, "f64": 8, "index": 8}
# Ops that move nothing: they give the same memory another shape.
VIEWS = ("tensor.expand_shape", "tensor.collapse_shape")

OP = re.compile(r"^\s+(?:(?P<results>%[\w#:, %]+) = )?(?P<name>[a-z]\w*(?:\.\w+)+)(?P<rest>.*)$")
CALL = re.compile(r"@(?P<callee>\w+)\((?P<operands>[^)]*)\) : \((?P<ins>[^)]*)\) -> (?P<outs>.*)$")
TENSOR = re.compile(r"tensor<([^>]*)>|\bindex\b")
BESIDE = re.compile(r" (?:(?:init|bias|argument) %[\w#]+ :|extra) (tensor<[^>]*>)")


def tensor_bytes(text):
    """Bytes of each tensor type in a list of types; 0 for an index."""
    sizes = []
    for match in TENSOR.finditer(text):
        if match.group(1) is None:
            sizes.append(0)
            continue
        *dims, element = match.group(1).split("x")
        count = BYTES[element]
        for dim in dims:
            count *= int(dim)
        sizes.append(count)
    return sizes


def result_names(text):
    """The value names that `%a, %b:2` stands for."""
    names = []
    for part in (text or "").split(","):
        name, _, count = part.strip().partition(":")
        names += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return [name for name in names if name]


Call = collections.namedtuple("Call", "callee operands in_bytes results out_bytes")


def parse_call(match):
    call = CALL.search(match.group("rest"))
    operands = [name.strip() for name in call.group("operands").split(",") if name.strip()]
    return Call(call.group("callee"), operands, tensor_bytes(call.group("ins")),
                result_names(match.group("results")), tensor_bytes(call.group("outs")))


def read_functions(text):
    """Maps each function to its arguments and its ops, each a match of OP."""
    functions, ops = {}, None
    for line in text.splitlines():
        if line.startswith("  func.func"):
            name = re.search(r"@(\w+)\(", line).group(1)
            arguments = re.findall(r"(%arg\d+): ", line.split(") -> ")[0])
            ops = []
            functions[name] = (arguments, ops, "rt.batch" in line, "rt.kernel" in line)
        elif ops is not None and (match := OP.match(line)):
            ops.append(match)
    return functions


def looked_up(arguments, ops):
    """Maps each argument that is read only at computed positions to the number of bytes read."""
    found, streamed, elements = {}, set(), 0
    for match in ops:
        name, rest = match.group("name"), match.group("rest")
        if name == "linalg.generic":
            reads = re.search(r" ins\(([^:]*) :", rest)
            streamed |= set(re.findall(r"%arg\d+", reads.group(1))) if reads else set()
            # Elements of the op's loops, taken from its largest tensor.
            operands = rest[rest.index("outs(") if not reads else reads.start():]
            elements = 1
            for shape in re.findall(r"tensor<([\dx]+)x[a-z]", operands):
                count = 1
                for dim in shape.split("x"):
                    count *= int(dim)
                elements = max(elements, count)
        elif name == "tensor.extract":
            value, element = re.search(r"(%\w+)\[.*x(\w+)>", rest).groups()
            found[value] = found.get(value, 0) + elements * BYTES[element]
    return {value: size for value, size in found.items()
            if value in arguments and value not in streamed}


class Step:
    """Bytes of the launches of a step, and how each tensor is used."""

    def __init__(self, functions):
        self.functions = functions
        self.indexed = {name: looked_up(arguments, ops)
                        for name, (arguments, ops, _, is_kernel) in functions.items() if is_kernel}
        self.roots = {}
        self.read, self.made = {}, {}
        self.by_kernel = collections.Counter()
        self.calls = collections.Counter()
        self.launches = self.kernels = self.moved = self.beside = 0
        self.libraries = collections.Counter()
        (self.name, (_, ops, _, _)), = [
            entry for entry in functions.items() if not entry[1][3]]
        for match in ops:
            self.visit(match)

    def root(self, value):
        return self.roots.get(value, value)

    def visit(self, match):
        name = match.group("name")
        if name in VIEWS:
            source = re.match(r"\s*(%[\w#]+)", match.group("rest")).group(1)
            self.roots[result_names(match.group("results"))[0]] = self.root(source)
        elif name == "rt.kernel":
            self.launches += 1
            self.launch(parse_call(match), {}, {})
        elif name.startswith("rt.") or name.startswith("dist."):
            self.libraries[name] += 1
            if name.startswith("rt.matmul"):
                self.beside += sum(tensor_bytes(" ".join(BESIDE.findall(match.group("rest")))))

    def launch(self, call, outer_in, outer_out):
        """Adds a kernel, or the kernels of a batch; the maps name the batch's values."""
        arguments, ops, is_batch, _ = self.functions[call.callee]
        if is_batch:
            ins = dict(zip(arguments, call.operands))
            inner = [parse_call(m) for m in ops if m.group("name") == "rt.kernel"]
            names = [name for one in inner for name in one.results]
            outs = dict(zip(names, call.results))
            for one in inner:
                self.launch(one, ins, outs)
            return
        self.kernels += 1
        total = 0
        seen = set()
        for value, size, argument in zip(call.operands, call.in_bytes, arguments):
            size = min(size, self.indexed[call.callee].get(argument, size))
            value = self.root(outer_in.get(value, value))
            if value not in seen:
                total += size
            seen.add(value)
            self.read[value] = max(size, self.read.get(value, 0))
        for value, size in zip(call.results, call.out_bytes):
            total += size
            self.made[outer_out.get(value, value)] = size
        self.moved += total
        self.by_kernel[call.callee] += total
        self.calls[call.callee] += 1

    def floor(self):
        return sum(self.read.values()) + sum(self.made.values())


def compile_case(args, case, folder):
    config, batch, seq, changes = CASES[case]
    source = ROOT / "share" / "models" / f"{config}.json"
    if changes:
        model = json.loads(source.read_text()) | changes
        source = folder / f"{config}.json"
        source.write_text(json.dumps(model))
    tool = pathlib.Path(args.build) / "bin" / "tessera"
    graph, kernels = folder / "graph.mlir", folder / "kernels.mlir"
    run = lambda *words: subprocess.run([tool, *map(str, words)], check=True)
    run("model", source, "--batch", args.batch or batch, "--seq", args.seq or seq, "--train", "--quiet",
        "-o", graph)
    options = ["--target", "cuda", "--precision", args.precision, "--clip", "1.0", "--quiet"]
    run("compile", graph, *options, "--compile-to=kernels", "-o", kernels)
    registers = {}
    if args.registers:
        report = folder / "registers.json"
        run("compile", graph, *options, "--cuda-arch", args.arch, "--kernel-report", report, "-o",
            folder / "program")
        uses = json.loads(report.read_text())["kernels"]
        registers = {"most_registers": max(use["registers"] for use in uses),
                     "spilled_bytes": sum(use["spill_stores"] + use["spill_loads"] for use in uses),
                     "functions": len(uses)}
    return kernels.read_text(), registers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--only", help="one case: " + ", ".join(CASES))
    parser.add_argument("--batch", type=int, help="sequences, in place of the case's")
    parser.add_argument("--seq", type=int, help="tokens of a sequence")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--registers", action="store_true", help="assemble the kernels as well")
    parser.add_argument("--arch", default="90", help="for which architecture")
    parser.add_argument("--kernels", type=int, default=0, metavar="N")
    args = parser.parse_args()
    for case in [args.only] if args.only else CASES:
        with tempfile.TemporaryDirectory() as folder:
            text, registers = compile_case(args, case, pathlib.Path(folder))
        step = Step(read_functions(text))
        line = {"bench": "kernel_bytes", "case": case, "precision": args.precision,
                "launches": step.launches, "kernels": step.kernels, "codes": len(step.calls),
                "library_calls": dict(sorted(step.libraries.items())),
                "bytes": step.moved, "epilogue_bytes": step.beside, "floor_bytes": step.floor(),
                "ratio": round(step.moved / step.floor(), 4)} | registers
        if args.kernels:
            line["largest"] = [
                {"kernel": name, "calls": step.calls[name], "bytes": size}
                for name, size in step.by_kernel.most_common(args.kernels)]
        print(json.dumps(line))


if __name__ == "__main__":
    main()
