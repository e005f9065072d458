//===- Samples.h - Small instances of every op ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops and named linalg ops are found in the registry and tried on
// element types and ranks until they are valid, so a new op needs no code here.
// Every binary and unary op is also tried in bodies of linalg.generic. Ops that
// need attributes have a line in the table of SampleTable.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_CLAIMS_SAMPLES_H
#define TESSERA_TEST_UNIT_CLAIMS_SAMPLES_H

#include "Sample.h"

namespace tessera::claims {

/// The text of a function with one op in generic form. `properties` and
/// `region` are inserted between the operands and the types.
std::string getText(llvm::StringRef name, llvm::ArrayRef<std::string> operands,
                    llvm::ArrayRef<std::string> results,
                    llvm::StringRef properties = "",
                    llvm::StringRef region = "");

/// Texts of samples of ops that cannot be found by trying.
std::vector<std::string> getSampleTable();

/// Tries to find samples of the registered op `name`; may return none.
std::vector<Sample> findElementwise(mlir::MLIRContext &context,
                                    llvm::StringRef name);
std::vector<Sample> findNamedLinalg(mlir::MLIRContext &context,
                                    llvm::StringRef name);

/// Bodies of linalg.generic around the elementwise op `name`: reductions that
/// it combines, reductions of its results, maps, prefix reductions.
std::vector<Sample> findBodies(mlir::MLIRContext &context,
                               llvm::StringRef name);

/// A context with the dialects that have rules, shared by all tests.
mlir::MLIRContext &getContext();

/// Names of the registered ops that have a rule.
std::vector<std::string> getOps();

/// The samples of an op in the table, or those found by trying. A test fails if
/// there are none.
llvm::ArrayRef<Sample> getSamples(llvm::StringRef name);

} // namespace tessera::claims

#endif // TESSERA_TEST_UNIT_CLAIMS_SAMPLES_H
