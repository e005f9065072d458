/*===-- tessera_checkpoint.h - Checkpoints, for tools -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * Reads the checkpoints that programs write with --checkpoint, for tools that
 * run no program. docs/file-formats.md describes their files.
 */
#ifndef TESSERA_CHECKPOINT_H
#define TESSERA_CHECKPOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The steps of a folder of checkpoints.
typedef struct tessera_rt_checkpoints tessera_rt_checkpoints;

/// Lists the folder of --checkpoint, or that of one step. The result must be
/// closed even if tessera_rt_checkpoints_error has a message.
tessera_rt_checkpoints *tessera_rt_checkpoints_open(const char *path);
/// Returns the error, empty if there is none. It lives until the close.
const char *tessera_rt_checkpoints_error(const tessera_rt_checkpoints *list);
/// Returns the path of checkpoint `number`, counted from 0, the oldest; null
/// after the last.
const char *tessera_rt_checkpoints_path(const tessera_rt_checkpoints *list,
                                        int64_t number);
void tessera_rt_checkpoints_close(tessera_rt_checkpoints *list);

/// One checkpoint.
typedef struct tessera_rt_checkpoint tessera_rt_checkpoint;

typedef struct {
  int64_t step;
  /// The sequence of the data with which the next step begins, and the data.
  int64_t data_position;
  const char *data;
  /// The program that wrote it, its ranks and its mesh, "dp=2,tp=4".
  const char *program;
  int64_t ranks;
  const char *mesh;
  /// Bytes of the files of all ranks.
  int64_t bytes;
  /// Seconds since 1970 at which it was committed.
  double time;
  int64_t tensors;
} tessera_rt_checkpoint_facts;

typedef struct {
  const char *name;
  const char *role;  ///< "param" or "state".
  const char *dtype; ///< "f32".
  const int64_t *shape;
  int64_t rank; ///< of the shape.
} tessera_rt_checkpoint_tensor;

/// Opens the folder of a step, and checks that its manifest is as it was
/// written and that no file is missing, too short or too long. The result must
/// be closed even if tessera_rt_checkpoint_error has a message.
tessera_rt_checkpoint *tessera_rt_checkpoint_open(const char *path);
const char *tessera_rt_checkpoint_error(const tessera_rt_checkpoint *opened);
void tessera_rt_checkpoint_close(tessera_rt_checkpoint *opened);

// The following need a checkpoint that was opened without an error. What they
// return lives until the close.

/// Describes it.
tessera_rt_checkpoint_facts
tessera_rt_checkpoint_describe(const tessera_rt_checkpoint *opened);
/// Describes tensor `number`, counted from 0.
tessera_rt_checkpoint_tensor
tessera_rt_checkpoint_get_tensor(const tessera_rt_checkpoint *opened,
                                 int64_t number);

/// Compares all files with their checksums. Returns a message that names the
/// first that differs, or an empty text.
const char *tessera_rt_checkpoint_verify(tessera_rt_checkpoint *opened);

/// Writes the whole tensors as one safetensors file, or, if `as_folder`, as a
/// state folder for --inputs. Returns a message, or an empty text; then the
/// file or folder is whole and on the disk.
const char *tessera_rt_checkpoint_export(tessera_rt_checkpoint *opened,
                                         const char *path, int32_t as_folder);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_CHECKPOINT_H */
