"""count_ops.py A.mlir B.mlir NAME...: how many ops nn.NAME each graph has."""

import pathlib
import re
import sys

texts = [pathlib.Path(path).read_text() for path in sys.argv[1:3]]
for name in sys.argv[3:]:
    print(name, *(len(re.findall(rf"= nn\.{name}\b", text)) for text in texts))
