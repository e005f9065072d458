"""Converts Einsum of ONNX: any number of tensors, `...`, results that are not named, and letters
that a tensor has twice."""

from __future__ import annotations

from typing import Any, Sequence

from .errors import ImportFailure
from .graph_text import LETTERS, Value
from .onnx_importer import Importer, attribute, handles

# A tensor and the letters of its dimensions.
Term = tuple[str, Value]


# Matmuls.

def spread_dots(spec: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of the operands and of the result, with digits for `...`, whose dimensions are
    aligned at their ends: the last one is 0."""
    operands, arrow, result = spec.partition("->")
    parts = operands.split(",")
    if len(parts) != len(ranks):
        raise ImportFailure(f"expects an einsum of {len(ranks)} tensors but got {spec}")
    widest = 0
    for i, (part, rank) in enumerate(zip(parts, ranks)):
        rest = rank - len(part.replace("...", ""))
        if rest < 0 or (rest > 0 and "..." not in part):
            raise ImportFailure(f"expects a letter of {spec} for each dimension but got a tensor "
                                f"of {rank} dimensions")
        if "..." in part:
            widest = max(widest, rest)
            parts[i] = part.replace("...", dots(rest))
    if not arrow:
        letters = "".join(parts)
        result = dots(widest) + "".join(sorted(letter for letter in set(letters)
                                               if letter.isalpha() and letters.count(letter) == 1))
    return parts, result.replace("...", dots(widest))


def dots(count: int) -> str:
    return "".join(map(str, reversed(range(count))))


def take_diagonals(importer: Importer, term: Term) -> Term:
    """Leaves one dimension of those with the same letter: their diagonal."""
    letters, x = term
    graph = importer.graph
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            size = x.shape[first]
            if x.shape[second] != size:
                raise ImportFailure(f"expects one size of a letter but got {size} and "
                                    f"{x.shape[second]}")
            count = graph.op(f"nn.iota : tensor<{size}xi32>", (size,), "i32")
            is_equal = graph.compare("eq", graph.broadcast(count, x.shape, [first]),
                                     graph.broadcast(count, x.shape, [second]))
            zero = graph.constant(0, x.shape, x.element)
            x = graph.reduce("sum", graph.select(is_equal, x, zero), [second])
            letters = letters[:second] + letters[second + 1:]
    return letters, x


def sum_apart(importer: Importer, term: Term, kept: str) -> Term:
    """Sums over the letters that are not kept."""
    letters, x = term
    dims = [i for i, letter in enumerate(letters) if letter not in kept]
    if not dims:
        return term
    return "".join(letter for letter in letters if letter in kept), \
        importer.graph.reduce("sum", x, dims)


def drop_ones(importer: Importer, term: Term, sizes: dict[str, int]) -> Term:
    """Leaves out the dimensions of `...` that are repeated for other tensors."""
    letters, x = term
    kept = [i for i, letter in enumerate(letters) if x.shape[i] == sizes[letter]]
    if any(letters[i].isalpha() for i in range(len(letters)) if i not in kept):
        raise ImportFailure("expects one size of each letter")
    return "".join(letters[i] for i in kept), \
        importer.graph.reshape(x, [x.shape[i] for i in kept])


def multiply(importer: Importer, left: Term, right: Term, kept: str) -> Term:
    """The product of two tensors, with the kept letters in their order, summed over the others."""
    left = sum_apart(importer, left, kept + right[0])
    right = sum_apart(importer, right, kept + left[0])
    found = left[0] + right[0]
    result = "".join(letter for letter in dict.fromkeys(kept) if letter in found)
    free = (letter for letter in LETTERS if letter not in found)
    names = {letter: letter if letter in LETTERS else next(free) for letter in dict.fromkeys(found)}
    specs = ["".join(names[letter] for letter in part) for part in (left[0], right[0], result)]
    return result, importer.graph.einsum(*specs, left[1], right[1])


@handles("Einsum")
def convert_einsum(importer: Importer, node: Any) -> Value:
    spec = str(attribute(node, "equation")).replace(" ", "")
    values = [importer.value(item) for item in node.input]
    if any(not x.is_float for x in values):
        raise ImportFailure("expects an einsum of floats")
    parts, result = spread_dots(spec, [len(x.shape) for x in values])
    if not set(result) <= set("".join(parts)) or len(set(result)) < len(result):
        raise ImportFailure(f"expects each letter of the result once, and in a tensor, but got "
                            f"{spec}")
    sizes: dict[str, int] = {}
    for part, x in zip(parts, values):
        for letter, size in zip(part, x.shape):
            sizes[letter] = max(size, sizes.get(letter, 1))
    terms = [drop_ones(importer, take_diagonals(importer, term), sizes)
             for term in zip(parts, values)]
    first, *rest = terms
    for i, term in enumerate(rest):
        later = "".join(letters for letters, _ in rest[i + 1:])
        first = multiply(importer, first, term, result + later)
    letters, x = sum_apart(importer, first, result)
    return importer.graph.transpose(x, [letters.index(letter) for letter in result])
