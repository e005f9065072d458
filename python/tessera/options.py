"""Options of `tessera compile` and `tessera import` as keywords of tessera.compile.

python/write_options.py makes this file from their help texts."""

from __future__ import annotations

import os
from typing import NamedTuple, TypedDict, Union


class Option(NamedTuple):
    """An option: its name, the types of its keyword, the name of its value in the help and
    whether it is a file that the compiler writes."""
    name: str
    types: tuple[type, ...]
    value: str
    is_written: bool


class ImportOptions(TypedDict, total=False):
    """The options of `tessera import`."""
    inputs: str
    """arguments of floats, separated by commas, that are inputs; all others are parameters."""
    no_raise: str
    """ops that groups of ops do not become: gelu, silu, softmax, layer_norm, rms_norm,
    cross_entropy, attention, rope; or all."""
    dims: str
    """names of the dimensions of arguments, by which strategies shard, as
    ids=batch,seq;mask=batch; others follow."""
    tokens: str
    """the input that programs fill with the tokens of --data; default: tokens."""
    labels: str
    """the input that they fill with labels; default: labels."""
    label_shift: int
    """by how many tokens labels are later than tokens: 1 (default), or 0 for a loss that
    shifts them itself."""


class CompileOptions(TypedDict, total=False):
    """The options of `tessera compile`."""
    plan: Union[str, os.PathLike[str]]
    """mesh, strategy and training as a plan says, in JSON as tessera plan --json writes it."""
    cluster: Union[str, os.PathLike[str]]
    """decide by the links and the device of a cluster, a file or a name, as of tessera plan
    --cluster; default: the program's own dist.links, or equal links."""
    shardings: Union[str, os.PathLike[str]]
    """the shardings that such a file has, as seeds, on its mesh; without --strategy, with its
    strategy and plan, too."""
    strategy: str
    """what to shard, as dp,cp,tp,sp,zero=3, with cp=METHOD as of --cp-method, dp@x+y and tp@z
    on axes of other names; auto or pp,auto: shardings are searched; default: the program's
    own shardings."""
    sequence_order: str
    """auto (default): a sequence that causal attention shares over cp is stored in zig-zag
    order, so that all devices have equal work; plain: as it is. Results are the same."""
    dp: int
    """data axis: the batch; of plan, default: what is left of --ranks."""
    tp: int
    """tensor axis: heads, MLP and vocabulary; default: 1."""
    pp: int
    """pipeline stages; default: 1."""
    cp: int
    """context axis: the sequence, in attention too; default: 1."""
    cp_method: str
    """how devices of cp share attention: all_gather (of keys and values), ring (the same in
    chunks, beside the attention), all_to_all (heads; :U, heads over U neighbours and
    queries over the rest), latent (of what keys and values are computed from), or auto, the
    fastest of the others; default: auto."""
    ep: int
    """expert axis: the innermost devices of dp and cp, and of tp with etp off; default: 1."""
    etp: Union[bool, str]
    """tp shards each expert's MLP; off: experts go over tp, too."""
    moe_room: float
    """room for rows of experts, over those of an even load; a step that needs more changes
    nothing and ends the run; 0 (default): as many as tokens can have."""
    sp: bool
    """shard the residual stream's sequence over tp."""
    zero: int
    """0 to 3: shard nothing, optimizer state, gradients too, parameters too, over dp; default:
    0."""
    zero2_reduce: str
    """with zero 2 (compiled: and 3), scatter gradients of each micro-batch (each), a chunk's
    after a round of micro-batches (round), or the step's sum (last, the memory of zero 1);
    default: each."""
    schedule: str
    """order of micro-batches on pipeline stages: gpipe, 1f1b, interleaved, zb-h1, zb-h2,
    zb-1p, zb-2p, zb-v, dualpipe, dualpipe-v, or FILE.csv with a list a stage, as
    torch.distributed.pipelining writes it; default: 1f1b."""
    vpp: int
    """chunks of each stage, with interleaved; those of FILE.csv; default: 1."""
    stage_layers: str
    """blocks of each chunk, whole and half ones, as 7,8.5,8,6.5, even, or time, so that stages
    take equally long; priced, even has short ends; default: time."""
    micro_batches: int
    """shares of a device's batch, one after the other; default: 1."""
    recompute: str
    """what the backward computes again: none, selective (what is cheap; priced: the core of
    attention), full (all but the inputs of layers), matmuls (priced only: all but every
    other matmul and attention), or auto=BYTES (compiled only: as little as fits a rank's
    arena into so many bytes, as 80GB or 450MB, of all it holds); default: none."""
    precision: str
    """parameters and activations: f32, bf16, f16, fp8, fp8-current, fp8-row, fp8-block, mxfp8,
    nvfp4; below f32 with a master copy in f32; fp8: as bf16, with linear layers multiplied
    in 8 bits; those after it (priced only) differ in their scales; default: the graph's, of
    plan bf16."""
    grad_dtype: str
    """sums of gradients: f32, bf16, bf16+f32 (priced only: both); default: f32."""
    balance_rate: float
    """step of a router's bias, for experts of less than an even load; default: 0."""
    loss_scale: float
    """of f16 at first: of the sum of losses, not of their mean, so far less than is usual;
    default: 128."""
    scale_window: int
    """steps without overflow until it doubles; default: 2000."""
    measure: int
    """with --strategy auto: the K fastest candidates by the model are compiled and run on this
    machine, in turn, and the fastest program is taken."""
    ranks: int
    """with --strategy auto and --cluster, without --mesh: the mesh of N devices of the cluster
    is chosen, too."""
    memory_limit: Union[int, str]
    """with --strategy auto: what the arena of a device may have, as 80GB or 450MB; default: no
    limit."""
    decisions_out: Union[str, os.PathLike[str]]
    """with --strategy auto: write what was decided, as JSON."""
    decisions: Union[str, os.PathLike[str]]
    """with --strategy auto: take what such a file says."""
    decisions_update: Union[str, os.PathLike[str]]
    """with --strategy auto: take what such a file says of ops that are as they were, search
    the others, and write the file anew."""
    search_dump: Union[str, os.PathLike[str]]
    """with --strategy auto: write the cost network, in toulbar2's format."""
    target: str
    """host (default), cuda (kernels for NVIDIA GPUs; needs a CUDA toolkit, but no GPU) or
    cuda-emulated (the same kernels on the host, slowly; needs neither)."""
    cuda_arch: str
    """architectures to make machine code for, as 80,90; default: 80,90,100; PTX of the lowest
    goes along."""
    cpu: str
    """processor to generate code for, by LLVM's name, as x86-64-v3; default: $TESSERA_CPU, or
    native, this machine's."""
    memory: str
    """shared (default), apart (no memory used twice) or watched (the program checks that
    nothing is written beyond a tensor or read when it is over; slow)."""
    runtime_library: Union[str, os.PathLike[str]]
    """the runtime to link with; default: libtessera_rt_host.a, or libtessera_rt_cuda.a, in
    ../lib/tessera or ../lib seen from this tool."""
    collective_matmul: Union[bool, str]
    """off (default), auto or on: matmuls run in chunks beside the all-gather before or the
    reduce-scatter after them, where that takes less time on the mesh's links; or always."""
    dispatch: str
    """with experts over devices: peers: a device gets the tokens that its experts use; padded:
    as many as --moe-room has room for; dense: all tokens; auto (default): peers for the
    host, else padded with --moe-room. The numbers are the same."""
    epilogues: Union[bool, str]
    """on (default): matmuls for CUDA take biases, GELU and what is added; off: kernels do that."""
    overlap: Union[bool, str]
    """on (default): collectives run beside work; off: each is waited for at once. The numbers
    are the same."""
    overlap_memory: Union[int, str]
    """what a device's memory may grow by for that; default: a tenth of it."""
    bucket_bytes: Union[int, str]
    """do small collectives as one, of at most so many bytes of a device; 0: none; default:
    25MiB."""
    shared_bytes: Union[int, str]
    """keep so many bytes of gathered parameters for a later use rather than gather them again;
    default: 0."""
    pad_to_multiple_of: Union[int, str]
    """pad the minor dimensions of matmuls, such as a vocabulary of 50257, to a multiple of N
    on each device; auto (default): for CUDA, 64 where that adds at most 1 %, else 8, of 8
    bits 16, where it adds at most an eighth; off."""
    max_bytes: Union[int, str]
    """fail if a device receives more in one call."""
    max_collectives: int
    """fail if there are more in one call."""
    no_full_gather: bool
    """fail if a device gathers a whole tensor."""
    shardings_out: Union[str, os.PathLike[str]]
    """write the shardings of weights, inputs and activations after propagation, as JSON, for a
    trainer or --shardings; - is stdout."""
    kernel_report: Union[str, os.PathLike[str]]
    """with --target cuda: write the registers and spills of each kernel: JSON to FILE.json,
    else text; - is stdout."""


