"""The parts of ./dev gpu that compare results. Each takes a Session of gpu.py."""

import json
import os
import pathlib
import shutil
import signal
import sys
import time

import cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "nodes"))
import starters
from nodes import Nodes, Unavailable


def run_checks(session, name):
    """Runs a prepared program of checks and times, and emits its lines."""
    program = session.folder / "programs" / name
    if not program.exists():
        return session.emit(skipped=f"{name} was not prepared")
    flags = ["--emulated"] if session.options.device == "cpu" else ["--times"]
    status, out, err = session.run([program, *flags])
    for line in out.splitlines():
        session.emit(**json.loads(line))
    if status:
        session.emit(good=False, status=status, error=err.strip()[-2000:])


def kernels(session):
    """Compares every hand-written kernel on the device with the host's code."""
    run_checks(session, "gpu_kernels")


def matmuls(session):
    """Compares matmuls with epilogues, in the library and apart, with f64."""
    run_checks(session, "gpu_products")


def experts(session):
    """Compares the kernels of experts with the host's code, and times them beside cuBLASLt."""
    run_checks(session, "gpu_experts")


def read_steps(text):
    steps = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [e for e in steps if e.get("event") == "step"]


def run_steps(session, program, *flags, steps=cases.CURVE_STEPS, text="text", limit=None):
    """Losses and norms of a run on a text; None, with a line, if it fails."""
    status, out, err = session.run(
        [program, "--data", session.folder / text, "--steps", steps, "--log=jsonl", *flags],
        limit)
    found = read_steps(out)
    if status or len(found) != steps:
        session.emit(case=program.name, good=False, status=status, steps=len(found),
                     error=err.strip()[-2000:])
        return None
    return {"loss": [e["loss"] for e in found], "grad_norm": [e["grad_norm"] for e in found]}


def difference(ours, theirs):
    """The largest relative difference; infinite if a value is None or the counts differ."""
    if any(x is None for x in [*ours, *theirs]) or len(ours) != len(theirs):
        return float("inf")
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(ours, theirs))


def torch_curve(session, model, precision):
    """PyTorch's losses from the same weights; None if there are none."""
    if model not in cases.TORCH_MODELS or precision == "fp8":
        return None
    config = pathlib.Path(__file__).resolve().parent.parent.parent / "share" / "models"
    return session.torch("curve", "--config", config / f"{model}.json", "--weights",
                         session.folder / "weights" / model, "--data", session.folder / "text",
                         "--precision", precision, "--batch", cases.CURVE_BATCH, "--seq",
                         cases.CURVE_SEQ, "--steps", cases.CURVE_STEPS, limit=90)


def curves(session):
    """Checks that f32 is within 1e-4 of the host, bf16 within 2 % of PyTorch, and fp8 within 2 % of
    the host's f32, and that the losses of bf16 and fp8 fall by 1."""
    host = json.loads((session.folder / "host.json").read_text())
    for model in cases.CURVES:
        for precision in cases.precisions(model):
            program = session.wanted(f"{model}-{precision}")
            got = program and run_steps(session, program)
            if not got:
                continue
            theirs = torch_curve(session, model, precision)
            line = {"case": f"{model}-{precision}", "first_loss": got["loss"][0],
                    "last_loss": got["loss"][-1],
                    "host_difference": difference(got["loss"], host[model]["loss"])}
            if theirs:
                line["torch"] = theirs["torch"]
                line["torch_difference"] = difference(got["loss"], theirs["loss"])
            if precision == "f32":
                good = line["host_difference"] <= 1e-4
            else:
                against = "torch_difference" if precision == "bf16" else "host_difference"
                good = (line.get(against, float("inf")) <= 0.02
                        and got["loss"][0] - got["loss"][-1] >= 1.0)
            session.emit(**line, good=good, loss=got["loss"])


def ranks(session):
    """Compares programs of several ranks, all on one device, with the host's one rank."""
    host = json.loads((session.folder / "host.json").read_text())
    for plan, (models, count, options) in cases.RANK_PLANS.items():
        for model in models:
            program = session.wanted(f"{model}-{plan}")
            got = program and run_steps(session, program, f"--simulate-ranks={count}")
            if not got:
                continue
            worst = {key: difference(got[key], host[model][key]) for key in got}
            session.emit(case=program.name, ranks=count, options=" ".join(options),
                         loss_difference=worst["loss"], norm_difference=worst["grad_norm"],
                         good=max(worst.values()) <= cases.RANK_TOLERANCE)


def nccl(session):
    """Compares the losses of two processes over NCCL, or prints NCCL's refusal."""
    if session.options.device != "cuda":
        return session.emit(skipped="NCCL needs a GPU")
    host = json.loads((session.folder / "host.json").read_text())
    for plan, (models, count, _) in cases.RANK_PLANS.items():
        program = session.program(f"{models[0]}-{plan}")[0] if count == 2 else None
        if program is None:
            continue
        status, out, err = session.run(
            [program, "--ranks=2", "--share-device", "--timeout=30", "--data",
             session.folder / "text", "--steps", cases.CURVE_STEPS, "--log=jsonl"], 60)
        losses = [e["loss"] for e in read_steps(out)]
        if status or len(losses) != cases.CURVE_STEPS:
            session.emit(case=program.name, skipped="NCCL refused", status=status,
                         error=err.strip()[-2000:])
            continue
        worst = difference(losses, host[models[0]]["loss"])
        session.emit(case=program.name, loss_difference=worst,
                     good=worst <= cases.RANK_TOLERANCE)


