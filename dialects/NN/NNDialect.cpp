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
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::nn;

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.cpp.inc"

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
}

/// A name for each dimension of `type`.
static LogicalResult verifyDims(Operation *op, Attribute attr, Type type) {
  auto names = dyn_cast<ArrayAttr>(attr);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (names && tensor &&
      static_cast<int64_t>(names.size()) == tensor.getRank() &&
      llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return success();
  return op->emitError() << "nn.dims: expects one name for each dimension of "
                         << type << " but got " << attr;
}

LogicalResult NNDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  if (attr.getName() == kDimsAttr && op->getNumResults() == 1)
    return verifyDims(op, attr.getValue(), op->getResult(0).getType());
  return op->emitError() << "expects no attribute '"
                         << attr.getName().getValue() << "' on this operation";
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op,
                                                  unsigned region,
                                                  unsigned argument,
                                                  NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  if (attr.getName() == kDimsAttr)
    return verifyDims(op, attr.getValue(), func.getArgumentTypes()[argument]);
  if (attr.getName() == kInitAttr) {
    auto init = dyn_cast<InitAttr>(attr.getValue());
    bool takesNumber = init && (init.getKind() == InitKind::Normal ||
                                init.getKind() == InitKind::Constant);
    if (!init || takesNumber != bool(init.getNumber()))
      return op->emitError() << "nn.init: expects #nn.init with a number for "
                                "normal and constant alone but got "
                             << attr.getValue();
    return success();
  }
  if (attr.getName() == kVocabAttr) {
    auto vocab = dyn_cast<IntegerAttr>(attr.getValue());
    if (!vocab || vocab.getInt() < 1)
      return op->emitError()
             << "nn.vocab: expects a number of ids, at least 1, "
                "but got "
             << attr.getValue();
    return success();
  }
  if ((attr.getName() == kParamAttr || attr.getName() == kInputAttr ||
       attr.getName() == kStateAttr || attr.getName() == kOfAttr) &&
      !isa<StringAttr>(attr.getValue()))
    return op->emitError() << attr.getName().getValue()
                           << ": expects a name but got " << attr.getValue();
  return success();
}
