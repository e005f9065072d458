"""Damaged files of shardings: python shardings_files.py FOLDER. Prints the error of each."""

import copy
import json
import pathlib
import sys

import tessera

FOLDER = pathlib.Path(sys.argv[1])
GOOD = {"tessera": "shardings", "version": 1, "mesh": {"dp": 2, "tp": 4}, "plan": {"zero": 2},
        "tensors": {"q.weight": {"shape": [64, 64], "axes": [["tp"], []]}},
        "modules": {"q": {"input": [["dp"], [], []], "output": [["dp"], [], ["tp"]]}},
        "inputs": {"ids": {"axes": [["dp"], []]}}}


def read(case, text):
    path = FOLDER / "s.json"
    path.write_text(text)
    try:
        found = tessera.load_shardings(path)
        print(f"{case}: {[list(map(str, dim)) for dim in found.tensors['q.weight'].axes]}")
    except tessera.ShardingsError as error:
        print(f"{case}: {str(error).replace(str(FOLDER) + '/', '')}")


def change(case, *path):
    """Sets a value of the document: keys, then the value."""
    document = copy.deepcopy(GOOD)
    *keys, last, value = path
    entry = document
    for key in keys:
        entry = entry[key]
    entry[last] = value
    read(case, json.dumps(document))


def axes(case, *dims):
    change(case, "tensors", "q.weight", "axes", list(dims))


read("good", json.dumps(GOOD))
axes("sub-axes", ["tp:(1)2", "tp:(2)2"], ["dp"])
axes("parts", ["tp:(1)2"], ["tp:(2)2"])
change("strategy", "strategy", "dp,tp,zero=2")

try:
    tessera.load_shardings(FOLDER / "none.json")
except tessera.Error as error:
    print(f"no file: {str(error).replace(str(FOLDER) + '/', '')}")
read("no JSON", "{")
read("deep", "[" * 100000)
read("twice", '{"mesh": {}, "mesh": {}}')
read("list", "[]")
change("kind", "tessera", "plan")
change("version", "version", 2)
change("no version", "version", True)
read("no mesh", json.dumps({key: value for key, value in GOOD.items() if key != "mesh"}))
change("key", "tensor", {})
change("size", "mesh", "tp", 0)
change("name", "mesh", {"t:p": 2})
change("zero", "plan", "zero", 4)
change("field", "plan", "micro_batches", 4)
change("sp", "plan", "sp", 1)
change("entry", "tensors", "q.weight", [])
change("shape", "tensors", "q.weight", "shape", [64, "64"])
axes("rank", ["tp"])
axes("text", "tp", [])
axes("axis", ["pt"], [])
axes("part", ["tp:(2)4"], [])
axes("spelling", ["tp:2"], [])
axes("used", ["tp"], ["tp:(1)2"])
change("views", "tensors", "q.weight", "views", [])
change("view axes", "tensors", "q.weight", {"shape": [4], "views": [{"axes": [["xp"]]}]})
change("module", "modules", "q", "inputs", [])
change("input", "inputs", "ids", "axes", [["xp"]])
