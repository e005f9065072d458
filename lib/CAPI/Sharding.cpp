//===- Sharding.cpp - Sharding attributes, for C -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Sharding.h"
#include "Errors.h"
#include "dialects/Dist/Dist.h"
#include "mlir/CAPI/IR.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

static_assert(int(dist::ReductionKind::Sum) == TesseraReductionSum &&
                  int(dist::ReductionKind::Max) == TesseraReductionMax &&
                  int(dist::ReductionKind::Min) == TesseraReductionMin,
              "expects the values of the C enumeration");

/// The context with the dialect, or null after an error.
static MLIRContext *takeContext(MlirContext context, const ErrorSink &sink) {
  MLIRContext *taken = unwrap(context);
  if (taken)
    taken->loadDialect<DistDialect>();
  else
    sink.report("expects a context but got null");
  return taken;
}

/// Converts a list of attributes of one kind; fails with the position of one
/// that is null, of another kind or of another context.
template <typename AttrT>
static bool takeList(MLIRContext *context, StringRef what, intptr_t size,
                     const MlirAttribute *attributes, const ErrorSink &sink,
                     SmallVectorImpl<AttrT> &taken) {
  for (intptr_t i = 0; i < size; ++i) {
    Attribute attribute = unwrap(attributes[i]);
    auto wrong = [&](const Twine &got) {
      sink.report("expects " + what + " as element " + Twine(i) + " but got " +
                  got);
      return false;
    };
    if (!attribute)
      return wrong("null");
    if (attribute.getContext() != context)
      return wrong("one of another context");
    auto typed = llvm::dyn_cast<AttrT>(attribute);
    if (!typed) {
      std::string text;
      llvm::raw_string_ostream(text) << attribute;
      return wrong(text);
    }
    taken.push_back(typed);
  }
  return true;
}

/// Makes an attribute with a verifier, whose error goes to the sink.
template <typename AttrT, typename... Args>
static MlirAttribute makeChecked(MLIRContext *context, const ErrorSink &sink,
                                 Args... args) {
  std::string text;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (text.empty())
      text = diagnostic.str();
  });
  AttrT made =
      AttrT::getChecked([&] { return emitError(UnknownLoc::get(context)); },
                        context, std::forward<Args>(args)...);
  if (!made)
    sink.report(text);
  return wrap(Attribute(made));
}

/// The attribute, if it is one of this kind.
template <typename AttrT> static AttrT take(MlirAttribute attribute) {
  return llvm::dyn_cast_if_present<AttrT>(unwrap(attribute));
}

