/*===-- tessera_rt.h - The C ABI of the runtime -------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * The whole interface between a compiled Tessera program and its runtime.
 * An executable consists of generated code (an object file), which defines the
 * two symbols under "What a program defines", and this library, which defines
 * everything else, including `main`. Linking and running it need nothing of
 * LLVM or MLIR.
 *
 * Model. N ranks, one process each, run the same program. Every rank owns an
 * arena: one block of shared memory of the same size on all ranks, in which
 * every tensor of the program lives at a byte offset that the compiler chose.
 * Offsets of collective operands are equal on all ranks of a group, so a peer's
 * operand is found at the same offset in the peer's arena and is read in place.
 *
 * Tensors are row-major and contiguous unless a function takes strides.
 * "Count", "shape" and "stride" are in elements; "offset" and "bytes" in bytes.
 *
 * Status. Every function that can fail returns int32_t: 0 is success, anything
 * else a tessera_rt_status. The rank that detects a fault records one line of
 * text; generated code only returns the status upward, at once.
 *
 * Threads. All functions are called by one thread of the rank, the one that
 * runs the step function. Kernels run on the rank's thread pool and must not
 * call back into the runtime.
 *
 * What this header does not say: how ranks are started (see `prog --help`) and
 * how shared memory is laid out (private to the library).
 */
#ifndef TESSERA_RT_H
#define TESSERA_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of this ABI and of the manifest. A program whose manifest names
/// another version is refused at start.
#define TESSERA_RT_ABI_VERSION 9

/// Number of collectives that may be in flight at once; slots are 0..63.
#define TESSERA_RT_MAX_SLOTS 64

/// Alignment, in bytes, of an arena's base and of the tensors in it.
#define TESSERA_RT_ARENA_ALIGNMENT 64

/// Most dimensions of a block that is copied or exchanged.
#define TESSERA_RT_MAX_DIMS 8

/// Bytes after a watched block that nothing may write, and the value of each.
#define TESSERA_RT_CANARY_BYTES 64
#define TESSERA_RT_CANARY 0xC5

/// State of one rank; opaque to generated code.
typedef struct tessera_rt_context tessera_rt_context;

/// The status that a function returns.
enum tessera_rt_status {
  TESSERA_RT_OK = 0,
  /// An argument is impossible (a negative size, a slot in use, ...).
  TESSERA_RT_INVALID = 1,
  /// Ranks disagree about a collective.
  TESSERA_RT_MISMATCH = 2,
  /// A rank is dead, stopped or later than the timeout.
  TESSERA_RT_LOST_RANK = 3,
  /// Another rank, or the launcher, recorded a fault or asked to stop.
  TESSERA_RT_ABORTED = 4,
  /// A file or a system call failed.
  TESSERA_RT_SYSTEM = 5,
  /// A file system, or the user's quota in it, is full.
  TESSERA_RT_FULL = 6
};

/// Element types. I1 is one byte, 0 or 1. F8E4M3 has no infinities, and its
/// largest number is 448. F8E5M2 is the upper half of F16.
enum tessera_rt_dtype {
  TESSERA_RT_F32 = 0,
  TESSERA_RT_BF16 = 1,
  TESSERA_RT_F16 = 2,
  TESSERA_RT_F64 = 3,
  TESSERA_RT_I1 = 4,
  TESSERA_RT_I8 = 5,
  TESSERA_RT_I32 = 6,
  TESSERA_RT_I64 = 7,
  TESSERA_RT_F8E4M3 = 8,
  TESSERA_RT_F8E5M2 = 9,
  TESSERA_RT_I16 = 10
};

/// Reductions. bf16 and f16 accumulate in f32 and round once, at the end. For
/// I1, SUM is modulo 2, MAX is "or", MIN is "and". MAX and MIN of floats
/// propagate NaN.
enum tessera_rt_reduction {
  TESSERA_RT_SUM = 0,
  TESSERA_RT_MAX = 1,
  TESSERA_RT_MIN = 2
};

/*===--- What a program defines -------------------------------------------===*/

/// The program's manifest: NUL-terminated JSON. tessera_manifest.h has its
/// members.
extern const char tessera_program_manifest[];

/// Runs one step of the program (a forward pass, or a training step) on this
/// rank: reads arguments at their offsets in the arena, leaves results at
/// theirs. Returns 0 or the first failing status.
typedef int32_t (*tessera_rt_step_fn)(tessera_rt_context *ctx);

