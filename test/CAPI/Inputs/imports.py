"""Imports a graph of StableHLO by the C API, and prints its local program."""

import ctypes
import sys

import partition

session = partition.Session(partition.Library(sys.argv[1]))
session.library.call("mlirContextSetAllowUnregisteredDialects", session.context,
                     ctypes.c_bool(True))
with open(sys.argv[2]) as file:
    module = session.parse(file.read())
assert session.run(module, "builtin.module(tessera-import{inputs=arg0 dims=arg0=batch,embed})"), \
    session.diagnostics
assert session.run(module, "builtin.module(compile-to{partition mesh=dp=2 strategy=dp})"), \
    session.diagnostics
print(session.print(module))
