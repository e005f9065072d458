"""Compiles two modules at once by the C API. The process handles the same signals before, during
and after each call, each thread blocks the same ones, and nothing but this script's line comes
out."""

import sys
import threading

import partition

FIELDS = ("SigBlk", "SigCgt", "SigIgn")


def signals(task="self"):
    with open(f"/proc/{task}/status") as status:
        return [line for line in status if line.startswith(FIELDS)]


def compile_one(library, strategy, path, threads):
    before = signals("thread-self")
    threads[strategy] = threading.get_native_id()
    session = partition.Session(library)
    module = session.model("tiny-gpt2", 4, 16)
    assert session.run(module, "builtin.module(compile-to{llvm mesh=dp=2,tp=2 strategy=" +
                       strategy + " training=optimizer=sgd})"), session.diagnostics
    session.write(module, path)
    assert signals("thread-self") == before
    del threads[strategy]


def main(path, folder):
    # The C library handles a signal of its own from the first thread on.
    first = threading.Thread()
    first.start()
    first.join()
    start = signals()
    threads, seen = {}, 0
    library = partition.Library(path)
    workers = [threading.Thread(target=compile_one, args=(library, strategy,
                                                          f"{folder}/{strategy}", threads))
               for strategy in ("dp,tp", "dp,tp,sp")]
    for worker in workers:
        worker.start()
    both = False
    while any(worker.is_alive() for worker in workers):
        both = both or len(threads) == 2
        for thread in list(threads.values()):
            try:
                # Its mask is the C library's while that starts a process.
                assert signals(f"self/task/{thread}")[1:] == start[1:]
                assert signals() == start
                seen += 1
            except (FileNotFoundError, ProcessLookupError):  # it has ended, before or in the read
                pass
    assert both and seen > 10, (both, seen)
    assert signals() == start
    assert sorted(threads) == []
    print("signals are the same")


main(*sys.argv[1:])
