//===- tessera_manifest.h - The manifest of a program -----------*- C++ -*-===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest is the runtime's only description of a program: one JSON object,
// which the compiler writes and the runtime reads. Both take the names of its
// members from this file. Bytes and offsets are those of one rank's arena.
//
//   {"version": 7, "program": "gpt2", "hash": "9f86d081884c7d65", "ranks": 4,
//    "mesh": [{"name": "dp", "size": 2}, {"name": "tp", "size": 2}],
//    "arena_bytes": 1048576, "plan": ["line", ...],
//    "memory": {"parameters": 4096},
//    "communication": [{"axes": "dp", "bytes": 64,
//                       "calls": {"all_reduce": 1}}],
//    "arguments": [
//      {"name": "blocks.0.attn.wq", "role": "param", "dtype": "f32",
//       "shape": [768, 768], "logical_shape": [768, 12, 64],
//       "sharding": [[], [{"stride": 1, "size": 2}]],
//       "local_shape": [768, 384], "offset": 4096, "bytes": 1179648,
//       "init": {"kind": "normal", "std": 0.02, "mean": 0.0},
//       "source": {"tensor": "h.0.attn.c_attn.weight", "shape": [768, 2304],
//                  "offset": 0, "strides": [2304, 64, 1]},
//       "donate": 3}, ...],
//    "results": [...]}
//
// Pipelines. Ranks with different coordinates on the stage axis run different
// functions. "arena_bytes", "memory" and "communication" then describe the pp
// rank with the largest arena, and "offset" of a value is an array with one
// offset for each pp rank, -1 if that rank does not have the value.
//
// Blocks. A rank's block along a dimension is the one whose index is the
// row-major number of the rank's coordinates on the dimension's axes. Ranks
// that differ in other coordinates only hold copies.
//
// Tiles. "tiles" has as many numbers as "logical_shape", and each divides its
// dimension. A value of [64, 4, 16] with tiles [1, 2, 1] is split into 2 tiles
// of [64, 2, 16] and has the shape [2, 2048]. The shape has one dimension for
// each number of tiles above 1, in row-major order, and as its last dimension
// the elements of a tile, in row-major order.
//
// Order. A dimension with an order is divided into as many chunks as the order
// has numbers, which are stored in that order: with [0, 3, 1, 2] the last
// quarter is stored second. Files have the chunks in their original order.
//
// Consecutive steps. A step does not write to the block of a parameter without
// "donate", nor to the bytes that align the next block after it, so ranks with
// the same block may share one memory. An argument with "donate": R takes the
// value of result R after every step. The result has its type and sharding; if
// it also has its offset, nothing is moved, otherwise the block is copied. A
// program with such arguments is a training step. Of its results, "loss",
// "grad_norm", "lr", "num_labels" and "skipped" (1 if the step changed nothing)
// that exist and have one element are read after every step.
//
// Limits. A step whose "grad_norm" is not below the argument "norm_limit", or
// whose "loss" is not below "loss_limit", leaves all donated arguments as they
// were, on all ranks; a NaN is below no limit. Both are +infinity in training
// and -infinity in evaluation. A step whose norm is not finite changes the
// state "loss_scale" all the same, unless "norm_limit" is -infinity.
//
// Initial values. The value of an element is a function of the seed, the
// argument's name and the element's linear index in the logical shape, so it is
// the same under every mesh. Elements in the padding are zero.
//
// Results are assembled from the blocks (a block that several ranks hold is
// taken from the lowest), trimmed to the true shape, put into the order of the
// logical one and written as NAME.npy; bf16 is written as f32.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_MANIFEST_H
#define TESSERA_MANIFEST_H