class Options(ImportOptions, CompileOptions, total=False):
    """All of them."""


# The options of `tessera import` by keyword.
IMPORT = {
    "inputs": Option("--inputs", (str,), "LIST", False),
    "no_raise": Option("--no-raise", (str,), "LIST", False),
    "dims": Option("--dims", (str,), "LIST", False),
    "tokens": Option("--tokens", (str,), "NAME", False),
    "labels": Option("--labels", (str,), "NAME", False),
    "label_shift": Option("--label-shift", (int,), "N", False),
}

# The options of `tessera compile` by keyword.
COMPILE = {
    "plan": Option("--plan", (str, os.PathLike), "FILE", False),
    "cluster": Option("--cluster", (str, os.PathLike), "CLUSTER", False),
    "shardings": Option("--shardings", (str, os.PathLike), "FILE", False),
    "strategy": Option("--strategy", (str,), "LIST", False),
    "sequence_order": Option("--sequence-order", (str,), "WHAT", False),
    "dp": Option("--dp", (int,), "N", False),
    "tp": Option("--tp", (int,), "N", False),
    "pp": Option("--pp", (int,), "N", False),
    "cp": Option("--cp", (int,), "N", False),
    "cp_method": Option("--cp-method", (str,), "NAME", False),
    "ep": Option("--ep", (int,), "N", False),
    "etp": Option("--etp", (bool, str), "on|off", False),
    "moe_room": Option("--moe-room", (int, float), "X", False),
    "sp": Option("--sp", (bool,), "", False),
    "zero": Option("--zero", (int,), "N", False),
    "zero2_reduce": Option("--zero2-reduce", (str,), "WHEN", False),
    "schedule": Option("--schedule", (str,), "NAME", False),
    "vpp": Option("--vpp", (int,), "N", False),
    "stage_layers": Option("--stage-layers", (str,), "LIST", False),
    "micro_batches": Option("--micro-batches", (int,), "N", False),
    "recompute": Option("--recompute", (str,), "POLICY", False),
    "precision": Option("--precision", (str,), "TYPE", False),
    "grad_dtype": Option("--grad-dtype", (str,), "TYPE", False),
    "balance_rate": Option("--balance-rate", (int, float), "X", False),
    "loss_scale": Option("--loss-scale", (int, float), "X", False),
    "scale_window": Option("--scale-window", (int,), "N", False),
    "measure": Option("--measure", (int,), "K", False),
    "ranks": Option("--ranks", (int,), "N", False),
    "memory_limit": Option("--memory-limit", (int, str), "BYTES", False),
    "decisions_out": Option("--decisions-out", (str, os.PathLike), "FILE", True),
    "decisions": Option("--decisions", (str, os.PathLike), "FILE", False),
    "decisions_update": Option("--decisions-update", (str, os.PathLike), "FILE", True),
    "search_dump": Option("--search-dump", (str, os.PathLike), "FILE", True),
    "target": Option("--target", (str,), "NAME", False),
    "cuda_arch": Option("--cuda-arch", (str,), "LIST", False),
    "cpu": Option("--cpu", (str,), "NAME", False),
    "memory": Option("--memory", (str,), "USE", False),
    "runtime_library": Option("--runtime-library", (str, os.PathLike), "FILE", False),
    "collective_matmul": Option("--collective-matmul", (bool, str), "WHAT", False),
    "dispatch": Option("--dispatch", (str,), "HOW", False),
    "epilogues": Option("--epilogues", (bool, str), "WHAT", False),
    "overlap": Option("--overlap", (bool, str), "WHAT", False),
    "overlap_memory": Option("--overlap-memory", (int, str), "BYTES", False),
    "bucket_bytes": Option("--bucket-bytes", (int, str), "BYTES", False),
    "shared_bytes": Option("--shared-bytes", (int, str), "BYTES", False),
    "pad_to_multiple_of": Option("--pad-to-multiple-of", (int, str), "N", False),
    "max_bytes": Option("--max-bytes", (int, str), "BYTES", False),
    "max_collectives": Option("--max-collectives", (int,), "N", False),
    "no_full_gather": Option("--no-full-gather", (bool,), "", False),
    "shardings_out": Option("--shardings-out", (str, os.PathLike), "FILE", True),
    "kernel_report": Option("--kernel-report", (str, os.PathLike), "FILE", True),
}
