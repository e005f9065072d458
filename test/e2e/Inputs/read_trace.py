"""Checks a Chrome trace of a pipeline.

    read_trace.py TRACE PP_RANKS MICRO_BATCHES

Slices of a rank do not overlap. Each task runs once; each arrow has one begin, in a slice of the
sender, and one end, where a task of the receiver begins that reads the sent value."""

import collections
import json
import sys

# A nanosecond, as the file has microseconds with three digits.
ROUNDING = 0.0011


def main():
    path, ranks, micro_batches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    slices, arrows = collections.defaultdict(list), collections.defaultdict(dict)
    names = [e["args"]["name"] for e in events if e.get("name") == "process_name"]
    assert names == [f"pp rank {i}" for i in range(ranks)], names
    for event in events:
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0, event
            slices[event["pid"]].append(event)
        elif event["ph"] in "sf":
            assert isinstance(event["id"], int), event
            assert event["ph"] not in arrows[event["id"]], event
            arrows[event["id"]][event["ph"]] = event
    assert sorted(slices) == list(range(ranks)), sorted(slices)
    tasks = collections.Counter()
    for rank, own in slices.items():
        for before, after in zip(own, own[1:]):
            assert before["ts"] + before["dur"] <= after["ts"] + ROUNDING, (before, after)
        runs = [e["name"] for e in own if "micro_batch" in e["args"]]
        assert len(runs) == len(set(runs)), runs
        for event in own:
            if "micro_batch" in event["args"]:
                assert 0 <= event["args"]["micro_batch"] < micro_batches, event
                tasks[rank, event["cat"]] += 1
    assert all(tasks[rank, "F"] == micro_batches for rank in range(ranks)), tasks
    for pair in arrows.values():
        start, end = pair["s"], pair["f"]
        assert start["pid"] != end["pid"] and start["ts"] <= end["ts"], pair
        send, = [e for e in slices[start["pid"]] if e["ts"] == start["ts"] and e["cat"] == "send"]
        reader = next(e for e in slices[end["pid"]] if e["ts"] + ROUNDING >= end["ts"] and e["cat"] != "wait")
        kinds = ["F"] if "activation" in send["name"] else ["B", "BW"]
        assert reader["cat"] in kinds, (send, reader)
    print(f"{sum(map(len, slices.values()))} slices, {len(arrows)} arrows")


if __name__ == "__main__":
    main()