def start_on_nodes(session, nodes, program, steps):
    """The processes of a program of two ranks, one on each node."""
    folder = session.scratch / "rendezvous"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = [program, "--share-device", "--timeout=30", "--data", session.folder / "text",
             "--steps", steps, "--log=jsonl", "--rendezvous", folder]
    return starters.by_hand(nodes, 1, [str(word) for word in words], {})


def end_on_nodes(session, processes):
    """Waits for processes within the part's time: their exit statuses, the steps of the first, and
    what all have written as errors. None, with a line, if they do not end, which are then killed."""
    try:
        statuses, _ = starters.finish(processes, max(1, session.left()))
    except TimeoutError as error:
        for process in processes:
            process.node.kill_all()
        return session.emit(good=False, error=str(error)[-2000:])
    return statuses, read_steps(processes[0].output()), "".join(p.errors() for p in processes)


def lose_rank(session, nodes, program):
    """Kills a rank during its steps; the other node has to name it."""
    processes = start_on_nodes(session, nodes, program, 1000000)
    while session.left() > 20 and processes[0].poll() is None:
        if len(read_steps(processes[0].output().rpartition("\n")[0])) >= 3:
            break
        time.sleep(0.1)
    processes[1].kill()
    begin = time.monotonic()
    ended = end_on_nodes(session, processes)
    if ended:
        statuses, steps, text = ended
        named = [line for line in text.splitlines() if "rank 1" in line or "node 1" in line]
        session.emit(case="a killed rank", steps=len(steps), said=named,
                     end_seconds=round(time.monotonic() - begin, 1), statuses=statuses,
                     good=len(steps) >= 3 and bool(named) and statuses == [-signal.SIGKILL, 75])


def nodes(session):
    """Compares the losses of two nodes of one process each with one rank on the host, and kills a
    rank. The programs gather, scatter, reduce, exchange, pass on a ring and send between stages."""
    host = json.loads((session.folder / "host.json").read_text())
    try:
        with Nodes(2) as machines:
            for plan, (models, count, _) in cases.RANK_PLANS.items():
                program = session.program(f"{models[0]}-{plan}")[0] if count == 2 else None
                ended = program and end_on_nodes(
                    session, start_on_nodes(session, machines, program, cases.CURVE_STEPS))
                if not ended:
                    continue
                statuses, steps, text = ended
                if "ZeroMQ (" in text or "NCCL 2" in text:
                    session.emit(case=program.name, skipped=text.strip()[-2000:])
                    continue
                worst = difference([e["loss"] for e in steps], host[models[0]]["loss"])
                session.emit(case=program.name, loss_difference=worst, statuses=statuses,
                             good=statuses == [0] and worst <= cases.RANK_TOLERANCE,
                             **({} if statuses == [0] else {"error": text.strip()[-2000:]}))
            program = session.program(f"{cases.TORCH_MODELS[0]}-ranks2")[0]
            if program:
                lose_rank(session, machines, program)
    except Unavailable as error:
        session.emit(skipped=f"this machine has no namespaces: {error}")


def find_tool(name):
    for folder in os.environ.get("PATH", "").split(":") + ["/usr/local/cuda/bin"]:
        if shutil.which(name, path=folder):
            return shutil.which(name, path=folder)
    found = sorted(pathlib.Path("/opt/nvidia").glob(f"**/{name}"))
    return str(found[0]) if found else None


def sanitizer(session):
    """Runs memcheck and racecheck over two steps, with every call enqueued anew."""
    tool = find_tool("compute-sanitizer")
    if session.options.device != "cuda" or not tool:
        return session.emit(skipped="there is no compute-sanitizer" if not tool
                            else "compute-sanitizer needs a GPU")
    for name in ("tiny-gpt2-f32", "tiny-gpt2-bf16"):
        program, _ = session.program(name)
        if program is None:
            continue
        for check in ("memcheck", "racecheck"):
            status, out, err = session.run(
                [tool, "--tool", check, "--error-exitcode", 9, "--target-processes", "all",
                 program, "--data", session.folder / "text", "--steps", 2, "--no-graph",
                 "--tune=off", "--quiet"], 100)
            text = out + err
            summary = [l for l in text.splitlines() if "SUMMARY" in l]
            if "not supported" in text or "error 999" in text:
                session.emit(case=name, tool=check, skipped=text.strip()[-500:])
                continue
            session.emit(case=name, tool=check, status=status, summary=summary[-1:],
                         good=status == 0, **({} if status == 0 else {"error": text[-2000:]}))