/// An element of a list, null beyond its ends.
template <typename AttrT>
static MlirAttribute takeElement(ArrayRef<AttrT> list, intptr_t position) {
  bool isThere = position >= 0 && size_t(position) < list.size();
  return wrap(isThere ? Attribute(list[position]) : Attribute());
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

MlirAttribute tesseraAxisGet(MlirContext context, MlirStringRef name,
                             int64_t preSize, int64_t size,
                             MlirStringCallback onError, void *userData) {
  ErrorSink sink{onError, userData};
  MLIRContext *taken = takeContext(context, sink);
  if (!taken)
    return wrap(Attribute());
  return makeChecked<AxisRefAttr>(taken, sink, unwrap(name), preSize, size);
}

bool tesseraAttributeIsAxis(MlirAttribute attribute) {
  return bool(take<AxisRefAttr>(attribute));
}

MlirStringRef tesseraAxisGetName(MlirAttribute axis) {
  auto taken = take<AxisRefAttr>(axis);
  return wrap(taken ? taken.getName() : StringRef());
}

int64_t tesseraAxisGetPreSize(MlirAttribute axis) {
  auto taken = take<AxisRefAttr>(axis);
  return taken ? taken.getPreSize() : -1;
}

int64_t tesseraAxisGetSize(MlirAttribute axis) {
  auto taken = take<AxisRefAttr>(axis);
  return taken ? taken.getSize() : -1;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

MlirAttribute tesseraDimShardingGet(MlirContext context, intptr_t numAxes,
                                    MlirAttribute const *axes, bool isOpen,
                                    MlirStringCallback onError,
                                    void *userData) {
  ErrorSink sink{onError, userData};
  MLIRContext *taken = takeContext(context, sink);
  SmallVector<AxisRefAttr> refs;
  if (!taken || !takeList(taken, "an axis", numAxes, axes, sink, refs))
    return wrap(Attribute());
  return makeChecked<DimShardingAttr>(taken, sink, ArrayRef(refs), isOpen,
                                      /*priority=*/int64_t(-1));
}

bool tesseraAttributeIsDimSharding(MlirAttribute attribute) {
  return bool(take<DimShardingAttr>(attribute));
}

intptr_t tesseraDimShardingGetNumAxes(MlirAttribute dimension) {
  auto taken = take<DimShardingAttr>(dimension);
  return taken ? intptr_t(taken.getAxes().size()) : -1;
}

MlirAttribute tesseraDimShardingGetAxis(MlirAttribute dimension,
                                        intptr_t position) {
  auto taken = take<DimShardingAttr>(dimension);
  return takeElement(taken ? taken.getAxes() : ArrayRef<AxisRefAttr>(),
                     position);
}

bool tesseraDimShardingIsOpen(MlirAttribute dimension) {
  auto taken = take<DimShardingAttr>(dimension);
  return taken && taken.getOpen();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

MlirAttribute
tesseraShardingGet(MlirContext context, MlirStringRef mesh,
                   intptr_t numDimensions, MlirAttribute const *dimensions,
                   intptr_t numReplicated, MlirAttribute const *replicated,
                   intptr_t numUnreduced, MlirAttribute const *unreduced,
                   TesseraReduction reduction, MlirStringCallback onError,
                   void *userData) {
  ErrorSink sink{onError, userData};
  MLIRContext *taken = takeContext(context, sink);
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> whole, partial;
  if (!taken ||
      !takeList(taken, "the sharding of a dimension", numDimensions, dimensions,
                sink, dims) ||
      !takeList(taken, "a replicated axis", numReplicated, replicated, sink,
                whole) ||
      !takeList(taken, "an unreduced axis", numUnreduced, unreduced, sink,
                partial))
    return wrap(Attribute());
  std::optional<dist::ReductionKind> kind = symbolizeReductionKind(reduction);
  if (!kind) {
    sink.report("expects a TesseraReduction but got " +
                Twine(unsigned(reduction)));
    return wrap(Attribute());
  }
  return makeChecked<ShardingAttr>(
      taken, sink, FlatSymbolRefAttr::get(taken, unwrap(mesh)), ArrayRef(dims),
      ArrayRef(whole), ArrayRef(partial), *kind);
}

bool tesseraAttributeIsSharding(MlirAttribute attribute) {
  return bool(take<ShardingAttr>(attribute));
}

MlirStringRef tesseraShardingGetMesh(MlirAttribute sharding) {
  auto taken = take<ShardingAttr>(sharding);
  return wrap(taken ? taken.getMesh().getValue() : StringRef());
}

intptr_t tesseraShardingGetNumDimensions(MlirAttribute sharding) {
  auto taken = take<ShardingAttr>(sharding);
  return taken ? intptr_t(taken.getDims().size()) : -1;
}

MlirAttribute tesseraShardingGetDimension(MlirAttribute sharding,
                                          intptr_t position) {
  auto taken = take<ShardingAttr>(sharding);
  return takeElement(taken ? taken.getDims() : ArrayRef<DimShardingAttr>(),
                     position);
}

intptr_t tesseraShardingGetNumReplicated(MlirAttribute sharding) {
  auto taken = take<ShardingAttr>(sharding);
  return taken ? intptr_t(taken.getReplicated().size()) : -1;
}

MlirAttribute tesseraShardingGetReplicated(MlirAttribute sharding,
                                           intptr_t position) {
  auto taken = take<ShardingAttr>(sharding);
  return takeElement(taken ? taken.getReplicated() : ArrayRef<AxisRefAttr>(),
                     position);
}

intptr_t tesseraShardingGetNumUnreduced(MlirAttribute sharding) {
  auto taken = take<ShardingAttr>(sharding);
  return taken ? intptr_t(taken.getUnreduced().size()) : -1;
}

MlirAttribute tesseraShardingGetUnreduced(MlirAttribute sharding,
                                          intptr_t position) {
  auto taken = take<ShardingAttr>(sharding);
  return takeElement(taken ? taken.getUnreduced() : ArrayRef<AxisRefAttr>(),
                     position);
}

TesseraReduction tesseraShardingGetReduction(MlirAttribute sharding) {
  auto taken = take<ShardingAttr>(sharding);
  return taken ? TesseraReduction(taken.getReduction()) : TesseraReductionSum;
}