/// The step function of each pp rank (a coordinate of the stage axis, see
/// "pp_axis" in the manifest). There is one function if the program has no such
/// axis.
extern const tessera_rt_step_fn tessera_program_steps[];

/// Texts of the calls of steps and tasks, for messages. The calls of a program
/// are numbered from 1 on; tessera_program_calls[0] is their number, and text i
/// begins at byte tessera_program_calls[i] of tessera_program_call_texts,
/// NUL-terminated: "matmul blocks.1.attn.wq, backward". A program may lack
/// both.
extern const int32_t tessera_program_calls[];
extern const char tessera_program_call_texts[];

/*===--- This rank --------------------------------------------------------===*/

/// This rank's number, 0 .. ranks-1. Row-major in the mesh: the last axis is
/// innermost, so the coordinate along an axis is (rank / stride) % size.
int64_t tessera_rt_rank(const tessera_rt_context *ctx);

/// Base address of this rank's arena.
uint8_t *tessera_rt_arena(tessera_rt_context *ctx);

/// Address to which a step writes the number of the call that it is about to
/// make. Other ranks read it when this one is late or dead.
int64_t *tessera_rt_current_call(tessera_rt_context *ctx);

/// Index of this rank within the group (see "Groups"), times `local_size`: the
/// global position at which this rank's block of a sharded dimension begins.
int64_t tessera_rt_axis_offset(tessera_rt_context *ctx, const int64_t *axes,
                               int32_t num_axes, int64_t local_size);

/*===--- Kernels ----------------------------------------------------------===*/

/// A generated kernel: runs the iterations [begin, end) of its outermost loop.
/// `args` are the packed 64-bit arguments: absolute addresses or index scalars.
typedef void (*tessera_rt_kernel_fn)(const int64_t *args, int64_t begin,
                                     int64_t end);

/// Runs `fn` over [0, extent) on the rank's threads and returns when every
/// iteration has finished. Chunks begin at multiples of `grain` (at least 1);
/// iterations of different chunks run concurrently. With extent 0, `fn` is not
/// called.
int32_t tessera_rt_launch(tessera_rt_context *ctx, tessera_rt_kernel_fn fn,
                          const int64_t *args, int32_t num_args, int64_t extent,
                          int64_t grain);

/// Copies a strided block of `rank` dimensions (0..TESSERA_RT_MAX_DIMS) within
/// the arena:
///   dst[sum (i_d + dst_starts[d]) * dst_strides[d]] =
///   src[sum (i_d + src_starts[d]) * src_strides[d]]  for all i in `shape`.
/// It is a slice, an insertion, a transpose, a broadcast (source stride 0), a
/// concatenation or a trim, depending on the strides. Strides are in elements
/// of `element_size` bytes (1, 2, 4 or 8). `src_starts` and `dst_starts` may be
/// null (all 0) and may depend on the rank. The two blocks must not overlap.
int32_t tessera_rt_copy(tessera_rt_context *ctx, int64_t element_size,
                        int32_t rank, const int64_t *shape, int64_t src_offset,
                        const int64_t *src_strides, const int64_t *src_starts,
                        int64_t dst_offset, const int64_t *dst_strides,
                        const int64_t *dst_starts);

/// Writes `count` elements of `element_size` bytes (1, 2, 4 or 8) at
/// `dst_offset`. Each element gets the low bytes of `bits`. To pad a tensor,
/// fill the destination and then copy into it.
int32_t tessera_rt_fill(tessera_rt_context *ctx, int64_t element_size,
                        int64_t dst_offset, int64_t count, int64_t bits);

/// Waits for all earlier calls, then sets `flag` to 0 if the byte at `offset`
/// is 0, else to 1. A program branches on no other memory. The flag must be the
/// same on all ranks. A device first runs the step without executing any work,
/// to record its calls. In that run a flag is 1 at its first read and 0 at its
/// second, so that each loop runs once.
int32_t tessera_rt_read_flag(tessera_rt_context *ctx, int64_t offset,
                             int64_t *flag);

/// Returns once the state of the step before has been read: a checkpoint copies
/// parameters and state while the next step runs. A step calls it once, before
/// it writes the first byte of an argument that is donated and has more than
/// one element on this rank (of others a checkpoint has a copy as it begins),
/// and not at all if it writes none. A recorded step of a device has no such
/// call.
int32_t tessera_rt_state_fence(tessera_rt_context *ctx);

