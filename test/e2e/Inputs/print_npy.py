"""Prints the values of an f32 .npy file on a line."""

import pathlib
import sys

import npy

print(*npy.read(pathlib.Path(sys.argv[1])))
