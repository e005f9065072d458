"""Checks that each folder includes only what stands before it in the order of
the layers, and that the runtime includes nothing of the compiler."""

import pathlib
import re
import sys

LAYERS = [
    "Support", "Interfaces", "dialects", "Cluster", "Schedule", "Cost", "Memory",
    "Propagation", "Partition", "Training", "Pipeline", "Search", "Interpreter",
    "Import", "Conversion", "Pipelines", "Planning", "Registration", "tools",
]
INCLUDE = re.compile(r'^\s*#include\s*[<"]([^">]+)[">]', re.M)


def layer_of(path):
    """The layer that a source file or an included path belongs to, or None."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] in ("dialects", "tools"):
        return parts[0]
    if parts[0] == "lib":
        return parts[1]
    if parts[:2] == ("include", "tessera"):
        return parts[2]
    if parts[0] == "tessera":
        return parts[1]
    return None


def main(root):
    errors = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".h", ".cpp", ".td") or name.startswith(("build", ".")):
            continue
        includes = INCLUDE.findall(path.read_text())
        if name.startswith("runtime/"):
            errors += [f"{name}: the runtime includes {i}" for i in includes
                       if re.match(r"(mlir|llvm|tessera|dialects)/", i)]
            continue
        layer = layer_of(name)
        if layer not in LAYERS:
            if name.startswith(("lib/", "include/", "dialects/", "tools/")):
                errors.append(f"{name}: expects a folder of the layers but got {layer}")
            continue
        for include in includes:
            other = layer_of(include)
            if other in LAYERS and LAYERS.index(other) > LAYERS.index(layer):
                errors.append(f"{name}: {layer} includes {include} of the later {other}")
    print("\n".join(errors) or f"include order holds: {len(LAYERS)} layers")
    return bool(errors)


sys.exit(main(pathlib.Path(sys.argv[1])))
