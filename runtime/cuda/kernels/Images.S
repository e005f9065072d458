//===- Images.S - The hand-written kernels as built -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files that nvcc makes of All.cu, as constants. PTX is text and ends with
// a zero byte.
//
//===----------------------------------------------------------------------===//

.macro image name, file
  .section .rodata
  .balign 64
  .globl tessera_builtin_\name
tessera_builtin_\name:
  .incbin "\file"
  .globl tessera_builtin_\name\()_end
tessera_builtin_\name\()_end:
  .byte 0
.endm

image 80, "builtin_80.cubin"
image 90, "builtin_90.cubin"
image 100, "builtin_100.cubin"
image ptx, "builtin_80.ptx"
.section .note.GNU-stack, "", %progbits
