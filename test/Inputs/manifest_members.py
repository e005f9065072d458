"""Checks that the names of a manifest's members are in runtime/include/tessera_manifest.h alone:
each is used by the compiler that writes manifests and by the runtime that reads them, and neither
spells a member itself."""

import pathlib
import re
import sys

HEADER = "runtime/include/tessera_manifest.h"
WRITER = "lib/Conversion/Manifest.cpp"
READER = "runtime/src/data/Manifest.cpp"
# Members that tools read, and members of programs that are written by hand.
ONLY_WRITTEN = {"kCommunication", "traffic::kAxes", "traffic::kBytes", "traffic::kCalls",
                "target::kCuda"}
ONLY_READ = {"init::kUniform", "init::kLow", "init::kHigh", "target::kHost"}


def read_names(text):
    """The constants of the header, with the namespace of their object."""
    names, scope = [], ""
    for line in text.splitlines():
        if match := re.match(r"namespace (\w+) {", line):
            scope = match[1] + "::"
        elif re.match(r"} // namespace \w+$", line):
            scope = ""
        elif match := re.match(r'inline constexpr char (k\w+)\[\] = "', line):
            names.append(scope + match[1])
    return names


def main(root):
    names = read_names((root / HEADER).read_text())
    faults = [] if len(names) > 40 else [f"{HEADER}: expects constants"]
    texts = {path: re.sub(r"//.*", "", (root / path).read_text()) for path in (WRITER, READER)}
    for name in names:
        for path, others in ((WRITER, ONLY_READ), (READER, ONLY_WRITTEN)):
            used = re.search(rf"(?<![\w]){name}\b", texts[path])
            if bool(used) == (name in others):
                faults.append(f"{path}: expects {'no' if used else 'a'} use of {name}")
    for path, text in texts.items():
        for match in re.finditer(r'(?:\{|\[|get\w+\(|find\(|json, )"([a-z_]+)"', text):
            faults.append(f"{path}: expects a constant of {HEADER} but got \"{match[1]}\"")
    print("\n".join(faults) or f"manifest members hold: {len(names)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
