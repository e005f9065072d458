//===- BytecodeVersionTest.cpp - Versions of dialects in bytecode ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of this version are in test/compat.
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/BytecodeVersion.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Registration/Registration.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

/// Writes a mesh as bytecode of a version of `dist`, and reads it. Returns the
/// errors.
std::string readVersion(uint64_t version) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  auto module =
      parseSourceString<ModuleOp>("dist.mesh @mesh [\"dp\"=2]", &context);
  BytecodeWriterConfig config;
  config.setDialectVersion<dist::DistDialect>(
      std::make_unique<BytecodeVersion>(version));
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  EXPECT_TRUE(succeeded(writeBytecodeToFile(*module, os, config)));
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  bool isRead = bool(parseSourceString<ModuleOp>(bytes, &context));
  EXPECT_EQ(isRead, errors.empty());
  return errors;
}

TEST(BytecodeVersionTest, the_own_version_is_read) {
  EXPECT_EQ(readVersion(1), "");
}

TEST(BytecodeVersionTest, a_newer_version_is_refused) {
  EXPECT_NE(
      readVersion(2).find("expects bytecode of dialect dist up to version "
                          "1 but got version 2"),
      std::string::npos)
      << readVersion(2);
}

} // namespace
