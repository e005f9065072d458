/*===-- tessera_key.h - Keys of jobs, for tools -------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * Makes the keys by which the nodes of a job know each other, for tools that
 * run no program.
 */
#ifndef TESSERA_KEY_H
#define TESSERA_KEY_H

#ifdef __cplusplus
extern "C" {
#endif

/// Hexadecimal digits of the text of a key.
#define TESSERA_RT_KEY_DIGITS 128

/// Draws a key with the system's random numbers, and writes its text, which
/// ends with a zero. Returns a message, or an empty text; it lives until the
/// thread's next call.
const char *tessera_rt_key_draw(char text[TESSERA_RT_KEY_DIGITS + 1]);

/// Draws a key and writes its text to a new file that only its owner can read.
/// Returns a message, or an empty text; it lives until the thread's next call.
const char *tessera_rt_key_write(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_KEY_H */
