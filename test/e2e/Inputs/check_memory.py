"""Compares the memory report of a planned step with its arguments and arena.

    check_memory.py SCHEDULE.mlir ...

Prints for each step the bytes of parameters and of state by the report and by the types of the
arguments, each rounded up to 64 bytes, and the sum of all categories with the size of the arena;
for several steps, whether each arena is larger than the one before."""

import re
import sys

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i32": 4, "i64": 8, "i1": 1}


def check(path):
    text = open(path).read()
    step = next(line for line in text.splitlines() if "rt.arena_bytes" in line)
    arena = int(re.search(r"rt\.arena_bytes = (\d+)", step).group(1))
    memory = re.search(r"rt\.memory = \{([^}]*)\}", step).group(1)
    said = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", memory)}
    sizes = {"nn.param": 0, "nn.state": 0}
    for shape, element, attributes in re.findall(
            r"%arg\d+: tensor<((?:\d+x)*)(\w+)> \{(.*?)\}(?=, %arg|\) ->)", step):
        count = BYTES[element]
        for size in shape.split("x")[:-1]:
            count *= int(size)
        for role in sizes:
            if role in attributes:
                sizes[role] += (count + 63) // 64 * 64
    print(f"parameters {said['parameters']} of {sizes['nn.param']}, state "
          f"{said['optimizer_state']} of {sizes['nn.state']}, sum {sum(said.values())} of {arena}")
    return arena


def main():
    arenas = [check(path) for path in sys.argv[1:]]
    if len(arenas) > 1:
        ascend = all(a < b for a, b in zip(arenas, arenas[1:]))
        print("arenas ascend" if ascend else f"arenas do not ascend: {arenas}")


main()
