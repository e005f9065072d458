//===- RTDialect.cpp - The dialect, layouts, element types ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RTCost.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Interfaces/KnownAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

#include "dialects/RT/RTDialect.cpp.inc"
#include "dialects/RT/RTEnums.cpp.inc"
#include "dialects/RT/RTInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/RT/RTAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/RT/RTOps.cpp.inc"

void RTDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/RT/RTAttrs.cpp.inc"
      >();
}

void RTDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/RT/RTOps.cpp.inc"
      >();
  attachCostModels(getContext());
  addInterfaces<ModelledDialect>();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Checks for one offset per result on an op, or per argument on a function.
/// Only values that are not tensors have negative offsets.
static LogicalResult verifyOffsets(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto offsets = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  auto func = dyn_cast<func::FuncOp>(position.op);
  int64_t expected =
      func ? func.getNumArguments() : position.op->getNumResults();
  if (!offsets || offsets.size() != expected)
    return position.op->emitError() << "rt.offsets: expects " << expected
                                    << " offsets but got " << attr.getValue();
  return success();
}

static LogicalResult verifyReuse(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto func = dyn_cast<func::FuncOp>(position.op);
  if (!func)
    return success();
  auto pairs = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (!pairs || pairs.size() % 2)
    return func.emitError("rt.reuse: expects pairs but got ")
           << attr.getValue();
  for (int64_t i = 0; i < pairs.size(); i += 2)
    if (pairs[i] < 0 || pairs[i] >= func.getNumResults() || pairs[i + 1] < 0 ||
        pairs[i + 1] >= func.getNumArguments())
      return func.emitError("rt.reuse: expects pairs of a result and an "
                            "argument but got ")
             << attr.getValue();
  return success();
}

static LogicalResult verifyTriples(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto triples = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (triples && triples.size() % 3 == 0)
    return success();
  return position.op->emitError()
         << attr.getName().getValue() << ": expects triples but got "
         << attr.getValue();
}

static LogicalResult verifyTarget(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto text = dyn_cast<StringAttr>(attr.getValue());
  if (text && parseTarget(text.getValue()))
    return success();
  return position.op->emitError() << "rt.target: expects \"host\", \"cuda\" or "
                                     "\"cuda-emulated\" on a module but got "
                                  << attr.getValue();
}

static LogicalResult verifyWhile(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto loop = dyn_cast<LoopLikeOpInterface>(position.op);
  auto flag =
      RankedTensorType::get({}, IntegerType::get(position.op->getContext(), 1));
  if (isa<UnitAttr>(attr.getValue()) && loop && !loop.getInits().empty() &&
      loop.getInits().front().getType() == flag)
    return success();
  return position.op->emitError()
         << "rt.while: expects a unit attribute on a loop "
            "that carries a tensor<i1> first but got "
         << attr.getValue();
}

static LogicalResult verifyMemory(const AttributePosition &position,
                                  NamedAttribute attr) {
  if (isa<DictionaryAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << "rt.memory: expects a dictionary but got " << attr.getValue();
}

static LogicalResult verifyTask(const AttributePosition &position,
                                NamedAttribute attr) {
  auto task = dyn_cast<TaskAttr>(attr.getValue());
  if (task && task.getKind() >= TESSERA_RT_TASK_F &&
      task.getKind() <= TESSERA_RT_TASK_BW && task.getChunk() >= 0)
    return success();
  return position.op->emitError()
         << "rt.task: expects a kind of 0 to 3 and a chunk but got "
         << attr.getValue();
}

static LogicalResult verifyBeside(const AttributePosition &position,
                                  NamedAttribute attr) {
  if (position.holder == kOnArgument)
    return expectUnit(position, attr);
  auto task = dyn_cast<TaskAttr>(attr.getValue());
  auto own = position.op->getAttrOfType<TaskAttr>(RTDialect::kTaskAttr);
  if (task && task.getKind() == TESSERA_RT_TASK_BW && task.getChunk() >= 0 &&
      own && own.getKind() == TESSERA_RT_TASK_F)
    return success();
  return position.op->emitError()
         << "rt.beside: expects a BW, #rt.task<3 chunk>, of a function whose "
            "rt.task is an F but got "
         << attr.getValue();
}

static LogicalResult verifyPlace(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto place = dyn_cast<PlaceAttr>(attr.getValue());
  if (place && place.getIndex() >= 0)
    return success();
  return position.op->emitError()
         << "rt.place: expects a place with an index of at least 0 but got "
         << attr.getValue();
}

static LogicalResult expectIntegers(const AttributePosition &position,
                                    NamedAttribute attr) {
  if (isa<DenseI64ArrayAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << attr.getName().getValue() << ": expects integers but got "
         << attr.getValue();
}

static constexpr KnownAttribute kKnown[] = {
    {RTDialect::kKernelAttr, kOnFunction, expectUnit},
    {RTDialect::kBatchAttr, kOnFunction, expectUnit},
    {RTDialect::kRowsAttr, kOnFunction, expectInteger},
    {RTDialect::kReuseAttr, kOnFunction, verifyReuse},
    {RTDialect::kOffsetsAttr, kOnFunction | kOnOperation, verifyOffsets},
    {RTDialect::kBeginsAttr, kOnFunction | kOnOperation, verifyTriples},
    {RTDialect::kEndsAttr, kOnFunction | kOnOperation, verifyTriples},
    {RTDialect::kSlotAttr, kOnOperation, expectInteger},
    {RTDialect::kArenaBytesAttr, kOnFunction, expectInteger},
    {RTDialect::kMemoryAttr, kOnFunction, verifyMemory},
    {RTDialect::kWhileAttr, kOnOperation, verifyWhile},
    {RTDialect::kStepAttr, kOnFunction, expectUnit},
    {RTDialect::kTaskAttr, kOnFunction, verifyTask},
    {RTDialect::kBesideAttr, kOnFunction | kOnArgument, verifyBeside},
    {RTDialect::kPlaceAttr, kOnArgument, verifyPlace},
    {RTDialect::kSegmentsAttr, kOnFunction, expectIntegers},
    {RTDialect::kEntriesAttr, kOnOperation, expectIntegers},
    {RTDialect::kTargetAttr, kOnModule, verifyTarget},
    {RTDialect::kManifestAttr, kOnModule, expectString},
};

LogicalResult RTDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  return verifyKnownAttribute(kKnown, AttributePosition::onOp(op), attr);
}

LogicalResult RTDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned argument,
                                                  NamedAttribute attr) {
  return verifyKnownAttribute(
      kKnown, AttributePosition::onArgument(op, argument), attr);
}

