"""Arenas and exposed bytes of off.mlir, on.mlir, some.mlir, off.json and on.json."""

import json
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
arena = {name: int(re.search(r"rt\.arena_bytes = (\d+)",
                             (folder / f"{name}.mlir").read_text())[1])
         for name in ("off", "on", "some")}
total = {name: json.loads((folder / f"{name}.json").read_text())["total"]
         for name in ("off", "on")}
print("on:", "at most 10 % more" if arena["on"] <= 1.1 * arena["off"] else arena)
print("some:", "at most 1000 bytes more" if arena["some"] <= arena["off"] + 1000 else arena)
assert total["off"]["bytes"] == total["on"]["bytes"]
print("off:", f"exposed all of {total['off']['bytes']} bytes"
      if total["off"]["exposed_bytes"] == total["off"]["bytes"] else total)
print("on:", "exposed less than a quarter"
      if total["on"]["exposed_bytes"] * 4 < total["on"]["bytes"] else total)
