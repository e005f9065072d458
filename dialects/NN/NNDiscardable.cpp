//===- NNDiscardable.cpp - The discardable attributes of nn ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of discardable attributes of nn, with the check of each.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/KnownAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

/// Checks for a name for each dimension.
static LogicalResult verifyDims(const AttributePosition &position,
                                NamedAttribute attr) {
  Operation *op = position.op;
  if (position.holder == kOnOperation && op->getNumResults() != 1)
    return op->emitError() << "nn.dims: expects an op of one result but got "
                           << op->getNumResults();
  Type type = position.type ? position.type : op->getResult(0).getType();
  auto names = dyn_cast<ArrayAttr>(attr.getValue());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (names && tensor &&
      static_cast<int64_t>(names.size()) == tensor.getRank() &&
      llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return success();
  return op->emitError() << "nn.dims: expects one name for each dimension of "
                         << type << " but got " << attr.getValue();
}

static LogicalResult verifyInit(const AttributePosition &position,
                                NamedAttribute attr) {
  auto init = dyn_cast<InitAttr>(attr.getValue());
  bool takesNumber = init && (init.getKind() == InitKind::Normal ||
                              init.getKind() == InitKind::Constant);
  if (init && takesNumber == bool(init.getNumber()))
    return success();
  return position.op->emitError()
         << "nn.init: expects #nn.init with a number for "
            "normal and constant alone but got "
         << attr.getValue();
}

static LogicalResult verifyVocab(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto vocab = dyn_cast<IntegerAttr>(attr.getValue());
  if (vocab && vocab.getValue().getSignificantBits() <= 64 &&
      vocab.getInt() >= 1)
    return success();
  return position.op->emitError()
         << "nn.vocab: expects a number of ids, at least 1, but got "
         << attr.getValue();
}

static LogicalResult verifyIgnored(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto id = dyn_cast<IntegerAttr>(attr.getValue());
  if (id && id.getValue().getSignificantBits() <= 64)
    return success();
  return position.op->emitError()
         << "nn.ignored: expects an id but got " << attr.getValue();
}

/// Checks for an input or a result of integers that may have a sign.
static LogicalResult verifyUnsigned(const AttributePosition &position,
                                    NamedAttribute attr) {
  if (failed(expectUnit(position, attr)))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(position.type);
  bool isInteger =
      tensor &&
      llvm::any_of(ArrayRef<unsigned>{8, 16, 32, 64}, [&](unsigned w) {
        return tensor.getElementType().isSignlessInteger(w);
      });
  if (!isInteger)
    return position.op->emitError()
           << "nn.unsigned: expects a tensor of integers of 8, 16, 32 or 64 "
              "bits but got "
           << position.type;
  auto func = cast<FunctionOpInterface>(position.op);
  for (StringRef key : {NNDialect::kParamAttr, NNDialect::kStateAttr})
    if (position.holder == kOnArgument && func.getArgAttr(position.index, key))
      return position.op->emitError()
             << "nn.unsigned: expects an input or a result but got argument "
             << position.index << " with " << key;
  return success();
}

static LogicalResult verifyEod(const AttributePosition &position,
                               NamedAttribute attr) {
  auto id = dyn_cast<IntegerAttr>(attr.getValue());
  if (id && id.getValue().getSignificantBits() <= 64 && id.getInt() >= 0)
    return success();
  return position.op->emitError()
         << "nn.eod: expects an id, at least 0, but got " << attr.getValue();
}

/// The most that the manifest of a program takes.
static constexpr int64_t kMostLabelShift = 1024;

static LogicalResult verifyLabelShift(const AttributePosition &position,
                                      NamedAttribute attr) {
  auto shift = dyn_cast<IntegerAttr>(attr.getValue());
  if (shift && !shift.getValue().isNegative() &&
      shift.getValue().ule(kMostLabelShift))
    return success();
  return position.op->emitError()
         << "nn.label_shift: expects 0 to " << kMostLabelShift << " but got "
         << attr.getValue();
}

/// Checks for an order, or none, for each dimension.
static LogicalResult verifyOrder(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto orders = dyn_cast<ArrayAttr>(attr.getValue());
  auto tensor = dyn_cast<RankedTensorType>(position.type);
  if (orders && tensor &&
      static_cast<int64_t>(orders.size()) == tensor.getRank() &&
      llvm::all_of(orders, llvm::IsaPred<ZigzagAttr, UnitAttr>))
    return success();
  return position.op->emitError()
         << "nn.order: expects #nn.zigzag or unit for each dimension of "
         << position.type << " but got " << attr.getValue();
}

static LogicalResult verifyShape(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto shape = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (shape &&
      llvm::all_of(shape.asArrayRef(), [](int64_t size) { return size >= 0; }))
    return success();
  return position.op->emitError()
         << attr.getName().getValue()
         << ": expects an array of sizes from 0 but got " << attr.getValue();
}

/// Checks the shapes of a tensor that is stored flat.
static LogicalResult verifyFlat(const AttributePosition &position,
                                NamedAttribute attr) {
  if (failed(verifyShape(position, attr)))
    return failure();
  auto get = [&](StringRef name) {
    return dyn_cast_or_null<DenseI64ArrayAttr>(
        cast<FunctionOpInterface>(position.op)
            .getArgAttr(position.index, name));
  };
  auto error = [&] {
    return position.op->emitError() << "argument " << position.index << ": "
                                    << attr.getName().getValue() << ": ";
  };
  auto stored = get(NNDialect::kStoredShapeAttr);
  auto logical = get(NNDialect::kLogicalShapeAttr);
  if (!stored || !logical)
    return error() << "expects " << NNDialect::kStoredShapeAttr << " and "
                   << NNDialect::kLogicalShapeAttr << " beside it";
  ArrayRef<int64_t> shape = logical.asArrayRef();
  if (attr.getName() != NNDialect::kTilesAttr) {
    if (ShapedType::getNumElements(stored.asArrayRef()) ==
        ShapedType::getNumElements(shape))
      return success();
    return error() << "expects as many elements in " << stored << " as in "
                   << logical;
  }
  auto tiles = cast<DenseI64ArrayAttr>(attr.getValue());
  bool divides = tiles.size() == logical.size() &&
                 llvm::all_of_zip(shape, tiles.asArrayRef(),
                                  [](int64_t size, int64_t count) {
                                    return count >= 1 && size % count == 0;
                                  });
  if (divides)
    return success();
  return error() << "expects divisors of " << logical << " but got " << tiles;
}

/// Whether no two elements of a view are the same element of the tensor: sorted
/// by stride, each dimension steps over the extent of those before it.
static bool isInjective(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(shape, strides))
    if (size > 1)
      dims.push_back({stride, size});
  llvm::sort(dims);
  int64_t reach = 1;
  for (auto [stride, size] : dims) {
    if (stride < reach)
      return false;
    reach = llvm::SaturatingMultiply<uint64_t>(stride, size) >> 62
                ? int64_t(1) << 62
                : stride * size;
  }
  return true;
}