//===----------------------------------------------------------------------===//
// Types and layouts
//===----------------------------------------------------------------------===//

std::optional<int32_t> rt::getRuntimeType(Type type) {
  if (type.isF32())
    return TESSERA_RT_F32;
  if (type.isBF16())
    return TESSERA_RT_BF16;
  if (type.isF16())
    return TESSERA_RT_F16;
  if (type.isF64())
    return TESSERA_RT_F64;
  if (type.isInteger(1))
    return TESSERA_RT_I1;
  if (type.isInteger(8))
    return TESSERA_RT_I8;
  if (type.isInteger(32))
    return TESSERA_RT_I32;
  if (type.isInteger(64))
    return TESSERA_RT_I64;
  if (isa<Float8E4M3FNType>(type))
    return TESSERA_RT_F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return TESSERA_RT_F8E5M2;
  if (type.isInteger(16))
    return TESSERA_RT_I16;
  return std::nullopt;
}

static constexpr llvm::StringLiteral targetNames[] = {"host", "cuda",
                                                      "cuda-emulated"};

StringRef rt::stringifyTarget(Target target) {
  return targetNames[static_cast<int>(target)];
}

std::optional<Target> rt::parseTarget(StringRef name) {
  for (auto [i, known] : llvm::enumerate(targetNames))
    if (name == known)
      return static_cast<Target>(i);
  return std::nullopt;
}

Target rt::getTarget(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto text = module->getAttrOfType<StringAttr>(RTDialect::kTargetAttr);
  return text ? parseTarget(text.getValue()).value_or(Target::Host)
              : Target::Host;
}

int64_t rt::getElementBytes(Type type) {
  if (type.isIndex())
    return 8;
  // LLVM's layout: 24 bits take 4 bytes.
  return llvm::PowerOf2Ceil(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
}

int64_t rt::getTensorBytes(RankedTensorType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

SmallVector<int64_t> rt::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

LogicalResult
MatmulLayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         int64_t batch, int64_t m, int64_t n, int64_t k,
                         int64_t lda, int64_t ldb, int64_t ldc, int64_t strideA,
                         int64_t strideB, int64_t strideC, int64_t transA,
                         int64_t transB) {
  for (int64_t size : {batch, m, n, k})
    if (size < 1)
      return emitError() << "(C1) expects sizes of at least 1 but got " << size;
  for (int64_t flag : {transA, transB})
    if (flag != 0 && flag != 1)
      return emitError() << "(C3) expects trans_a and trans_b 0 or 1 but got "
                         << flag;
  struct Stored {
    char name;
    int64_t rows, row, leading;
  };
  for (Stored s : {Stored{'a', transA ? k : m, transA ? m : k, lda},
                   Stored{'b', transB ? n : k, transB ? k : n, ldb},
                   Stored{'c', m, n, ldc}})
    if (s.rows > 1 && s.leading < s.row)
      return emitError() << "(C2) expects ld" << s.name << " of at least "
                         << s.row << " but got " << s.leading;
  return success();
}
