//===- Converter.cpp - Converts ops of StableHLO one by one ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include "tessera/Interfaces/Limits.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The most ops that calls and loops may expand to.
static constexpr int64_t kMaxOps = 1 << 18;
/// The deepest nesting of calls and loops.
static constexpr int64_t kMaxDepth = 64;

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

OpConversion::OpConversion(Converter &converter, Operation *op,
                           SmallVector<Value> operands)
    : converter(converter), op(op), operands(std::move(operands)),
      b(converter.builder, op->getLoc()) {}

FailureOr<SmallVector<int64_t>>
OpConversion::getIntegers(StringRef name) const {
  std::optional<SmallVector<int64_t>> integers =
      stablehlo::getIntegers(getSourceAttr(op, name));
  if (!integers)
    return error() << "expects a list of integers as " << name;
  return *integers;
}

FailureOr<std::array<SmallVector<int64_t>, 3>>
OpConversion::getIntegers(const std::array<StringRef, 3> &names) const {
  std::array<SmallVector<int64_t>, 3> lists;
  for (auto [list, name] : llvm::zip_equal(lists, names)) {
    FailureOr<SmallVector<int64_t>> found = getIntegers(name);
    if (failed(found))
      return failure();
    list = std::move(*found);
  }
  return lists;
}

FailureOr<int64_t> OpConversion::getDim(StringRef name, int64_t rank) const {
  auto attr = dyn_cast_or_null<IntegerAttr>(getSourceAttr(op, name));
  if (!attr || !attr.getType().isInteger(64) || attr.getInt() < 0 ||
      attr.getInt() >= rank)
    return error() << "expects a dimension below " << rank << " as " << name;
  return attr.getInt();
}

FailureOr<StringRef> OpConversion::getCase(StringRef name) const {
  StringRef value = stablehlo::getCase(getSourceAttr(op, name), name);
  if (value.empty())
    return error() << "expects #stablehlo<" << name << " ...> as " << name;
  return value;
}

LogicalResult OpConversion::checkDims(ArrayRef<int64_t> dims, int64_t rank,
                                      StringRef what) const {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= rank || llvm::is_contained(dims.take_front(i), dim))
      return error() << "expects dimensions below " << rank
                     << ", each once, as " << what << " but got " << dim;
  return success();
}

LogicalResult OpConversion::checkSameTypes() const {
  for (Value operand : operands)
    if (operand.getType() != operands[0].getType())
      return error() << "expects operands of one type but got "
                     << operands[0].getType() << " and " << operand.getType();
  return success();
}

Type tessera::stablehlo::withoutSign(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!hasUnsigned(type))
    return type;
  return tensor.clone(
      IntegerType::get(type.getContext(), tensor.getElementTypeBitWidth()));
}

bool tessera::stablehlo::hasUnsigned(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isUnsignedInteger();
}

RankedTensorType OpConversion::resultType(unsigned i) const {
  return cast<RankedTensorType>(withoutSign(op->getResult(i).getType()));
}

bool OpConversion::isUnsigned(unsigned operand) const {
  return hasUnsigned(op->getOperand(operand).getType());
}
bool OpConversion::makesUnsigned() const {
  return hasUnsigned(op->getResult(0).getType());
}

Value OpConversion::turn(Value x) const {
  RankedTensorType type = b.typeOf(x);
  APInt top = APInt::getSignMask(type.getElementTypeBitWidth());
  return b.fold<arith::XOrIOp>(
      x, b.constant(type, b.b.getIntegerAttr(type.getElementType(), top)));
}

Value OpConversion::ordered(unsigned i) const {
  return isUnsigned(i) ? turn(operands[i]) : operands[i];
}

Value OpConversion::positions(unsigned i) const {
  RankedTensorType type = operandType(i);
  unsigned width = type.getElementTypeBitWidth();
  if (!isUnsigned(i))
    return operands[i];
  if (width == 64) {
    auto most = b.b.getI64IntegerAttr(std::numeric_limits<int64_t>::max());
    return b.fold<arith::MinUIOp>(operands[i], b.constant(type, most));
  }
  Type wide = b.b.getIntegerType(width < 32 ? 32 : 64);
  return b.fold<arith::ExtUIOp>(type.clone(wide), operands[i]);
}

bool OpConversion::isFloat() const {
  return isa<FloatType>(operandType(0).getElementType());
}
bool OpConversion::isBool() const {
  return operandType(0).getElementType().isInteger(1);
}

