"""A user's file with two mistakes, for mypy --strict."""

import tessera

tessera.compile(len, (), stratgy="dp")
tessera.compile(len, (), micro_batches="two")
