//===- NNDialect.cpp - The nn dialect -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "dialects/NN/NNCost.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/BytecodeVersion.h"
#include "tessera/Interfaces/Expansion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::nn;

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"
#include "dialects/NN/NNInterfaces.cpp.inc"

/// Parses `[4, 2]`; `[]` for a tensor without dimensions.
static ParseResult parseSizes(AsmParser &parser,
                              SmallVectorImpl<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(sizes.emplace_back());
  });
}

static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[' << sizes << ']';
}

#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.cpp.inc"

/// Parses numbers with all their digits.
static ParseResult parseFrequencies(OpAsmParser &parser,
                                    DenseF64ArrayAttr &frequencies) {
  SmallVector<double> numbers;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parser.parseFloat(numbers.emplace_back());
      }))
    return failure();
  frequencies = parser.getBuilder().getDenseF64ArrayAttr(numbers);
  return success();
}

static void printFrequencies(OpAsmPrinter &printer, Operation *,
                             DenseF64ArrayAttr frequencies) {
  printer << '[';
  llvm::interleaveComma(frequencies.asArrayRef(), printer, [&](double number) {
    printer.printFloat(llvm::APFloat(number));
  });
  printer << ']';
}

/// Parses the types of gradients, which are printed only if they differ from
/// the operands'.
static ParseResult parseGradientTypes(OpAsmParser &parser, Type &dq, Type &dk,
                                      Type &dv, Type q, Type k, Type v) {
  dq = q;
  dk = k;
  dv = v;
  if (parser.parseOptionalArrow())
    return success();
  return failure(parser.parseType(dq) || parser.parseComma() ||
                 parser.parseType(dk) || parser.parseComma() ||
                 parser.parseType(dv));
}

static void printGradientTypes(OpAsmPrinter &printer, Operation *, Type dq,
                               Type dk, Type dv, Type q, Type k, Type v) {
  if (dq != q || dk != k || dv != v)
    printer << " -> " << dq << ", " << dk << ", " << dv;
}

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNOps.cpp.inc"
      >();
  attachCostModels(getContext());
  addInterfaces<ModelledDialect>();
  addInterface<VersionedBytecode>(kCurrentVersion);
}
