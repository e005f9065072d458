"""Reads the table of a profiler as bench/gpu/measure.py does: times and bytes in the units of its
second line, sums over the calls of a kernel; and the matmuls of a tune file, the slowest first,
with the time of their operations."""

import json

import measure

TABLE = """==PROF== Connected to process 1
"ID","Kernel Name","dram__bytes.sum","gpu__time_duration.sum","sm__ops_path_tensor_src_bf16_dst_fp32.sum"
"","","Mbyte","us",""
"0","gemm","1.5","10","2,000,000"
"1","fill","1,000","250.5","0"
"2","gemm","0.5","30","4000000"
==PROF== Disconnected
"""

kernels = measure.read_kernels(TABLE)
assert set(kernels) == {"gemm", "fill"}, kernels
gemm, fill = kernels["gemm"], kernels["fill"]
assert gemm["calls"] == 2 and gemm["operations"] == 6e6, gemm
assert abs(gemm["seconds"] - 40e-6) < 1e-12 and abs(gemm["bytes"] - 2e6) < 1e-3, gemm
assert abs(fill["seconds"] - 250.5e-6) < 1e-12 and abs(fill["bytes"] - 1e9) < 1, fill
assert measure.read_kernels("==ERROR== no counters\n") == {}

TUNED = json.dumps({"version": 2, "matmuls": [
    {"what": "small", "microseconds": 2.0, "split": 0, "by_split": [2.0, 0, 3.0],
     "workspace": 0, "key": [1, 1, 1, 10, 20, 30, 9], "algo": ""},
    {"what": "large", "microseconds": 5.0, "split": 2, "by_split": [7.0, 6.0, 5.0],
     "workspace": 0, "key": [1, 1, 2, 100, 200, 300, 9], "algo": ""}]}) + "\n{}\n"
large, small = measure.read_matmuls(TUNED, 4e12)
assert large["matmul"] == "large" and large["way"] == "apart", large
assert large["ways_us"] == {"whole": 7.0, "sums apart": 6.0, "apart": 5.0}, large
assert abs(large["floor_us"] - 6.0) < 1e-9, large
assert small["way"] == "whole" and small["ways_us"] == {"whole": 2.0, "apart": 3.0}, small
