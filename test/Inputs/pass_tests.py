"""Checks that each pass has a lit test with its name in the folder of its library:
FuseCollectivesPass in include/tessera/LocalCollectives/Passes.td is tested in
test/LocalCollectives/fuse_collectives.mlir or .test, or in a folder of that name. The file's name may
have a suffix."""

import pathlib
import re
import sys


def main(root):
    passes, missing = 0, []
    for table in sorted(root.glob("include/tessera/*/Passes.td")):
        for name in re.findall(r"^def (\w+)Pass\b", table.read_text(), re.M):
            passes += 1
            snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
            folder = root / "test" / table.parent.name
            if not any(folder.rglob(f"{snake.lower()}*")):
                missing.append(f"{name}: expects {folder.relative_to(root)}/{snake.lower()}.mlir")
    print("\n".join(missing) or f"each of {passes} passes has a test")
    return bool(missing) or not passes


sys.exit(main(pathlib.Path(sys.argv[1])))