const char *SourceAttr::findFault(ArrayRef<int64_t> shape) const {
  constexpr int64_t kMost = int64_t(1) << 62;
  auto isSize = [](int64_t size) { return size >= 0 && size <= kMost; };
  if (getTensor().empty())
    return "a name";
  if (!llvm::all_of(getShape(), isSize) ||
      !llvm::all_of(getStrides(), isSize) || !isSize(getOffset()))
    return "sizes, strides and an offset from 0";
  if (getStrides().size() != shape.size())
    return "a stride for each dimension";
  ArrayRef<int64_t> strides = getStrides();
  if (getTensor().contains('*')) {
    if (shape.empty() || strides.front() != 0)
      return "a stride of 0 for the dimension of '*'";
    shape = shape.drop_front();
    strides = strides.drop_front();
  }
  int64_t elements = 1, last = getOffset();
  for (int64_t size : getShape())
    if (llvm::MulOverflow(elements, size, elements))
      return "fewer elements";
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    int64_t span;
    if (size == 0)
      return nullptr;
    if (llvm::MulOverflow(size - 1, stride, span) ||
        llvm::AddOverflow(last, span, last))
      return "a view inside the tensor";
  }
  if (last >= elements)
    return "a view inside the tensor";
  return isInjective(shape, strides) ? nullptr
                                     : "a view that has each element once";
}