/// These functions are for programs that watch their memory. A watched block is
/// the `bytes` at `offset` plus the TESSERA_RT_CANARY_BYTES after it. `begin`
/// writes the canary bytes; `end` fails and names the block if they have
/// changed. If `forget` is not 0, all bits of the block are set, which is a NaN
/// in every float type.
int32_t tessera_rt_block_begin(tessera_rt_context *ctx, int64_t offset,
                               int64_t bytes, int32_t forget);
int32_t tessera_rt_block_end(tessera_rt_context *ctx, int64_t offset,
                             int64_t bytes, int32_t forget);

/*===--- Library calls ----------------------------------------------------===*/

/// Describes C = op(A) * op(B) (+ C). All fields are int64_t, so that a
/// constant array of 15 64-bit integers in this order is a descriptor.
typedef struct tessera_rt_matmul_desc {
  int64_t dtype;      ///< [0] of A and B: F32, BF16, F16 or F64.
  int64_t c_dtype;    ///< [1] of C: as dtype, or F32 with 16-bit operands.
  int64_t batch;      ///< [2] number of independent matmuls.
  int64_t m;          ///< [3] rows of op(A) and C.
  int64_t n;          ///< [4] columns of op(B) and C.
  int64_t k;          ///< [5] columns of op(A), rows of op(B); 0 gives C = 0.
  int64_t lda;        ///< [6] elements between rows of A as it is stored.
  int64_t ldb;        ///< [7] elements between rows of B as it is stored.
  int64_t ldc;        ///< [8] elements between rows of C.
  int64_t stride_a;   ///< [9] elements between batches of A; 0: A is shared.
  int64_t stride_b;   ///< [10] elements between batches of B; 0: B is shared.
  int64_t stride_c;   ///< [11] elements between batches of C.
  int64_t trans_a;    ///< [12] 0: A is stored [m, k]. 1: A is stored [k, m].
  int64_t trans_b;    ///< [13] 0: B is stored [k, n]. 1: B is stored [n, k].
  int64_t accumulate; ///< [14] 0: C = A*B. 1: C += A*B.
} tessera_rt_matmul_desc;

/// Matmul on the rank's threads; operands are absolute addresses. f32 and bf16
/// operands accumulate in f32; a bf16 C is rounded once. The order of summation
/// over k depends neither on the number of threads nor on m. bf16 matmuls use
/// the processor's matrix units if it has them; these treat subnormal numbers
/// as zero.
///
/// `epilogue` may be null. Otherwise it is called over disjoint ranges of the
/// rows [0, batch*m) of C, each exactly once, after all columns of those rows
/// are final and while they are likely still in cache; calls may be concurrent.
int32_t tessera_rt_matmul(tessera_rt_context *ctx,
                          const tessera_rt_matmul_desc *desc, const void *a,
                          const void *b, void *c, tessera_rt_kernel_fn epilogue,
                          const int64_t *epilogue_args);

/// Matmul in 8 bits: (scale_a A) (scale_b B), with sums in f32. A has type
/// desc->dtype and B `b_dtype`, both F8E4M3 or F8E5M2; C is BF16 or F32. Each
/// scale is one f32 at an absolute address, as the operands are. C is rounded
/// once; the order of summation is as above.
int32_t tessera_rt_scaled_matmul(tessera_rt_context *ctx,
                                 const tessera_rt_matmul_desc *desc,
                                 int64_t b_dtype, const void *a, const void *b,
                                 const float *scale_a, const float *scale_b,
                                 void *c);

