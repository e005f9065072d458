"""Checks rings, schedules and exercises of a document by their own rules. Arguments: ring,
pipeline or exercises, the document."""

import collections
import json
import sys


def column(table, name):
    return next(each for each in table["columns"] if each["name"] == name)


def cells_of(each):
    """The numbers of a column, and texts where there are none."""
    if "packed" in each:
        return [value / 10 ** each["digits"] for value in each["packed"]]
    values = each.get("value", [None] * len(each["text"]))
    return [text if value is None else value for value, text in zip(values, each["text"])]


def check_ring(tables):
    bytes_of = tables["bytes"]
    faults = []
    for ranks, sent, elements in zip(*(column(bytes_of, name)["value"] for name in (
            "ranks", "GB sent by a rank", "elements sent by all"))):
        if abs(sent - 4 * 2 * (ranks - 1) / ranks) > 1e-9 or elements != 2 * (ranks - 1) * 1009:
            faults.append(f"{ranks} ranks send {sent} GB and {elements} elements")
    count = len(column(bytes_of, "ranks")["text"])
    steps = tables["steps"]["columns"]
    ranks = len(steps) - 2
    for chunk, cells in enumerate(steps[2:]):
        right = str(sum(10 * (rank + 1) + chunk for rank in range(ranks)))
        if any(text != right for text in cells["text"][-ranks:]):
            faults.append(f"chunk {chunk} ends as {cells['text'][-ranks:]}, not {right}")
        if not all(text.startswith("\u03a3") for text in cells["text"][:ranks]):
            faults.append(f"chunk {chunk} begins complete")
    return faults, f"{count} rings send what they must; the sums of {ranks} ranks are right"


def path_of(schedule, rank, chunk, micro, ranks, count):
    """The stage that a chunk of a rank is for a micro-batch, and the number of stages."""
    if schedule == "dualpipe":
        return (rank if micro < count // 2 else ranks - 1 - rank), ranks
    if schedule in ("zb-v", "dualpipe-v"):
        return (rank if chunk == 0 else 2 * ranks - 1 - rank), 2 * ranks
    return chunk * ranks + rank, ranks * (2 if schedule == "interleaved" else 1)


def check_schedule(schedule, rows, makespan):
    faults = []
    ranks = 1 + int(max(row["rank"] for row in rows))
    count = 1 + int(max(row["micro-batch"] for row in rows))
    ends, begins = {}, {}
    free = collections.defaultdict(float)
    for row in rows:
        if row["begin"] < free[row["rank"]] - 1e-9:
            faults.append(f"{schedule}: rank {row['rank']} does two things at {row['begin']}")
        free[row["rank"]] = row["end"]
        parts = [("F" if row["action"] == "F+BW" else row["action"], row["chunk"],
                  row["micro-batch"])]
        if row["action"] == "F+BW":
            parts.append(("BW", row["backward chunk"], row["backward micro-batch"]))
        for action, chunk, micro in parts:
            stage, stages = path_of(schedule, row["rank"], chunk, micro, ranks, count)
            for pass_ in ("B", "W") if action == "BW" else (action,):
                key = (pass_, stage, micro)
                if key in ends:
                    faults.append(f"{schedule}: {key} is there twice")
                begins[key], ends[key] = row["begin"], row["end"]
    if len(ends) != 3 * stages * count:
        faults.append(f"{schedule}: {len(ends)} passes, not {3 * stages * count}")
    for (pass_, stage, micro), begin in begins.items():
        if pass_ == "F":
            needs = [("F", stage - 1, micro)] if stage else []
        elif pass_ == "B":
            needs = [("F", stage, micro)] + ([("B", stage + 1, micro)] if stage + 1 < stages
                                             else [])
        else:
            needs = []
            if begin < begins[("B", stage, micro)] - 1e-9:
                faults.append(f"{schedule}: W of stage {stage} is before B")
        for need in needs:
            if ends[need] > begin + 1e-9:
                faults.append(f"{schedule}: {pass_} of stage {stage} begins before {need} ends")
    if abs(max(ends.values()) - makespan) > 1e-9:
        faults.append(f"{schedule}: ends at {max(ends.values())}, not {makespan}")
    return faults


def check_pipeline(tables):
    table = tables["pipeline"]
    names = [each["name"] for each in table["columns"]]
    columns = [cells_of(each) for each in table["columns"]]
    rows = [dict(zip(names, row)) for row in zip(*columns)]
    faults = []
    schedules = tables["schedules"]
    for schedule, makespan, bubble in zip(column(schedules, "schedule")["text"],
                                          column(schedules, "makespan")["value"],
                                          column(schedules, "bubble")["value"]):
        own = [row for row in rows if row["schedule"] == schedule]
        faults += check_schedule(schedule, own, makespan)
        spans = {rank: max(row["end"] for row in own if row["rank"] == rank) -
                 min(row["begin"] for row in own if row["rank"] == rank)
                 for rank in {row["rank"] for row in own}}
        busy = max(sum(row["end"] - row["begin"] for row in own if row["rank"] == rank)
                   for rank in spans)
        span = max(spans.values())
        if abs(100 * (span - busy) / span - bubble) > 1e-6:
            faults.append(f"{schedule}: bubble {bubble}, not {100 * (span - busy) / span}")
    return faults, f"{len(column(schedules, 'schedule')['text'])} schedules keep order"


# By the start of a question.
KNOWN = {"GB of state of 7e9": "112.00", "GB of it on each of 64 ranks under ZeRO-1": "29.31",
         "GB of it on each of 64 ranks under ZeRO-2": "15.53",
         "GB of it on each of 64 ranks under ZeRO-3": "1.75", "70e9 parameters on 128": "8.75",
         "The same with gradients in f32": "126.00", "A ring of 8": "7.00",
         "Steps of a ring of 8": "14", "64 devices, micro-batches": "512",
         "4 stages, 8 micro": "27.3", "4 stages, 12 micro": "20.0", "8 stages, 1 micro": "87.5",
         "Parameters of q, k and v": "12582912", "Days of one device": "1966",
         "The largest number of f16": "65504"}


def check_exercises(tables):
    table = tables["exercises"]
    answers = dict(zip(column(table, "question")["text"], column(table, "answer")["text"]))
    faults = []
    for start, answer in KNOWN.items():
        found = [each for question, each in answers.items() if question.startswith(start)]
        if found != [answer]:
            faults.append(f"{start}: {found}, not {answer}")
    return faults, f"{len(answers)} questions, {len(KNOWN)} of them with known answers"


def main(kind, name):
    tables = json.load(open(name))["sections"][0]["tables"]
    faults, text = {"ring": check_ring, "pipeline": check_pipeline,
                    "exercises": check_exercises}[kind](tables)
    print("\n".join(faults[:10]) or text)


if __name__ == "__main__":
    main(*sys.argv[1:])
