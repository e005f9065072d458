"""The processors that generated code is tested for, and those among them whose code this machine
runs."""

import pathlib

# Flags of /proc/cpuinfo that each processor adds to its base.
FLAGS = {
    "x86-64": (None, ""),
    "x86-64-v2": ("x86-64", "cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3"),
    "x86-64-v3": ("x86-64-v2", "abm avx avx2 bmi1 bmi2 f16c fma movbe"),
    "x86-64-v4": ("x86-64-v3", "avx512bw avx512cd avx512dq avx512f avx512vl"),
    "znver3": ("x86-64-v3", "adx clzero sha_ni sse4a vaes vpclmulqdq"),
    "znver4": ("x86-64-v4", "avx512_bf16 avx512_bitalg avx512_vbmi avx512_vbmi2 avx512_vnni "
                            "avx512_vpopcntdq avx512ifma clzero gfni sse4a vaes vpclmulqdq"),
    "sapphirerapids": ("x86-64-v4", "amx_bf16 amx_int8 amx_tile avx512_bf16 avx512_bitalg avx512_fp16 "
                                    "avx512_vbmi avx512_vbmi2 avx512_vnni avx512_vpopcntdq avx512ifma "
                                    "avx_vnni gfni serialize vaes vpclmulqdq"),
}

# Names of GNU as, and the extensions that each processor adds to its base.
ASSEMBLER = {
    "x86-64": "generic64",
    "x86-64-v2": "+sse4.2+popcnt",
    "x86-64-v3": "+avx2+bmi+bmi2+f16c+fma+lzcnt+movbe",
    "x86-64-v4": "+avx512bw+avx512cd+avx512dq+avx512vl",
    "znver3": "znver3",
    "znver4": "znver4",
    "sapphirerapids": "+amx_bf16+amx_int8+amx_tile+avx512_bf16+avx512_bitalg+avx512_fp16+avx512_vbmi2"
                      "+avx512_vnni+avx512_vpopcntdq+avx512ifma+avx512vbmi+avx_vnni+gfni+serialize+vaes"
                      "+vpclmulqdq",
}


def assembler(name):
    """-march of GNU as for instructions of this processor alone."""
    flags = ASSEMBLER[name]
    return assembler(FLAGS[name][0]) + flags if flags.startswith("+") else flags


def runnable():
    """The names of the processors whose programs this machine runs."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    here = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())

    def runs(name):
        base, flags = FLAGS[name]
        return here >= set(flags.split()) and (base is None or runs(base))

    return [name for name in FLAGS if runs(name)]
