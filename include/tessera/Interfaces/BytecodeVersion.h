//===- BytecodeVersion.h - The version of a dialect in bytecode -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's bytecode names the version of each dialect in it. A reader takes the
// versions up to its own: a change of an op or an attribute that older files
// would not survive counts the version up and upgrades them here. Text has no
// version.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_BYTECODEVERSION_H
#define TESSERA_INTERFACES_BYTECODEVERSION_H

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/Dialect.h"

namespace tessera {

/// The version of a dialect; a writer's configuration may name an older one.
struct BytecodeVersion : mlir::DialectVersion {
  explicit BytecodeVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

/// Writes the version of a dialect into bytecode, and refuses newer ones.
class VersionedBytecode : public mlir::BytecodeDialectInterface {
public:
  VersionedBytecode(mlir::Dialect *dialect, uint64_t current)
      : BytecodeDialectInterface(dialect), current(current) {}

  void writeVersion(mlir::DialectBytecodeWriter &writer) const override {
    mlir::FailureOr<const mlir::DialectVersion *> asked =
        writer.getDialectVersion(getDialect()->getNamespace());
    writer.writeVarInt(
        succeeded(asked) ? static_cast<const BytecodeVersion *>(*asked)->number
                         : current);
  }

  std::unique_ptr<mlir::DialectVersion>
  readVersion(mlir::DialectBytecodeReader &reader) const override {
    uint64_t number = 0;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number >= 1 && number <= current)
      return std::make_unique<BytecodeVersion>(number);
    reader.emitError() << "expects bytecode of dialect "
                       << getDialect()->getNamespace() << " up to version "
                       << current << " but got version " << number
                       << "; read it with the Tessera that wrote it";
    return nullptr;
  }

private:
  uint64_t current;
};

} // namespace tessera

#endif // TESSERA_INTERFACES_BYTECODEVERSION_H
