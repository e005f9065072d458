/*===-- tessera_bytes.h - Numbers of bytes in options -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * The one parser of sizes that users write, shared by the tools and by compiled
 * programs.
 */
#ifndef TESSERA_BYTES_H
#define TESSERA_BYTES_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// Reads a number of at least 0 at `text`; `*end` is the text after it. Returns
/// 0 if there is none (signs, hexadecimal digits and names of special values
/// are none). A whole number of 63 bits is exact in `*whole`, which is -1 for
/// others.
static inline int tessera_rt_read_number(const char *text, double *number,
                                         int64_t *whole, const char **end) {
  const char *digits = text + strspn(text, "0123456789");
  char *after;
  *whole = -1;
  if ((digits == text && *text != '.') || *digits == 'x' || *digits == 'X')
    return 0;
  *number = strtod(text, &after);
  *end = after;
  if (after == text)
    return 0;
  if (after == digits) {
    errno = 0;
    *whole = strtoll(text, &after, 10);
    if (errno)
      *whole = -1;
  }
  return 1;
}

/// Multiplies a number by a unit. Returns 0 if the result does not fit 63 bits;
/// a fraction is dropped.
static inline int tessera_rt_scale_number(double number, int64_t whole,
                                          int64_t unit, int64_t *value) {
  if (whole >= 0 ? whole > INT64_MAX / unit : !(number * (double)unit < 0x1p63))
    return 0;
  *value = whole >= 0 ? whole * unit : (int64_t)(number * (double)unit);
  return 1;
}

/// Reads a number of bytes, 0 or more: 4096, 450MB, 1.5GB, 512MiB. Units are k
/// (or K), M, G, T and P, powers of 1000, or with an i powers of 1024; the B
/// after a unit may be left out. Returns 0, and leaves `*bytes` unchanged, for
/// another text.
static inline int tessera_rt_read_bytes(const char *text, int64_t *bytes) {
  static const char units[] = "kMGTP";
  double number;
  int64_t whole, unit = 1;
  const char *end;
  if (!tessera_rt_read_number(text, &number, &whole, &end))
    return 0;
  if (*end) {
    const char *found = strchr(units, *end == 'K' ? 'k' : *end);
    int64_t base = end[1] == 'i' ? 1024 : 1000;
    if (!found)
      return 0;
    for (const char *u = units; u <= found; ++u)
      unit *= base;
    end += base == 1024 ? 2 : 1;
    end += *end == 'B';
  }
  return !*end && tessera_rt_scale_number(number, whole, unit, bytes);
}

#endif /* TESSERA_BYTES_H */