LogicalResult OpConversion::yield(ValueRange built) const {
  if (built.size() != op->getNumResults())
    return error() << "expects " << op->getNumResults() << " results but got "
                   << built.size();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), built)) {
    if (withoutSign(result.getType()) != value.getType())
      return error() << "expects a result of " << value.getType() << " but got "
                     << result.getType();
    converter.setResult(result, value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

Converter::Converter(ModuleOp module, const SourceMesh &mesh,
                     OpBuilder &builder)
    : mesh(mesh), builder(builder), symbols(module), budget(kMaxOps) {
  addElementwiseHandlers(table);
  addShapeHandlers(table);
  addBlockHandlers(table);
  addReductionHandlers(table);
  addOrderHandlers(table);
  addWindowHandlers(table);
  addConvolutionHandlers(table);
  addGatherHandlers(table);
  addScatterHandlers(table);
  addControlHandlers(table);
  addExpertHandlers(table);
}

func::FuncOp Converter::lookUp(Attribute symbol) {
  auto reference = dyn_cast_or_null<FlatSymbolRefAttr>(symbol);
  return reference ? symbols.lookup<func::FuncOp>(reference.getAttr())
                   : func::FuncOp();
}

LogicalResult tessera::stablehlo::checkType(Operation *op, Type type,
                                            StringRef what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return op->emitOpError("expects a tensor of static shape as ")
           << what << " but got " << type;
  auto integer = dyn_cast<IntegerType>(tensor.getElementType());
  auto real = dyn_cast<FloatType>(tensor.getElementType());
  bool isKnown = integer ? !integer.isSigned() && integer.getWidth() >= 1 &&
                               integer.getWidth() <= 64
                         : real && real.getWidth() <= 64;
  if (!isKnown)
    return op->emitOpError("expects floats or integers as ")
           << what << " but got " << type;
  if (isTooLarge(tensor.getShape()) || llvm::is_contained(tensor.getShape(), 0))
    return op->emitOpError("expects a tensor of 1 to 2^48 elements as ")
           << what << " but got " << type;
  return success();
}

LogicalResult Converter::spend(Operation *op) {
  if (--budget >= 0)
    return success();
  return op->emitOpError("expects at most ")
         << kMaxOps << " ops once calls are inlined and loops unrolled";
}

FailureOr<SmallVector<Value>> Converter::lookUpOperands(Operation *op) {
  SmallVector<Value> found;
  for (Value operand : op->getOperands()) {
    found.push_back(values.lookup(operand));
    if (!found.back())
      return op->emitOpError("expects operands that are computed before it");
  }
  return found;
}

LogicalResult Converter::convert(Operation *op) {
  StringRef name = op->getName().getStringRef();
  const HandlerTable::Entry *entry = table.find(name);
  if (!entry)
    return op->emitOpError("expects an op that has a meaning in nn");
  for (StringRef sharding : {StringRef(kSdySharding), StringRef(kTiles)})
    if (Attribute attr = op->getDiscardableAttr(sharding);
        attr && name != kCustomCall)
      return op->emitOpError("expects shardings of arguments, results and "
                             "constraints but got ")
             << sharding << " = " << attr;
  if (failed(spend(op)))
    return failure();
  auto isExpected = [](int expected, unsigned number) {
    return expected == HandlerTable::kAny || unsigned(expected) == number;
  };
  if (!isExpected(entry->operands, op->getNumOperands()) ||
      !isExpected(entry->results, op->getNumResults()))
    return op->emitOpError("expects ")
           << entry->operands << " operands and " << entry->results
           << " results but got " << op->getNumOperands() << " and "
           << op->getNumResults();
  FailureOr<SmallVector<Value>> operands = lookUpOperands(op);
  if (failed(operands))
    return failure();
  for (Value operand : *operands)
    if (failed(checkType(op, operand.getType(), "an operand")))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type, "a result")))
      return failure();
  OpConversion conversion(*this, op, std::move(*operands));
  return entry->handler(conversion);
}

LogicalResult Converter::convertBody(Operation *owner, Region &body,
                                     ValueRange arguments,
                                     SmallVectorImpl<Value> &results) {
  if (!body.hasOneBlock() || body.front().empty())
    return owner->emitOpError("expects a body of one block");
  if (depth == kMaxDepth)
    return owner->emitOpError("expects calls and loops nested at most ")
           << kMaxDepth << " deep";
  if (failed(spend(owner)))
    return failure();
  Block &block = body.front();
  if (!llvm::equal(llvm::map_range(block.getArgumentTypes(), withoutSign),
                   arguments.getTypes()))
    return owner->emitOpError("expects a body with arguments of the types of "
                              "its operands");
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  ++depth;
  for (Operation &op : llvm::make_range(block.begin(), std::prev(block.end())))
    if (failed(convert(&op)))
      return failure();
  --depth;
  Operation &last = block.back();
  StringRef name = last.getName().getStringRef();
  if (name != "stablehlo.return" && name != "func.return")
    return last.emitOpError("expects a return at the end of a body");
  FailureOr<SmallVector<Value>> returned = lookUpOperands(&last);
  if (failed(returned))
    return failure();
  results.assign(returned->begin(), returned->end());
  return success();
}