/// Checks the view of a file's tensor. Its bounds can be checked only for the
/// whole parameter; the type differs from it if it is padded, sharded or flat.
static LogicalResult verifySource(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto error = [&] {
    return position.op->emitError()
           << "argument " << position.index << ": nn.source: expects ";
  };
  auto source = dyn_cast<SourceAttr>(attr.getValue());
  auto type = dyn_cast<RankedTensorType>(position.type);
  auto func = cast<FunctionOpInterface>(position.op);
  if (!source || !type ||
      !func.getArgAttr(position.index, NNDialect::kParamAttr))
    return error() << "#nn.source on a parameter but got " << attr.getValue()
                   << " on " << position.type;
  bool isFlat =
      bool(func.getArgAttr(position.index, NNDialect::kStoredShapeAttr));
  if (isFlat || source.getStrides().size() == size_t(type.getRank()))
    return success();
  return error() << "a stride for each dimension of " << type << " but got "
                 << source;
}

/// Checks that nn.frozen is on a parameter: only parameters are trained or not.
static LogicalResult verifyFrozen(const AttributePosition &position,
                                  NamedAttribute attr) {
  if (failed(expectUnit(position, attr)))
    return failure();
  if (cast<FunctionOpInterface>(position.op)
          .getArgAttr(position.index, NNDialect::kParamAttr))
    return success();
  return position.op->emitError()
         << "argument " << position.index
         << ": nn.frozen: expects a parameter (nn.param) but got "
         << position.type;
}

/// Expects the only rule there is, on a parameter.
static LogicalResult verifyTrained(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto rule = dyn_cast<StringAttr>(attr.getValue());
  bool isParameter =
      bool(cast<FunctionOpInterface>(position.op)
               .getArgAttr(position.index, NNDialect::kParamAttr));
  if (rule && rule.getValue() == NNDialect::kBalanceRule && isParameter)
    return success();
  return position.op->emitError()
         << "argument " << position.index << ": nn.trained: expects \""
         << NNDialect::kBalanceRule << "\" on a parameter (nn.param) but got "
         << attr.getValue() << " on " << position.type;
}

static constexpr StringRef kResultNames[] = {NNDialect::kOutputAttr};

/// Whether NAME.npy is a valid file name without a folder.
static bool isFileName(StringRef name) {
  constexpr size_t kLongest = 255 - StringLiteral(".npy").size();
  return !name.empty() && name.size() <= kLongest && name != "." &&
         name != ".." && llvm::none_of(name, [](unsigned char c) {
           return c == '/' || c < ' ' || c == 0x7f;
         });
}

/// Checks a name that becomes a file's name.
static LogicalResult verifyFileName(const AttributePosition &position,
                                    NamedAttribute attr) {
  if (failed(expectString(position, attr)))
    return failure();
  if (isFileName(cast<StringAttr>(attr.getValue()).getValue()))
    return success();
  return position.op->emitError()
         << (position.holder == kOnArgument ? "argument " : "result ")
         << position.index << ": " << attr.getName().getValue()
         << ": expects a name for a file, of 1 to 251 bytes without '/' and "
            "control characters, but got "
         << attr.getValue();
}

