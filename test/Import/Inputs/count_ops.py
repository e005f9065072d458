"""count_ops.py A.mlir B.mlir: how many ops of each kind of nn each graph has."""

import collections
import pathlib
import re
import sys

counts = [collections.Counter(re.findall(r"= nn\.(\w+)", pathlib.Path(path).read_text()))
          for path in sys.argv[1:3]]
for name in sorted(set().union(*counts)):
    print(name, *(count[name] for count in counts))
