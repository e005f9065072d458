/*===-- tessera_weights.h - Files of weights, for tools -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * Reads published weights (safetensors files) as programs do with --weights,
 * for tools that run no program.
 */
#ifndef TESSERA_WEIGHTS_H
#define TESSERA_WEIGHTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parameter as a view of a tensor in a file: its element (i, j, ...) is the
/// tensor's element offset + i strides[0] + j strides[1] + ... in row-major
/// order.
typedef struct {
  const char *name;   ///< of the parameter, for messages.
  const char *tensor; ///< its name in files.
  const int64_t *tensor_shape;
  int64_t tensor_rank;
  int64_t offset;
  const int64_t *shape;
  const int64_t *strides;
  int64_t rank; ///< of shape and strides.
} tessera_rt_weight;

/// Open files, with the parameters that they were opened for.
typedef struct tessera_rt_weights tessera_rt_weights;

/// Maps a file, or the files of an index or a folder, and finds the tensors of
/// `count` parameters, as --weights does. tessera_rt_weights_error tells
/// whether this failed. The result must be closed in either case.
tessera_rt_weights *tessera_rt_weights_open(const char *path,
                                            const tessera_rt_weight *weights,
                                            int64_t count);

/// Returns the error, empty if there is none. It lives until the files are
/// closed.
const char *tessera_rt_weights_error(const tessera_rt_weights *files);

/// Returns remark `number`, counted from 0, or null after the last. Remarks are
/// facts that are no errors but that a reader has to know, such as tensors that
/// no parameter has.
const char *tessera_rt_weights_remark(const tessera_rt_weights *files,
                                      int64_t number);

/// Writes the elements of parameter `number`, in row-major order, to `out`.
void tessera_rt_weights_read(const tessera_rt_weights *files, int64_t number,
                             float *out);

/// Unmaps the files and frees everything that was found in them.
void tessera_rt_weights_close(tessera_rt_weights *files);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_WEIGHTS_H */
