"""The parts of ./dev gpu that measure times. Each takes a Session of gpu.py."""

import csv
import json
import shutil
import statistics
import subprocess

import cases
import parts

# PyTorch's ways to run a model: torch.compile's mode or eager, and the attention backend.
MODES = {"max-autotune": ("max-autotune", "default"),
         "max-autotune-cudnn": ("max-autotune", "cudnn"),
         "compile": ("default", "default"),
         "eager": ("eager", "default")}


def device_state():
    """The current clocks and power."""
    if not shutil.which("nvidia-smi"):
        return None
    query = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
    result = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return result.stdout.strip()


def run_ours(session, program, steps):
    """The JSON report of a run on random tokens; None, with a line, if it fails."""
    status, out, err = session.run([program, "--random-data", "--steps", steps, "--quiet",
                                    "--report", "json"], 240)
    if status:
        session.emit(case=program.name, good=False, status=status, error=err.strip()[-2000:])
        return None
    return json.loads(out.splitlines()[-1])


def run_torch(session, facts, steps, mode, attention):
    return session.torch("speed", "--config", session.folder / facts["config"], "--precision",
                         "bf16", "--batch", facts["batch"], "--seq", facts["seq"], "--steps",
                         steps, "--repeats", session.options.repeats, "--compile", mode,
                         "--attention", attention, "--constant-lr", "--lr", 1e-4, limit=300)


def losses(session):
    """Compares the losses of both sides, from the same weights on the same text for five steps."""
    name = cases.FIRST_SPEED
    program, facts = session.program(name)
    if program is None:
        return
    weights = session.scratch / "weights"
    ours = parts.run_steps(session, program, "--save-initial", weights, steps=5,
                           text="long-text")
    theirs = ours and session.torch(
        "curve", "--config", session.folder / facts["config"], "--weights", weights, "--data",
        session.folder / "long-text", "--precision", "bf16", "--batch", facts["batch"], "--seq",
        facts["seq"], "--steps", 5, "--constant-lr", "--lr", 1e-4)
    if theirs:
        worst = parts.difference(ours["loss"], theirs["loss"])
        session.emit(case=name, losses=ours["loss"], torch_losses=theirs["loss"],
                     difference=worst, good=worst <= 0.02)


def peak_of(session):
    name = session.machine.get("name", "")
    return next((peak for key, peak in cases.PEAKS.items() if key in name), None)


# Names of MatmulSplit: how much of an epilogue the library computes.
SPLITS = ["whole", "sums apart", "apart"]


def read_matmuls(text, peak):
    """The matmuls of a tune file, the slowest first: time, the chosen split, the times of the other
    splits, and the time of their operations at the device's peak."""
    rows = []
    for entry in json.loads(text.splitlines()[0])["matmuls"]:
        # The key begins with the fields of tessera_rt_matmul_desc.
        batch, m, n, k = entry["key"][2:6]
        times = dict(zip(SPLITS, entry["by_split"]))
        rows.append({"matmul": entry["what"], "us": entry["microseconds"],
                     "way": SPLITS[entry["split"]],
                     "ways_us": {way: us for way, us in times.items() if us},
                     "floor_us": 2e6 * batch * m * n * k / peak if peak else None})
    return sorted(rows, key=lambda row: -row["us"])


def matmuls_of(session, name, program):
    """Prints the choices that a program's first run made for its matmuls."""
    tuned = program.with_name(program.name + ".tune")
    if tuned.exists():
        for row in read_matmuls(tuned.read_text(), peak_of(session))[:40]:
            session.emit(case=name, **row)


def by_kernels(session, name, steps):
    """Seconds of a step whose epilogues are all separate kernels."""
    program, _ = session.program(f"{name}-kernels")
    if program is None or not run_ours(session, program, 2):
        return None
    report = run_ours(session, program, steps + 5)
    return report and statistics.median(report["step_seconds"][5:])


def speed(session):
    """Tokens per second of ours and of the best of PyTorch's modes; runs alternate."""
    for name in session.options.only or cases.SPEED:
        program, facts = session.program(name)
        if program is None:
            continue
        before, steps = device_state(), cases.STEPS[name]
        # The first run finds the fastest matmuls and stores them.
        first = run_ours(session, program, 2)
        if not first:
            continue
        matmuls_of(session, name, program)
        reports = [run_ours(session, program, steps + 5)
                   for _ in range(session.options.repeats)]
        theirs = {}
        for mode, attention in (MODES[m] for m in session.options.torch_modes):
            if session.left() > 60:
                theirs[f"{mode}, {attention} attention"] = run_torch(session, facts, steps, mode,
                                                                     attention)
        medians = [statistics.median(r["step_seconds"][5:]) for r in reports if r]
        rivals = {m: min(r["seconds"]) for m, r in theirs.items() if r}
        if not medians:
            continue
        seconds, tokens = statistics.median(medians), facts["batch"] * facts["seq"]
        report = next(r for r in reports if r)
        line = {"case": name, "ms": seconds * 1e3, "repeat_ms": [m * 1e3 for m in medians],
                "tokens_per_second": tokens / seconds, "memory": report["memory"],
                "device": report.get("device"), "compile_seconds": facts["compile_seconds"],
                "time_to_first_step": first["init_seconds"] + first["step_seconds"][0],
                "time_to_first_step_tuned": report["init_seconds"] + report["step_seconds"][0],
                "state_before": before, "state_after": device_state()}
        if name == cases.FIRST_SPEED and (kernels := by_kernels(session, name, steps)):
            line["without_epilogues_ms"] = kernels * 1e3
        if rivals:
            mode = min(rivals, key=rivals.get)
            rival, peak = theirs[mode], peak_of(session)
            line.update({
                "torch": rival["torch"], "torch_mode": mode, "torch_ms": rivals[mode] * 1e3,
                "torch_all_ms": {m: s * 1e3 for m, s in rivals.items()},
                "ratio": rivals[mode] / seconds,
                "torch_peak_bytes": min(r["peak_bytes"] or 0 for r in theirs.values() if r),
                "torch_time_to_first_step": rival["first_step_seconds"],
                "operations": rival["operations"],
                "mfu": rival["operations"] / seconds / peak if peak else None,
                "torch_mfu": rival["operations"] / rivals[mode] / peak if peak else None})
        session.emit(**line)


