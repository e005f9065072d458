"""Reads the table of a profiler as bench/gpu/measure.py does: times and bytes in the
units of its second line, sums over the calls of a kernel."""

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
