"""Gives the C API what it must refuse, and prints its errors."""

import ctypes
import os
import sys

import partition
from partition import Handle, Result, Text

KINDS = ctypes.c_int(0)


def refused(call):
    try:
        call()
    except RuntimeError as error:
        print(error)
        return
    print("taken:", call)


def sharding(session, dimensions, replicated=(), unreduced=(), reduction=KINDS):
    arrays = [(Handle * len(part))(*part) for part in (dimensions, replicated, unreduced)]
    sizes = [ctypes.c_ssize_t(len(part)) for part in arrays]
    return session.library.checked("tesseraShardingGet", session.context, Text.of("mesh"),
                                   sizes[0], arrays[0], sizes[1], arrays[1], sizes[2], arrays[2],
                                   reduction)


def axis(session, name, pre_size=1, size=0):
    return session.library.checked("tesseraAxisGet", session.context, Text.of(name),
                                   ctypes.c_int64(pre_size), ctypes.c_int64(size))


def dimension(session, *axes):
    return session.library.checked("tesseraDimShardingGet", session.context,
                                   ctypes.c_ssize_t(len(axes)), (Handle * len(axes))(*axes),
                                   ctypes.c_bool(False))


def main(path, folder):
    library = partition.Library(path)
    refused(lambda: library.checked("tesseraCheckAbiVersion", ctypes.c_int(2), result=Result))
    session, other = partition.Session(library), partition.Session(library)
    x = axis(session, "x")
    refused(lambda: axis(session, "x", 1, 1))
    refused(lambda: dimension(session, x, Handle()))
    refused(lambda: dimension(session, axis(other, "x")))
    refused(lambda: dimension(session, dimension(session, x)))
    refused(lambda: sharding(session, [dimension(session, x), dimension(session, x)]))
    refused(lambda: sharding(session, [x]))
    refused(lambda: sharding(session, [dimension(session)], reduction=ctypes.c_int(7)))
    refused(lambda: library.checked("tesseraAxisGet", Handle(), Text.of("x"), ctypes.c_int64(1),
                                    ctypes.c_int64(0)))

    # Readers take any attribute, null too.
    for attribute in (Handle(), dimension(session, x)):
        assert not library.call("tesseraAttributeIsSharding", attribute, result=ctypes.c_bool)
        assert library.call("tesseraShardingGetNumDimensions", attribute,
                            result=ctypes.c_ssize_t) == -1
        assert not library.call("tesseraShardingGetDimension", attribute, ctypes.c_ssize_t(0),
                                result=Handle).ptr
    whole = sharding(session, [dimension(session, axis(session, "y", 2, 4)), dimension(session)],
                     [x], [axis(session, "z")], ctypes.c_int(1))
    print(library.collect("mlirAttributePrint", whole))
    first = library.call("tesseraShardingGetDimension", whole, ctypes.c_ssize_t(0), result=Handle)
    part = library.call("tesseraDimShardingGetAxis", first, ctypes.c_ssize_t(0), result=Handle)
    print(partition.read(library.call("tesseraAxisGetName", part, result=Text)),
          library.call("tesseraAxisGetPreSize", part, result=ctypes.c_int64),
          library.call("tesseraAxisGetSize", part, result=ctypes.c_int64),
          library.call("tesseraShardingGetNumReplicated", whole, result=ctypes.c_ssize_t),
          library.call("tesseraShardingGetNumUnreduced", whole, result=ctypes.c_ssize_t),
          library.call("tesseraShardingGetReduction", whole, result=ctypes.c_int))
    assert not library.call("tesseraDimShardingGetAxis", first, ctypes.c_ssize_t(1),
                            result=Handle).ptr

    refused(lambda: session.model("tiny-gtp2", 1, 1))
    refused(lambda: session.model("tiny-gpt2", 0, 1))
    refused(lambda: session.write(Handle(), folder + "/program"))
    step = session.model("tiny-gpt2", 1, 4)
    refused(lambda: session.write(step, folder + "/program"))
    assert session.run(step, "builtin.module(compile-to{llvm})"), session.diagnostics
    refused(lambda: session.write(step, folder + "/absent/program"))
    refused(lambda: library.checked("tesseraWriteExecutable", step, Text.of("i286"), Text.of(""),
                                    Text.of(folder + "/program"), result=Result))
    os.environ["PATH"] = folder
    driven = os.path.join(os.path.dirname(path), "libtessera_rt_host.a")
    refused(lambda: library.checked("tesseraWriteExecutable", step, Text.of(""), Text.of(driven),
                                    Text.of(folder + "/program"), result=Result))
    assert not os.path.exists(folder + "/program")


main(*sys.argv[1:])
