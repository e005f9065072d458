"""Graphs of other frameworks for the Tessera compiler.

`python3 -m tessera import FILE -o g.mlir` is the command; docs/Import.md says what it
reads. A framework is imported only when a graph of it is read."""
