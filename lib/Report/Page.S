//===- Page.S - The texts of a page ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a page, its style, and its scripts behind D3, as constants.
//
//===----------------------------------------------------------------------===//

.macro text name, file
  .section .rodata
  .globl tessera_page_\name
tessera_page_\name:
  .incbin "\file"
  .globl tessera_page_\name\()_end
tessera_page_\name\()_end:
  .byte 0
.endm

text html, "page.html"
text style, "page.css"
text script, "page.js"
.section .note.GNU-stack, "", %progbits
