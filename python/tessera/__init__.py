"""Imports graphs of other frameworks for the Tessera compiler.

The command is `python3 -m tessera import FILE -o g.mlir`; docs/import.md lists the formats that it
reads. A framework is imported only when a graph of it is read."""