/// Describes an attention call; a constant array of 20 64-bit integers is a
/// descriptor.
typedef struct tessera_rt_attention_desc {
  int64_t dtype;      ///< [0] of q, k, v: F32 or BF16.
  int64_t batch;      ///< [1] B
  int64_t q_len;      ///< [2] S, query positions held here.
  int64_t kv_len;     ///< [3] T, key positions held here.
  int64_t groups;     ///< [4] G, key/value heads.
  int64_t per_group;  ///< [5] R, query heads per key/value head.
  int64_t head_dim;   ///< [6] K, of queries and keys.
  int64_t v_head_dim; ///< [7] Kv, of values.
  int64_t causal;     ///< [8] 0 or 1.
  int64_t scale_bits; ///< [9] bits of the double that scores are scaled by.
  int64_t key_size;   ///< [10] keys from this position on are padding, which no
                      ///< query sees; 0: no padding.
  int64_t window;     ///< [11] most keys that a query sees, the last ones if
                      ///< causal; 0: all.
  int64_t has_starts; ///< [12] 0 or 1: there are starts.
  int64_t result_dtype; ///< [13] of the outputs (out, or dq, dk and dv): as
                        ///< dtype, or F32 with BF16.
  int64_t has_bias;     ///< [14] 0 or 1: there is a bias.
  int64_t bias_batch;   ///< [15] elements between sequences of the bias; 0: one
                        ///< is for all. The others are alike.
  int64_t bias_query;   ///< [16] between queries.
  int64_t bias_group;   ///< [17] between groups.
  int64_t bias_head;    ///< [18] between heads of a group.
  int64_t softcap_bits; ///< [19] bits of the double that caps scores; 0: none.
} tessera_rt_attention_desc;

/// out[b,s,g,r,:] =
///     sum over t of softmax_t(scale * q[b,s,g,r,:] . k[b,t,g,:]) v[b,t,g,:]
/// with q [B,S,G,R,K], k [B,T,G,K], v [B,T,G,Kv], out [B,S,G,R,Kv], contiguous.
/// Causal: key t is visible to query s when k_offset + t <= q_offset + s, and
/// with a window when k_offset + t > q_offset + s - window too; the offsets are
/// the global positions of row 0. `starts` [B,S], i32, or null: key t is
/// visible to query s only when k_offset + t >= starts[b,s]. Starts do not
/// decrease along s, except in padding at the end. The result for a query that
/// sees no key is 0. With a softcap c a scaled score x becomes c tanh(x / c).
/// `bias`, f32, or null: what is added to scores then, with T keys next to each
/// other; -infinity hides a key. `logsumexp` [B,S,G,R], f32, may be null;
/// otherwise it receives the logarithm of each query's sum of exponentials, or
/// -infinity if the query sees no key. With a bias it is [B,S,G,R,2]: the
/// largest score (-FLT_MAX for no key) and the logarithm of the sum of
/// exponentials of the differences to it.
int32_t tessera_rt_attention(tessera_rt_context *ctx,
                             const tessera_rt_attention_desc *desc,
                             const int32_t *starts, const float *bias,
                             const void *q, const void *k, const void *v,
                             void *out, float *logsumexp, int64_t q_offset,
                             int64_t k_offset);

/// Computes the gradients of the call above with respect to q, k and v. The
/// inputs are `grad`, the gradient of `out`, and the `out` and `logsumexp` that
/// the call above wrote. `grad` and `out` have type `dtype`. Sums are in f32,
/// in an order that does not depend on the number of threads.
int32_t tessera_rt_attention_backward(
    tessera_rt_context *ctx, const tessera_rt_attention_desc *desc,
    const int32_t *starts, const float *bias, const void *grad, const void *q,
    const void *k, const void *v, const void *out, const float *logsumexp,
    void *dq, void *dk, void *dv, int64_t q_offset, int64_t k_offset);

/// The result of sums of rows by index.
enum {
  TESSERA_RT_ROWS_SUM = 0, ///< result = sums.
  TESSERA_RT_ROWS_ADD = 1, ///< result += sums.
  TESSERA_RT_ROWS_SET = 2, ///< The last row of each sum replaces the result's.
};

/// Describes the gradient of an embedding; a constant array of 8 64-bit
/// integers.
typedef struct tessera_rt_embedding_desc {
  int64_t dtype;        ///< [0] of grad: F32, BF16 or F64.
  int64_t result_dtype; ///< [1] of the result: as dtype, or F32 with BF16.
  int64_t id_dtype;     ///< [2] of the ids: I32 or I64.
  int64_t positions;    ///< [3] number of ids.
  int64_t rows;         ///< [4] rows of the table.
  int64_t width;        ///< [5] elements of a row.
  int64_t mode;         ///< [6] TESSERA_RT_ROWS_*.
  int64_t limit;        ///< [7] ids from it on are no rows. 0: none is.
} tessera_rt_embedding_desc;

/// Row r of result [rows, width] is (or is increased by) the sum of the rows of
/// grad [positions, width] at the positions where ids[position] - offset is r,
/// or is replaced by the last of them if there is one. The sum runs in
/// ascending order of positions, in at least f32, and is rounded once. Ids
/// outside the table or at least `limit` are ignored.
int32_t tessera_rt_embedding_backward(tessera_rt_context *ctx,
                                      const tessera_rt_embedding_desc *desc,
                                      const void *grad, const void *ids,
                                      void *result, int64_t offset);

