"""Rows of our own runs on GPUs, for bench/validate_cost.

    tessera_runs.py OUT.csv

Reads the steps in bench/results/gpu-*.jsonl for the cases of bench/gpu/cases.py, the last record of
each case and device. Writes a table with a row for the seconds of a step and one for the peak
bytes."""

import csv
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "gpu"))
import cases  # noqa: E402

COLUMNS = ["source", "model", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq",
           "gpu", "n_gpus", "tp", "pp", "dp", "zero_stage", "micro_batch", "global_batch",
           "precision", "recompute", "metric_name", "metric_value", "note", "framework",
           "mem_kind"]


def sizes_of(config):
    """A config's sizes by column, under the names of GPT-2 or Llama."""
    heads = config.get("n_head") or config["num_attention_heads"]
    hidden = config.get("n_embd") or config["hidden_size"]
    return {"layers": config.get("n_layer") or config["num_hidden_layers"],
            "hidden": hidden, "heads": heads,
            "kv_heads": config.get("num_key_value_heads", heads),
            "ffn": config.get("intermediate_size") or 4 * hidden,
            "vocab": config["vocab_size"]}


def read_runs():
    """Maps (case, device) to its last record and the file that has it."""
    runs = {}
    for path in sorted((ROOT / "bench" / "results").glob("gpu-*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record.get("part") == "speed" and "ms" in record:
                runs[record["case"], record["device"]["name"]] = (record, path.name)
    return runs


def rows_of(case, device, record, source):
    name, batch, seq, changes = cases.SPEED[case]
    config = json.loads((ROOT / "share" / "models" / f"{name}.json").read_text())
    row = {"source": "tessera", "model": case, **sizes_of({**config, **changes}), "seq": seq,
           "gpu": device, "n_gpus": 1, "tp": 1, "pp": 1, "dp": 1, "zero_stage": 0,
           "micro_batch": batch, "global_batch": batch, "precision": "bf16",
           "recompute": "none", "note": source, "framework": "Tessera"}
    yield {**row, "metric_name": "iter_time_ms", "metric_value": record["ms"]}
    # Memory of the program, without the device's context.
    gib = record["memory"]["measured_bytes"] / 2**30
    yield {**row, "metric_name": "peak_mem_gib", "metric_value": round(gib, 3),
           "mem_kind": "allocated"}


def main():
    if len(sys.argv) != 2:
        sys.exit(f"tessera_runs.py: expects OUT.csv but got {len(sys.argv) - 1} arguments")
    with open(sys.argv[1], "w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for (case, device), (record, source) in sorted(read_runs().items()):
            if case not in cases.SPEED:
                sys.exit(f"tessera_runs.py: {source}: expects a case of bench/gpu/cases.py "
                         f"but got '{case}'")
            writer.writerows(rows_of(case, device, record, source))


if __name__ == "__main__":
    main()