/// Checks the name of an argument or a result, which must be unique since files
/// and reports use it.
static LogicalResult verifyName(const AttributePosition &position,
                                NamedAttribute attr) {
  if (failed(verifyFileName(position, attr)))
    return failure();
  bool isTensor = isa<RankedTensorType>(position.type);
  if (!isTensor && (attr.getName() == NNDialect::kParamAttr ||
                    attr.getName() == NNDialect::kStateAttr))
    return position.op->emitError()
           << "argument " << position.index << ": " << attr.getName().getValue()
           << ": expects a ranked tensor but got " << position.type;
  bool ofArgument = position.holder == kOnArgument;
  ArrayRef<StringRef> keys =
      ofArgument ? ArrayRef(NNDialect::kArgumentNames) : ArrayRef(kResultNames);
  if (!isFirstWith(position, keys))
    return success();
  auto func = cast<FunctionOpInterface>(position.op);
  unsigned count = ofArgument ? func.getNumArguments() : func.getNumResults();
  llvm::StringMap<unsigned> owners;
  for (unsigned i = 0; i < count; ++i)
    for (StringRef key : keys) {
      auto name = dyn_cast_or_null<StringAttr>(
          ofArgument ? func.getArgAttr(i, key) : func.getResultAttr(i, key));
      if (!name)
        continue;
      auto [it, isNew] = owners.try_emplace(name.getValue(), i);
      StringRef what = ofArgument ? "argument " : "result ";
      if (!isNew)
        return position.op->emitError()
               << what << i << ": " << key
               << ": expects a name of its own but got " << name
               << ", the name of " << what << it->second;
    }
  return success();
}

/// Checks the name and the type of a control.
static LogicalResult verifyControl(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto name = dyn_cast<StringAttr>(attr.getValue());
  auto type = dyn_cast<RankedTensorType>(position.type);
  bool isKnown = name && (name.getValue() == NNDialect::kNormLimit ||
                          name.getValue() == NNDialect::kLossLimit);
  if (isKnown && type && type.getRank() == 0 && type.getElementType().isF32())
    return verifyName(position, attr);
  return position.op->emitError()
         << "argument " << position.index << ": nn.control: expects \""
         << NNDialect::kNormLimit << "\" or \"" << NNDialect::kLossLimit
         << "\" on a tensor<f32> but got " << attr.getValue() << " on "
         << position.type;
}

static constexpr KnownAttribute kKnown[] = {
    {NNDialect::kParamAttr, kOnArgument, verifyName},
    {NNDialect::kStateAttr, kOnArgument, verifyName},
    {NNDialect::kInputAttr, kOnArgument, verifyName},
    {NNDialect::kControlAttr, kOnArgument, verifyControl},
    {NNDialect::kOfAttr, kOnArgument, verifyFileName},
    {NNDialect::kMasterAttr, kOnArgument, expectUnit},
    {NNDialect::kVocabAttr, kOnArgument, verifyVocab},
    {NNDialect::kIgnoredAttr, kOnArgument, verifyIgnored},
    {NNDialect::kUnsignedAttr, kOnArgument | kOnResult, verifyUnsigned},
    {NNDialect::kEodAttr, kOnArgument, verifyEod},
    {NNDialect::kLabelShiftAttr, kOnArgument, verifyLabelShift},
    {NNDialect::kInitAttr, kOnArgument, verifyInit},
    {NNDialect::kOrderAttr, kOnArgument | kOnResult, verifyOrder},
    {NNDialect::kDimsAttr, kOnArgument | kOnOperation, verifyDims},
    {NNDialect::kOutputAttr, kOnResult, verifyName},
    {NNDialect::kStoredShapeAttr, kOnArgument, verifyFlat},
    {NNDialect::kLogicalShapeAttr, kOnArgument, verifyFlat},
    {NNDialect::kTilesAttr, kOnArgument, verifyFlat},
    {NNDialect::kSourceAttr, kOnArgument, verifySource},
    {NNDialect::kFrozenAttr, kOnArgument, verifyFrozen},
    {NNDialect::kTrainedAttr, kOnArgument, verifyTrained},
    {NNDialect::kWideAttr, kOnArgument | kOnOperation, expectUnit},
};

LogicalResult NNDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  return verifyKnownAttribute(kKnown, AttributePosition::onOp(op), attr);
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned argument,
                                                  NamedAttribute attr) {
  return verifyKnownAttribute(
      kKnown, AttributePosition::onArgument(op, argument), attr);
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned result,
                                                     NamedAttribute attr) {
  return verifyKnownAttribute(kKnown, AttributePosition::onResult(op, result),
                              attr);
}