/*===--- Experts ----------------------------------------------------------===*/

/// A row is one use of a held expert by a token. Rows are ordered by expert,
/// then by choice; a choice is a position in the ids [tokens, choices].

/// Describes the routing of tokens; a constant array of 9 64-bit integers.
typedef struct tessera_rt_route_desc {
  int64_t id_dtype;     ///< [0] of the ids: I32 or I64.
  int64_t tokens;       ///< [1] tokens.
  int64_t choices;      ///< [2] ids of a token.
  int64_t experts;      ///< [3] experts held here.
  int64_t all_experts;  ///< [4] experts of all devices.
  int64_t room;         ///< [5] rows that there is room for.
  int64_t layer;        ///< [6] layer whose loads the rows are; -1: none.
  int64_t room_of_each; ///< [7] rows of one expert that have room; 0: any.
  int64_t even_of_each; ///< [8] rows of one expert of an even load.
} tessera_rt_route_desc;

/// Finds the rows of the experts that are held: those whose id is in [offset,
/// offset + experts). Writes to `routing`, one after the other:
///   [experts + 1]        the first row of each expert, and the number of rows;
///   [room]               the choice of each row, -1 after the last row;
///   [tokens * choices]   the row of each choice, -1 where it has none.
/// If there are more rows than room, no choice has a row, and what calls on
/// experts make of this routing is NaN; more rows than different ids can have
/// are TESSERA_RT_INVALID. The rows of a layer are added to the loads of its
/// experts, which a run reports for each step; with `room_of_each` they are no
/// loads, but an expert of more rows than that is noted, and ends the run.
int32_t tessera_rt_route(tessera_rt_context *ctx,
                         const tessera_rt_route_desc *desc, const void *ids,
                         int64_t offset, int32_t *routing);

/// Describes the dropping of choices; a constant array of 9 64-bit integers.
typedef struct tessera_rt_capacity_desc {
  int64_t id_dtype;     ///< [0] of the ids: I32 or I64.
  int64_t dtype;        ///< [1] of the scores: F32 or F64.
  int64_t sequences;    ///< [2] sequences.
  int64_t tokens;       ///< [3] tokens of a sequence.
  int64_t choices;      ///< [4] ids of a token.
  int64_t experts;      ///< [5] number of all experts.
  int64_t capacity;     ///< [6] choices of an expert that stay in a sequence.
  int64_t order_shards; ///< [7] shards of the zig-zag order; 0: plain order.
  int64_t order_size;   ///< [8] tokens that are in this order.
} tessera_rt_capacity_desc;

/// result = ids, but -1 for all choices of an expert in a sequence except the
/// `capacity` of the highest score, the first in plain order among equals. NaN
/// is higher than every number.
int32_t tessera_rt_expert_capacity(tessera_rt_context *ctx,
                                   const tessera_rt_capacity_desc *desc,
                                   const void *ids, const void *scores,
                                   void *result);

/// Activations of experts: x sigmoid(x), GELU by erf, GELU by tanh.
enum tessera_rt_activation {
  TESSERA_RT_SILU = 0,
  TESSERA_RT_GELU = 1,
  TESSERA_RT_GELU_TANH = 2
};

/// Describes a call on experts; a constant array of 12 64-bit integers.
typedef struct tessera_rt_experts_desc {
  int64_t dtype;        ///< [0] of x, y, weights and rows: F32, F64, BF16, F16.
  int64_t result_dtype; ///< [1] of gradients of weights: as dtype, or F32.
  int64_t activation;   ///< [2] tessera_rt_activation.
  int64_t tokens;       ///< [3] tokens.
  int64_t choices;      ///< [4] gates of a token.
  int64_t experts;      ///< [5] experts held here.
  int64_t room;         ///< [6] rows that there is room for.
  int64_t in;           ///< [7] width of x.
  int64_t ffn;          ///< [8] width of the hidden rows.
  int64_t out;          ///< [9] width of y.
  int64_t x_in_rows;    ///< [10] 1: x of the weights' gradient is [room, in].
  int64_t grad_in_rows; ///< [11] 1: its grad is [room, out].
} tessera_rt_experts_desc;

