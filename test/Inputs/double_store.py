"""Prints a pipeline program in which each stored value is doubled first."""
import re
import sys

text = open(sys.argv[1]).read()
store = re.search(r"( +)dist\.task_yield store \[0\]\((%[\w#]+) : (\S+)\)", text)
indent, value, type_ = store.groups()
sys.stdout.write(text[: store.start()])
sys.stdout.write(f"{indent}%doubled = arith.addf {value}, {value} : {type_}\n")
sys.stdout.write(store.group().replace(value + " ", "%doubled "))
sys.stdout.write(text[store.end() :])
