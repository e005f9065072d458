/*===-- tessera_rt_cuda.h - What CUDA adds to the C ABI -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * A program for CUDA devices uses tessera_rt.h with these differences.
 *
 * - The arena is one allocation on the rank's device. tessera_rt_arena gives a
 *   device address; operands of library calls are device addresses.
 * - Calls only enqueue work on streams of the device and return. All of them
 *   run in the order of the calls, except for a collective, which overlaps with
 *   the calls made between its start and its wait.
 * - The step may be called without executing any work: once before the first
 *   step, to see its calls, and once to record it. Later steps repeat the
 *   recording. So a step must make the same calls with the same arguments
 *   every time, and must not read the arena.
 * - Generated kernels are in images for the device and are launched by number
 *   with tessera_rt_launch_device. tessera_rt_launch does not exist, and the
 *   epilogue of tessera_rt_matmul must be null.
 *
 * The manifest says "target": "cuda". The program is linked with
 * tessera_rt_cuda in place of tessera_rt_host.
 */
#ifndef TESSERA_RT_CUDA_H
#define TESSERA_RT_CUDA_H

#include "tessera_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Largest grid, in blocks, and largest block, in threads, of a launch.
#define TESSERA_RT_MAX_GRID INT32_MAX
#define TESSERA_RT_MAX_BLOCK 1024

/// Bytes of shared memory that a block has on every device.
#define TESSERA_RT_MAX_SHARED_BYTES (48 * 1024)

/// Alignment of a block's shared memory, in bytes.
#define TESSERA_RT_SHARED_ALIGNMENT 16

/*===--- Definitions of a CUDA program, besides tessera_rt.h's -----------===*/

/// All generated kernels for one architecture. A cubin of architecture XY runs
/// on devices of compute capability X.Z with Z >= Y; PTX of XY on XY and later.
typedef struct tessera_rt_device_image {
  int32_t arch;     ///< 80, 90, 100: 10 * major + minor.
  int32_t is_ptx;   ///< 0: a cubin. 1: NUL-terminated PTX.
  const void *data; ///< the image.
  int64_t bytes;    ///< its size.
} tessera_rt_device_image;

/// The images. Each contains all kernels.
extern const tessera_rt_device_image tessera_program_images[];
extern const int32_t tessera_program_num_images;

/// The name of kernel k in the images.
extern const char *const tessera_program_kernels[];
extern const int32_t tessera_program_num_kernels;

/// Kernel k as host code. It is called once for each thread of the grid, with
/// the same arguments; see "Emulated kernels".
typedef void (*tessera_rt_emulated_fn)(const int64_t *args);

/// Null in a program for devices. Otherwise it has tessera_program_num_kernels
/// entries, and the program runs on an emulated device even if the machine has
/// a real one.
extern const tessera_rt_emulated_fn *const tessera_program_emulated_kernels;

/*===--- Kernels ----------------------------------------------------------===*/

/// Launches kernel number `kernel` on a grid of `grid` blocks of `block`
/// threads (both along x) with `shared_bytes` bytes of dynamic shared memory.
/// Its parameters are the `num_args` packed 64-bit arguments: device addresses
/// or index scalars. They are read before the call returns. With grid 0 nothing
/// runs.
int32_t tessera_rt_launch_device(tessera_rt_context *ctx, int32_t kernel,
                                 const int64_t *args, int32_t num_args,
                                 int64_t grid, int32_t block,
                                 int32_t shared_bytes);

/*===--- Matmuls with an epilogue -----------------------------------------===*/

/// The fusion of a matmul with the operations on its result P, which is A*B, or
/// A*B + addend if desc->accumulate is set. Indices refer to the row-major C
/// [m, n]. Gelu is the tanh formula.
enum tessera_rt_matmul_fusion_kind {
  /// C = P.
  TESSERA_RT_FUSE_NONE = 0,
  /// C = P + bias[n].
  TESSERA_RT_FUSE_BIAS = 1,
  /// C = gelu(P + bias[n]); `bias` may be null. The argument of gelu is written
  /// to `aux` if that is not null.
  TESSERA_RT_FUSE_GELU = 2,
  /// C = P * gelu'(aux), without an addend. The column sums of C are written to
  /// `bias` if that is not null.
  TESSERA_RT_FUSE_GELU_GRADIENT = 3,
  /// C = P, and bias[m] = the sums of A over k. A is stored [k, m].
  TESSERA_RT_FUSE_LHS_SUMS = 4,
  /// C = P, and bias[n] = the sums of B over k. B is stored [k, n].
  TESSERA_RT_FUSE_RHS_SUMS = 5
};

/// Describes the epilogue of a matmul; a constant array of 3 64-bit integers.
typedef struct tessera_rt_matmul_fusion {
  int64_t kind;       ///< tessera_rt_matmul_fusion_kind.
  int64_t bias_dtype; ///< of bias: as C, or F32 if C is not F64.
  int64_t aux_ld;     ///< elements between rows of aux, which has C's dtype.
} tessera_rt_matmul_fusion;

/// Runs tessera_rt_matmul with `fusion` on one batch. `addend` has the layout
/// of C; it may be C itself, which null also means. No other two operands may
/// overlap.
///
/// Either a library does the whole fusion, or it does the matmul and the
/// runtime's kernels do the rest: whichever is faster when timed. All
/// arithmetic is in the type of the matmul's sums (f32 at least), and results
/// are rounded once. If kernels do the rest, P is rounded to C's type first.
int32_t tessera_rt_matmul_fused(tessera_rt_context *ctx,
                                const tessera_rt_matmul_desc *desc,
                                const tessera_rt_matmul_fusion *fusion,
                                const void *a, const void *b,
                                const void *addend, void *c, void *bias,
                                void *aux);

/*===--- Emulated kernels -------------------------------------------------===*/

/// Return the position of the thread that runs an emulated kernel. Only
/// emulated kernels may call these functions.
int32_t tessera_emu_thread_id(void);
int32_t tessera_emu_block_dim(void);
int64_t tessera_emu_block_id(void);
int64_t tessera_emu_grid_dim(void);

/// A barrier of all threads of the block.
void tessera_emu_barrier(void);

/// `value` of another lane among `width` (a power of two up to 32) neighbours:
/// of lane ^ mask, of lane `index`, of lane + delta (its own beyond the last).
int32_t tessera_emu_shuffle_xor(int32_t value, int32_t lane_mask,
                                int32_t width);
int32_t tessera_emu_shuffle_idx(int32_t value, int32_t index, int32_t width);
int32_t tessera_emu_shuffle_down(int32_t value, int32_t delta, int32_t width);

/// Returns the block's shared memory. Its size is the launch's `shared_bytes`,
/// and it is aligned to TESSERA_RT_SHARED_ALIGNMENT. At first every float in it
/// is a NaN.
void *tessera_emu_shared(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif /* TESSERA_RT_CUDA_H */