/// y [tokens, out] = the sum over a token's rows of
///     (gate act(x w_gate[e]) * (x w_up[e])) w_down[e]
/// with x [tokens, in], gates [tokens, choices], w_gate and w_up [experts, in,
/// ffn], w_down [experts, ffn, out] and the `routing` that tessera_rt_route
/// wrote. Unless they are null, `gate_rows` and `up_rows` [room, ffn] receive
/// x w_gate[e] and x w_up[e] of each row; they are not written after the last
/// row. gates are F32, F64 with F64. Sums are in F32 at least, over rows in
/// their order, and do not depend on the number of threads. An expert without
/// rows reads no weights.
int32_t tessera_rt_experts(tessera_rt_context *ctx,
                           const tessera_rt_experts_desc *desc,
                           const int32_t *routing, const void *x,
                           const void *gates, const void *w_gate,
                           const void *w_up, const void *w_down, void *y,
                           void *gate_rows, void *up_rows);

/// The gradients of the call above, from `grad` [tokens, out], that of y: of x
/// in dx, of gates in dgates (0 for a choice without a row), and of both kinds
/// of rows.
int32_t tessera_rt_experts_backward(tessera_rt_context *ctx,
                                    const tessera_rt_experts_desc *desc,
                                    const int32_t *routing, const void *grad,
                                    const void *gates, const void *w_gate,
                                    const void *w_up, const void *w_down,
                                    const void *gate_rows, const void *up_rows,
                                    void *dx, void *dgates, void *dgate_rows,
                                    void *dup_rows);

/// The gradients of the weights, from the operands and results of both calls
/// above; zero for an expert without rows.
int32_t tessera_rt_experts_weight_gradient(
    tessera_rt_context *ctx, const tessera_rt_experts_desc *desc,
    const int32_t *routing, const void *x, const void *grad, const void *gates,
    const void *gate_rows, const void *up_rows, const void *dgate_rows,
    const void *dup_rows, void *dw_gate, void *dw_up, void *dw_down);

/*===--- Groups -----------------------------------------------------------===*/

/// Groups. `axes` is an array of num_axes pairs {stride, size}, major to minor.
/// A rank's coordinate on such an axis is (rank / stride) % size. The group of
/// a rank is the set of ranks that differ from it in these coordinates only;
/// its index in the group is the row-major number of the coordinates in the
/// listed order. An axis of a row-major mesh has this form, and so has a
/// sub-axis. With num_axes 0 the group is the rank itself. Every member passes
/// the same pairs.

/*===--- Collectives ------------------------------------------------------===*/

/// Kinds of collectives. n is the group's size, and i this rank's index in it.
enum tessera_rt_collective_kind {
  /// src [outer][count] on each member; dst [outer][n][count]. In place when
  /// outer is 1 and the source is block i of the destination.
  TESSERA_RT_ALL_GATHER = 0,
  /// src [outer][n][count] on each member; dst [outer][count], the reduction
  /// over members of block i.
  TESSERA_RT_REDUCE_SCATTER = 1,
  /// src [count]; dst [count], the reduction over members. May be in place
  /// (src_offset == dst_offset).
  TESSERA_RT_ALL_REDUCE = 2,
  /// The shape is the local source's. The source is split along split_dim into
  /// n equal chunks; chunk j goes to member j; the chunks received are
  /// concatenated along concat_dim in ascending index. So the destination's
  /// shape is the source's with split_dim divided by n and concat_dim
  /// multiplied by n. The two dimensions may be equal.
  TESSERA_RT_ALL_TO_ALL = 3,
  /// The pairs are {source index, target index}. An index is a source at most
  /// once and a target at most once. dst [count] of a target is src [count] of
  /// its source; dst of a member that is not a target is zero.
  TESSERA_RT_PERMUTE = 4,
  /// dst [count] of every member = src [count] of the member `member`. May be
  /// in place.
  TESSERA_RT_BROADCAST = 5,
  /// Sends src [count] to the member `member`; there is no destination. The
  /// k-th send to a member with a tag meets the k-th receive from this rank
  /// with that tag; dtype and count must agree, sequence_id, slot and offsets
  /// may differ. A send completes when the receiver has read the source.
  TESSERA_RT_SEND = 6,
  /// Receives dst [count] from the member `member`; there is no source.
  TESSERA_RT_RECV = 7,
  /// An all_gather of the rows of tokens that go to the experts of this rank;
  /// the destination's other rows stay as they are. Started by
  /// tessera_rt_start_tokens.
  TESSERA_RT_DISPATCH = 8,
  /// A reduce_scatter, a sum, of the rows of the members that have experts of
  /// the token; 0 if none has. Started by tessera_rt_start_tokens.
  TESSERA_RT_COMBINE = 9
};