/// Names of the manifest's members, and of the values that are names.
namespace tessera::manifest {

/// TESSERA_RT_ABI_VERSION.
inline constexpr char kVersion[] = "version";
/// A name, for reports.
inline constexpr char kProgram[] = "program";
/// Hash of the program's text, in hexadecimal; equal on all ranks.
inline constexpr char kHash[] = "hash";
/// The runtime to run with, one of namespace `target`; default: host.
inline constexpr char kTarget[] = "target";
/// Number of ranks: the product of the mesh's sizes.
inline constexpr char kRanks[] = "ranks";
/// The axes, major to minor: an array of `axis` with a name and a size.
inline constexpr char kMesh[] = "mesh";
/// The stage axis, an `axis` with a stride and a size; default: none.
inline constexpr char kPPAxis[] = "pp_axis";
/// Facts about a pipeline's lists, for reports and --rehearse: `pipeline`.
inline constexpr char kPipeline[] = "pipeline";
/// The layers of experts whose loads a run reports: `experts`; default: none.
inline constexpr char kExperts[] = "experts";
/// Bytes of one rank's arena.
inline constexpr char kArenaBytes[] = "arena_bytes";
/// Lines of text, printed before the first step.
inline constexpr char kPlan[] = "plan";
/// Bytes at the peak of the step, by category; for reports.
inline constexpr char kMemory[] = "memory";
/// An array of `traffic`; for readers of the manifest.
inline constexpr char kCommunication[] = "communication";
/// Arrays of `value`.
inline constexpr char kArguments[] = "arguments";
inline constexpr char kResults[] = "results";

/// Names of the types, by tessera_rt_dtype. Arguments and results have none of
/// the 8-bit floats.
inline constexpr const char *kDTypes[] = {"f32",    "bf16",   "f16", "f64",
                                          "i1",     "i8",     "i32", "i64",
                                          "f8e4m3", "f8e5m2", "i16"};

namespace target {
inline constexpr char kHost[] = "host";
/// A CUDA device or the emulator of one.
inline constexpr char kCuda[] = "cuda";
} // namespace target

/// An axis of the mesh, or one along which a dimension is sharded. A rank's
/// coordinate on the latter is (rank / stride) % size.
namespace axis {
inline constexpr char kName[] = "name";
inline constexpr char kStride[] = "stride";
inline constexpr char kSize[] = "size";
} // namespace axis

namespace pipeline {
/// Name of the schedule.
inline constexpr char kSchedule[] = "schedule";
/// Number of stages that a micro-batch passes.
inline constexpr char kStages[] = "stages";
inline constexpr char kMicroBatches[] = "micro_batches";
/// Number of entries of the longest list.
inline constexpr char kEntries[] = "entries";
/// Idle fraction of 1 that the compiler predicts; absent if it predicts none.
inline constexpr char kBubble[] = "bubble";
} // namespace pipeline

namespace experts {
/// Number of layers.
inline constexpr char kLayers[] = "layers";
/// Experts of the layer that has most.
inline constexpr char kMost[] = "most";
} // namespace experts

/// Traffic over some axes: what a rank receives in a step, by bandwidth-optimal
/// algorithms.
namespace traffic {
/// Names of the axes, with commas between them.
inline constexpr char kAxes[] = "axes";
inline constexpr char kBytes[] = "bytes";
/// Number of calls by kind of collective.
inline constexpr char kCalls[] = "calls";
} // namespace traffic

/// An argument or result.
namespace value {
/// Unique among arguments or results; its file is NAME.npy.
inline constexpr char kName[] = "name";
/// One of namespace `role`; of arguments.
inline constexpr char kRole[] = "role";
/// Type of the elements, one of kDTypes.
inline constexpr char kDType[] = "dtype";
/// True if the integers are unsigned in files: u8 for i8, and so on; default:
/// false.
inline constexpr char kUnsigned[] = "unsigned";
/// True global shape.
inline constexpr char kShape[] = "shape";
/// Shape in files, with the elements in the same order unless there are tiles
/// or an order; default: the shape.
inline constexpr char kLogicalShape[] = "logical_shape";
/// Number of tiles of each dimension of the logical shape; default: one tile.
inline constexpr char kTiles[] = "tiles";
/// The order of the chunks of each dimension, or [] for the original one.
inline constexpr char kOrder[] = "order";
/// Global shape that is divided, in no dimension smaller than the shape;
/// default: the shape.
inline constexpr char kPaddedShape[] = "padded_shape";
/// The axes of each dimension, major to minor; default: not sharded.
inline constexpr char kSharding[] = "sharding";
/// Padded shape divided by the sizes of the axes; default: the shape.
inline constexpr char kLocalShape[] = "local_shape";
/// Byte offset in the arena, or one for each pp rank.
inline constexpr char kOffset[] = "offset";
/// Bytes of the local block.
inline constexpr char kBytes[] = "bytes";
/// Initial values of an argument: `init`.
inline constexpr char kInit[] = "init";
/// Location of a parameter in files of weights: `source`. Default: the tensor
/// of the parameter's own name and logical shape.
inline constexpr char kSource[] = "source";
/// Name of a parameter whose numbers a state starts with (a master copy): its
/// init draws from that parameter's stream, and it is read from the parameter's
/// file if it has no file of its own.
inline constexpr char kOf[] = "of";
/// Number of the result that an argument takes the value of after a step.
inline constexpr char kDonate[] = "donate";
/// An argument of integers has ids from 0 to this number - 1, or "ignored".
/// Files with other ids are refused. Default: any integers.
inline constexpr char kVocab[] = "vocab";
/// The id that is allowed in addition; default: -100 for labels, none for
/// others.
inline constexpr char kIgnored[] = "ignored";
/// Positions from a label to its token, 0 to 1024; default: 1.
inline constexpr char kShift[] = "shift";
/// The token that ends a document, of starts.
inline constexpr char kEod[] = "eod";
} // namespace value

/// The source of an argument's values.
namespace role {
/// Initialised from `init`, or from --inputs.
inline constexpr char kParam[] = "param";
inline constexpr char kState[] = "state";
/// [.., sequence] of i32 or i64, filled from --data before every step.
inline constexpr char kTokens[] = "tokens";
/// The row's tokens "shift" positions later.
inline constexpr char kLabels[] = "labels";
/// The position in the row at which the token's document starts: the one after
/// the last earlier "eod" token, or 0.
inline constexpr char kStarts[] = "starts";
/// Read from --inputs only, or initialised from `init` if there is one.
inline constexpr char kInput[] = "input";
/// One f32 that the run sets, on each rank that has it: "norm_limit" or
/// "loss_limit".
inline constexpr char kControl[] = "control";
} // namespace role

namespace init {
/// kZeros, kOnes, kConstant, kNormal or kUniform.
inline constexpr char kKind[] = "kind";
inline constexpr char kZeros[] = "zeros";
inline constexpr char kOnes[] = "ones";
/// All elements are `kValue`.
inline constexpr char kConstant[] = "constant";
inline constexpr char kValue[] = "value";
/// Mean and standard deviation are `kMean` and `kStd`.
inline constexpr char kNormal[] = "normal";
inline constexpr char kMean[] = "mean";
inline constexpr char kStd[] = "std";
/// Elements are between `kLow` and `kHigh`. Only programs that are written by
/// hand have it.
inline constexpr char kUniform[] = "uniform";
inline constexpr char kLow[] = "low";
inline constexpr char kHigh[] = "high";
} // namespace init

/// Element (i, j, ...) of the parameter's logical shape is element offset +
/// i strides[0] + j strides[1] + ... of the tensor of this name and shape, in
/// row-major order.
namespace source {
inline constexpr char kTensor[] = "tensor";
inline constexpr char kShape[] = "shape";
inline constexpr char kOffset[] = "offset";
inline constexpr char kStrides[] = "strides";
} // namespace source

} // namespace tessera::manifest

#endif // TESSERA_MANIFEST_H