def devices_of(session):
    """The number of devices of this machine."""
    if session.options.device != "cuda":
        return 1
    result = subprocess.run(["nvidia-smi", "-L"], text=True, stdout=subprocess.PIPE)
    return sum(line.startswith("GPU") for line in result.stdout.splitlines())


def context(session):
    """Operations per second and device of attention with context parallelism, relative to one
    device alone. With too few devices, one device runs all ranks in turn: that is the time of their
    kernels and of copies in place of transfers."""
    devices, alone = devices_of(session), None
    names = ["context-1"] + [f"context-{method}-{ranks}" for ranks in cases.CONTEXT_RANKS
                             for method in cases.CONTEXT_METHODS]
    for name in names:
        if name != "context-1" and session.options.only and name not in session.options.only:
            continue
        program, facts = session.program(name)
        if program is None:
            continue
        ranks = facts["ranks"]
        simulated = 1 < ranks and devices < ranks
        if simulated and ranks > cases.CONTEXT_MOST_PLAYED:
            session.emit(case=name, skipped=f"needs {ranks} devices")
            continue
        flags = [] if ranks == 1 else [f"--{'simulate-' if simulated else ''}ranks={ranks}"]
        status, out, err = session.run([program, "--steps", 8, "--report", "json", *flags])
        if status:
            session.emit(case=name, good=False, status=status, error=err.strip()[-2000:])
            continue
        report = json.loads(out.splitlines()[-1])
        seconds = statistics.median(report["step_seconds"][3:])
        rate = cases.context_operations(facts["tokens"]) / seconds / (1 if simulated else ranks)
        if ranks == 1:
            alone = rate
        session.emit(case=name, ranks=ranks, tokens=facts["tokens"], one_device_plays=simulated,
                     ms=seconds * 1e3, operations_per_second_and_device=rate,
                     of_one_device=rate / alone if alone else None, attention=report["device"]["attention"],
                     remarks=[line for line in err.splitlines() if "kernels: " in line])


METRICS = {"seconds": "gpu__time_duration.sum", "bytes": "dram__bytes.sum",
           "operations": "sm__ops_path_tensor_src_bf16_dst_fp32.sum"}


def read_kernels(text):
    """Per kernel of a profile: calls, seconds, bytes, tensor operations."""
    rows = csv.reader(line for line in text.splitlines() if line.startswith('"'))
    header = next(rows, None)
    units = next(rows, None)
    if not header or not units:
        return {}
    column = {key: header.index(metric) for key, metric in METRICS.items() if metric in header}
    scales = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "nsecond": 1e-9, "usecond": 1e-6,
              "msecond": 1e-3, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
    kernels = {}
    for row in rows:
        entry = kernels.setdefault(row[header.index("Kernel Name")],
                                   {"calls": 0, "seconds": 0.0, "bytes": 0.0, "operations": 0.0})
        entry["calls"] += 1
        for key, index in column.items():
            if row[index]:
                entry[key] += float(row[index].replace(",", "")) * scales.get(units[index], 1.0)
    return kernels


def floors(session):
    """Profiles one step of each case with ncu. Compares the time of each kernel with its bytes over
    the copy rate and its operations over the rate of matmuls, both measured here."""
    tool = parts.find_tool("ncu")
    if session.options.device != "cuda" or not tool:
        return session.emit(skipped="there is no ncu" if not tool else "needs a GPU")
    rates = session.torch("rates", limit=60)
    if not rates:
        return
    session.emit(**rates)
    for name in session.options.only or cases.FLOORS:
        floors_of(session, name, tool, rates)


def floors_of(session, name, tool, rates):
    program, _ = session.program(name)
    # Otherwise the trials of the first run would be profiled, too.
    if program is None or not run_ours(session, program, 2):
        return
    status, out, err = session.run(
        [tool, "--csv", "--page", "raw", "--metrics", ",".join(METRICS.values()),
         "--clock-control", "none", "--target-processes", "all", program, "--random-data",
         "--steps", 1, "--no-graph", "--quiet"])
    kernels = read_kernels(out)
    if not kernels:
        return session.emit(case=name, skipped=f"ncu gave nothing, status {status}: "
                                               f"{err.strip()[-800:]}")
    rows = []
    for kernel, k in kernels.items():
        floor = max(k["bytes"] / rates["copy_bytes_per_second"],
                    k["operations"] / rates["bf16_operations_per_second"])
        rows.append({"kernel": kernel[:120], **k, "floor": floor, "gap": k["seconds"] - floor})
    rows.sort(key=lambda row: -row["gap"])
    for row in rows[:40]:
        session.emit(case=name, **row)
    session.emit(case=name, kernels=len(rows), seconds_in_kernels=sum(r["seconds"] for r in rows),
                 largest_gaps=[r["kernel"] for r in rows[:3]])