/// Describes a collective. All fields are int64_t and three lists of int64_t
/// follow the last field without a gap: the axes, the shape, the pairs. So a
/// constant array of 12 64-bit integers and these lists is a descriptor. It
/// belongs to the program; the runtime reads it during tessera_rt_start only.
/// Fields that a kind does not have are ignored.
typedef struct tessera_rt_collective {
  int64_t kind;       ///< [0] tessera_rt_collective_kind.
  int64_t dtype;      ///< [1] tessera_rt_dtype of the elements.
  int64_t reduction;  ///< [2] tessera_rt_reduction, of kinds that reduce.
  int64_t outer;      ///< [3] blocks, of all_gather and reduce_scatter.
  int64_t count;      ///< [4] elements (of a block), of all but all_to_all.
  int64_t member;     ///< [5] index in the group: the root of a broadcast, the
                      ///< other side of a send or receive.
  int64_t tag;        ///< [6] of a send or receive.
  int64_t split_dim;  ///< [7] of all_to_all.
  int64_t concat_dim; ///< [8] of all_to_all.
  int64_t num_axes;   ///< [9] pairs {stride, size} of the group.
  int64_t num_dims;   ///< [10] sizes of the shape, of all_to_all: 1 to
                      ///< TESSERA_RT_MAX_DIMS, otherwise 0.
  int64_t num_pairs;  ///< [11] pairs, of permute; otherwise 0.
} tessera_rt_collective;

/// The lists of a descriptor: num_axes pairs, num_dims sizes, num_pairs pairs.
static inline const int64_t *
tessera_rt_collective_axes(const tessera_rt_collective *collective) {
  return (const int64_t *)(collective + 1);
}
static inline const int64_t *
tessera_rt_collective_shape(const tessera_rt_collective *collective) {
  return tessera_rt_collective_axes(collective) + 2 * collective->num_axes;
}
static inline const int64_t *
tessera_rt_collective_pairs(const tessera_rt_collective *collective) {
  return tessera_rt_collective_shape(collective) + collective->num_dims;
}

/// Posts a collective: the source is ready, the destination may be written, and
/// the call returns. tessera_rt_wait(slot) completes it: the destination is
/// final, and no peer reads the source any more. Between the two calls both
/// blocks belong to the runtime.
///   slot         a number in 0..TESSERA_RT_MAX_SLOTS-1, not in flight.
///   sequence_id  the static number of the operation, unique in the whole
///                program (over all stages) and always used with one group; it
///                is compared between ranks and appears in errors.
///   src_offset   byte offset of the local source in the arena.
///   dst_offset   byte offset of the local destination in the arena.
/// Both offsets must be multiples of the element's size. Source and destination
/// must not overlap unless the kind says otherwise.
///
/// Members must post the collectives of one group in the same order; a member
/// that posts another operation, type, count or sequence_id is a mismatch,
/// which is an error on all ranks. Order between different groups is free, and
/// so is the order of waits.
///
/// Reductions run in ascending group index, whatever the timing: results are
/// equal bit for bit on all members and in all runs.
int32_t tessera_rt_start(tessera_rt_context *ctx, int32_t slot,
                         int64_t sequence_id,
                         const tessera_rt_collective *collective,
                         int64_t src_offset, int64_t dst_offset);

/// Describes the tokens of a dispatch or a combine: src and dst are rows of
/// `width` elements, so `count` is a multiple of it. Experts are in blocks of
/// `experts`; the number of a member's block is that of its coordinates on the
/// axes. A constant array of 5 64-bit integers and num_axes pairs {stride,
/// size}.
typedef struct tessera_rt_tokens {
  int64_t id_dtype; ///< [0] TESSERA_RT_I32 or TESSERA_RT_I64.
  int64_t width;    ///< [1] elements of a row.
  int64_t choices;  ///< [2] ids of a token.
  int64_t experts;  ///< [3] experts of a block.
  int64_t num_axes; ///< [4] pairs {stride, size} of the axes of blocks.
} tessera_rt_tokens;

