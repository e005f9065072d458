"""Checks the includes of the sources. Each folder includes only folders above it in the table of
CONTRIBUTING.md. A header without a folder is in the folder of the file that includes it. The
runtime includes nothing of the compiler, and the compiler's libraries only the runtime's public
headers. Tests, benchmarks and tools name the folder of a private header of the runtime. A library
links the libraries of the folders that it includes, and no other."""

import os
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#include\s*[<"]([^">]+)[">]', re.M)


def read_layers(text):
    """The folders in the table of CONTRIBUTING.md, from first to last."""
    rows = re.findall(r"^\| `(?:lib/|include/tessera/)?(\w+)[^`]*` \|", text, re.M)
    if len(rows) < 2:
        sys.exit("CONTRIBUTING.md: expects a table of folders")
    return rows


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
    if "tessera-c" in parts[:2]:
        return "CAPI"
    return None


def list_sources(root):
    """The sources below `root`, sorted. Build folders are skipped, since they change while tests
    run."""
    sources = []
    for folder, folders, files in os.walk(root):
        if folder == str(root):
            folders[:] = [name for name in folders if not name.startswith(("build", "."))]
        sources += [pathlib.Path(folder) / name for name in files
                    if name.endswith((".h", ".cpp", ".td"))]
    return sorted(sources)


def library_of(path):
    """The folder of the library that a source file or an included path belongs to, or None."""
    parts = pathlib.PurePosixPath(path).parts
    return parts[1] if parts[0] == "dialects" and len(parts) > 2 else layer_of(path)


def check_links(root):
    """Errors of the lists of linked libraries."""
    included, errors = {}, []
    for path in list_sources(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(("lib/", "include/", "dialects/")) and path.suffix != ".td":
            own = library_of(name)
            others = {library_of(other) for other in INCLUDE.findall(path.read_text())}
            included.setdefault(own, set()).update(others - {None, own})
    for path in sorted(root.glob("lib/*/CMakeLists.txt")) + \
            sorted(root.glob("dialects/*/CMakeLists.txt")):
        own = path.parent.name
        call = re.search(r"(?:tessera_library\(Tessera\w+|target_link_libraries\(TesseraC PRIVATE)"
                         r"([^)]*)\)", path.read_text())
        linked = set(call.group(1).split()) - {"TesseraMLIR"} if call else set()
        expected = {f"Tessera{other}" for other in included.get(own, ())}
        name = path.relative_to(root).as_posix()
        errors += [f"{name}: expects {other}, which {own} includes" for other
                   in sorted(expected - linked)]
        errors += [f"{name}: links {other}, which {own} does not include" for other
                   in sorted(linked - expected)]
    return errors


def main(root):
    layers = read_layers((root / "CONTRIBUTING.md").read_text())
    private = {path.name for path in root.glob("runtime/**/*.h")} - \
        {path.name for path in root.glob("runtime/include/*.h")}
    errors = check_links(root)
    for path in list_sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        includes = INCLUDE.findall(text)
        if name.startswith("runtime/"):
            errors += [f"{name}: the runtime includes {i}" for i in includes
                       if re.match(r"(mlir|llvm|tessera|dialects)/", i)]
            continue
        if name.startswith(("test/", "bench/", "tools/")):
            errors += [f"{name}: expects the folder of {i} of the runtime" for i in includes
                       if i in private and not (path.parent / i).exists()]
        layer = layer_of(name)
        if layer not in layers:
            if name.startswith(("lib/", "include/", "dialects/", "tools/")):
                errors.append(f"{name}: expects a folder of CONTRIBUTING.md but got {layer}")
            continue
        errors += [f"{name}: the compiler includes {i} of the runtime, not its public header"
                   for i in includes
                   if layer != "tools" and re.match(r"runtime/(?!include/)", i)]
        for include in includes:
            if include.endswith(".h") and f'"{include}"' in text and "/" not in include \
                    and not (path.parent / include).exists():
                errors.append(f"{name}: expects the folder of {include}")
            other = layer_of(include)
            if other in layers and layers.index(other) > layers.index(layer):
                errors.append(f"{name}: {layer} includes {include} of the later {other}")
    print("\n".join(errors) or f"include order holds: {len(layers)} layers")
    return bool(errors)


sys.exit(main(pathlib.Path(sys.argv[1])))
