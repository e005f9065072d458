//===- Registration.h - The components that tools register ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only list of Tessera's dialects, models and passes beside the
// partitioner's (Partitioner.h), which it includes. Tools and the plugin
// register components only through these functions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REGISTRATION_REGISTRATION_H
#define TESSERA_REGISTRATION_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Registers Tessera's dialects, the upstream dialects that its programs use,
/// and the models that give upstream ops their sharding rules.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers every pass and every named pipeline.
void registerPasses();

} // namespace tessera

#endif // TESSERA_REGISTRATION_REGISTRATION_H
