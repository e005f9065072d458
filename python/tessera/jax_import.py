"""Prints JAX functions and StableHLO files in MLIR's generic form.

jaxlib reads pretty text, bytecode and portable artifacts of any version; the pass stablehlo-to-nn
converts the ops."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import tempfile
from typing import Any, Callable, Iterator, NoReturn, Sequence

from .errors import ImportFailure, find_line, first_line
from .jax_gradients import (check_devices, check_gradients, check_ops, check_state,
                            has_own_bounds, source_of)

BYTECODE = b"ML\xefR"


def make_context() -> Any:
    """An MLIR context that knows JAX's dialects."""
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError as error:
        raise ImportFailure(f"expects jax and jaxlib, which read StableHLO: {error}") from None
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    context.load_all_available_dialects()
    return context


def print_generic(module: Any) -> str:
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


def read_file(path: pathlib.Path) -> str:
    """Reads the module of a file: text, bytecode, or a portable artifact."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportFailure(f"{path}: {error.strerror}") from None
    context = make_context()
    with tempfile.TemporaryFile() as result:
        process = os.fork()
        if process == 0:
            parse_apart(context, content, result.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        result.seek(0)
        text = result.read().decode()
    if status == 0:
        return text
    raise ImportFailure(f"{path}: {text}" if status > 0 else
                        f"{path}: expects a module that jaxlib's parser takes, which crashed")


def parse_apart(context: Any, content: bytes, result: int) -> NoReturn:
    """Writes a module in MLIR's generic form, or the error, to a file, and ends this process: the
    parser may crash, and it also prints its errors itself."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        text = parse(context, content)
        status = 0
    except ImportFailure as error:
        text = str(error)
    except BaseException as error:
        text = f"{type(error).__name__}: {first_line(error)}"
    with open(result, "wb", closefd=False) as file:
        file.write(text.encode())
    os._exit(status)


def parse(context: Any, content: bytes) -> str:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    with context:
        try:
            if content.startswith(BYTECODE):
                return print_generic(stablehlo.deserialize_portable_artifact(context, content))
        except Exception:  # It is bytecode of another kind.
            pass
        try:
            return print_generic(ir.Module.parse(content))
        except Exception as error:
            lines = str(error).strip().splitlines()
            raise ImportFailure(lines[min(1, len(lines) - 1)].strip()) from None


@contextlib.contextmanager
def chosen_bounds() -> Iterator[None]:
    """Replaces jax.nn.relu and relu6 by selects: by jax's rules no gradient passes at a bound,
    while the maximum and the minimum that define them pass half of one."""
    import jax
    from jax import numpy as jnp

    def relu(x: Any) -> Any:
        return jnp.where(x <= 0, jnp.zeros_like(x), x)

    def relu6(x: Any) -> Any:
        return jnp.where(x <= 0, 0.0, jnp.where(x >= 6, 6.0, x))
    given = {jax.nn.relu: relu, jax.nn.relu6: relu6}
    own = {function: function.fun for function in given}
    try:
        for function, choice in given.items():
            function.fun = jax.jit(choice)
        yield
    finally:
        for function, ops in own.items():
            function.fun = ops


def hold_constants(function: Callable[..., Any], arguments: Sequence[Any]
                   ) -> tuple[Callable[..., Any], list[Any]]:
    """A function of the arrays of its arguments. A tree with leaves that jax does not trace
    (functions, strings) or with booleans, such as a module of equinox, has its arrays alone as an
    argument; its other leaves, numbers too, are constants."""
    import jax
    flat = [jax.tree_util.tree_flatten(argument) for argument in arguments]
    is_held = [not jax.tree_util.treedef_is_leaf(tree) and any(map(is_constant, leaves))
               for leaves, tree in flat]
    if not any(is_held):
        return function, list(arguments)

    @functools.wraps(function)
    def of_arrays(*given: Any) -> Any:
        whole = list(given)
        for i, (leaves, tree) in enumerate(flat):
            if is_held[i]:
                arrays = iter(jax.tree_util.tree_leaves(given[i]))
                whole[i] = tree.unflatten(next(arrays) if hasattr(leaf, "dtype") else leaf
                                          for leaf in leaves)
        return function(*whole)
    return of_arrays, [tree.unflatten(leaf if hasattr(leaf, "dtype") else None for leaf in leaves)
                       if held else argument
                       for argument, (leaves, tree), held in zip(arguments, flat, is_held)]


def is_constant(leaf: Any) -> bool:
    """True for a leaf of a tree that is no number and no array."""
    return isinstance(leaf, bool) or not (hasattr(leaf, "dtype")
                                          or isinstance(leaf, (int, float, complex)))


def read_function(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """The module of a function at these arguments: arrays, or shapes and types."""
    import jax

    from . import jax_experts
    try:
        with chosen_bounds():
            trace = jax.make_jaxpr(function, return_shape=True)
            closed, result = trace(*arguments)
            if has_own_bounds(closed.jaxpr):
                # JAX traced the function before, with its own relu.
                jax.clear_caches()
                closed, result = trace(*arguments)
            if not closed.jaxpr.outvars:
                raise ImportFailure(f"{source_of(closed)}: expects a function with a result")
            check_devices(arguments, source_of(closed))
            check_ops(closed)
            check_gradients(closed)
            check_state(closed, arguments, result)
            whole = jax_experts.raise_experts(function, closed, result)
            lowered = jax.jit(whole, keep_unused=True).lower(*arguments)
            return print_generic(lowered.compiler_ir("stablehlo"))
    except ImportFailure:
        raise
    except Exception as error:
        where = find_line(error, jax) or getattr(function, "__name__", type(function).__name__)
        raise ImportFailure(f"{where}: expects a function that jax takes: "
                            f"{first_line(error)}") from None