/// Posts a TESSERA_RT_DISPATCH or TESSERA_RT_COMBINE; see tessera_rt_start. The
/// ids, [tokens of dst][choices] at byte `ids_offset` of the arena, belong to
/// the runtime until the wait. Targets other than the host return
/// TESSERA_RT_INVALID.
int32_t tessera_rt_start_tokens(tessera_rt_context *ctx, int32_t slot,
                                int64_t sequence_id,
                                const tessera_rt_collective *collective,
                                const tessera_rt_tokens *tokens,
                                int64_t src_offset, int64_t dst_offset,
                                int64_t ids_offset);

/// Completes the collective in `slot` and frees the slot. A slot that is not in
/// flight is TESSERA_RT_INVALID.
int32_t tessera_rt_wait(tessera_rt_context *ctx, int32_t slot);

/*===--- Pipelines --------------------------------------------------------===*/

/// The computation of a task: forward, gradient of the stage's input, gradients
/// of its parameters, or both gradients.
enum tessera_rt_task {
  TESSERA_RT_TASK_F = 0,
  TESSERA_RT_TASK_B = 1,
  TESSERA_RT_TASK_W = 2,
  TESSERA_RT_TASK_BW = 3
};

/// Runs a task on one micro-batch. `bases` are the arena offsets of the task's
/// memory for this micro-batch.
typedef int32_t (*tessera_rt_task_fn)(tessera_rt_context *ctx,
                                      const int64_t *bases);

/// Kinds of list entries: the first number of an entry. Its fields follow.
enum tessera_rt_entry {
  /// Function (an index of `tasks`), tessera_rt_task, chunk, micro-batch, n,
  /// then n bases: calls the function.
  TESSERA_RT_ENTRY_RUN = 0,
  /// Slot, sequence_id, peer, tag, bytes, offset: starts a send, which lasts
  /// until the wait for its slot.
  TESSERA_RT_ENTRY_SEND = 1,
  /// The same for a receive.
  TESSERA_RT_ENTRY_RECV = 2,
  /// Slot: completes the operation in flight there.
  TESSERA_RT_ENTRY_WAIT = 3,
  /// Offset, bytes, forget: a watched block begins, or ends.
  TESSERA_RT_ENTRY_BEGIN = 4,
  TESSERA_RT_ENTRY_END = 5,
  /// Function, chunk and micro-batch of its F, chunk and micro-batch of its BW,
  /// n, then n bases: calls a function that runs both.
  TESSERA_RT_ENTRY_PAIR = 6
};

/// Numbers of a RUN entry before its bases.
#define TESSERA_RT_RUN_FIELDS 6
/// Numbers of a PAIR entry before its bases.
#define TESSERA_RT_PAIR_FIELDS 7

/// Returns the length of the entry that begins at `entry`, or 0 if the entry is
/// unknown or does not end within `left` numbers.
static inline int64_t tessera_rt_entry_length(const int64_t *entry,
                                              int64_t left) {
  int64_t length = 0;
  if (left < 1)
    return 0;
  switch (entry[0]) {
  case TESSERA_RT_ENTRY_RUN:
    if (left >= TESSERA_RT_RUN_FIELDS && entry[5] >= 0)
      length = TESSERA_RT_RUN_FIELDS + entry[5];
    break;
  case TESSERA_RT_ENTRY_PAIR:
    if (left >= TESSERA_RT_PAIR_FIELDS && entry[6] >= 0)
      length = TESSERA_RT_PAIR_FIELDS + entry[6];
    break;
  case TESSERA_RT_ENTRY_SEND:
  case TESSERA_RT_ENTRY_RECV:
    length = 7;
    break;
  case TESSERA_RT_ENTRY_WAIT:
    length = 2;
    break;
  case TESSERA_RT_ENTRY_BEGIN:
  case TESSERA_RT_ENTRY_END:
    length = 4;
    break;
  default:
    break;
  }
  return length <= left ? length : 0;
}

/// Runs the entries of a list one after the other; `count` is the number of
/// integers in the list. Peers are group indices on `axes`, the stage axis.
int32_t tessera_rt_run_list(tessera_rt_context *ctx, const int64_t *entries,
                            int64_t count, const tessera_rt_task_fn *tasks,
                            const int64_t *axes, int32_t num_axes);

#ifdef __cplusplus
} // extern "C"
#endif

#endif /* TESSERA_RT_H */
