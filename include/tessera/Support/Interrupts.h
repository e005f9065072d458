//===- Interrupts.h - Cleanup on signals ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_INTERRUPTS_H
#define TESSERA_SUPPORT_INTERRUPTS_H

namespace tessera {

/// Makes SIGTERM, SIGHUP and SIGINT end the processes that the library started
/// and remove its temporary folder; then they have their original effect. Meant
/// for the main function of a tool, before the library is used: the library
/// itself installs no handler and blocks no signal. An ignored signal stays
/// ignored.
void cleanUpOnInterrupts();

} // namespace tessera

#endif // TESSERA_SUPPORT_INTERRUPTS_H
