//===- LowerToRT.cpp - The step becomes calls on offsets ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerGPUKernels.h"
#include "LowerKernels.h"
#include "Manifest.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Conversion/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERTORTPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {

class StepLowering {
public:
  StepLowering(ModuleOp module, func::FuncOp step, const Mesh &mesh)
      : module(module), step(step), mesh(mesh),
        b(step.getLoc(), step.getContext()) {}
  LogicalResult run(StringRef program);

private:
  LogicalResult recordOffsets();
  int64_t offsetOf(Value value) const { return offsets.lookup(value); }
  SmallVector<int64_t> digitsOf(dist::AxesAttr axes) const;
  LogicalResult lower(Operation *op);
  LogicalResult lowerAll(Block &block);
  LogicalResult lowerLoop(scf::ForOp op);
  void lowerKernelCall(rt::KernelOp op);
  void lowerBatch(rt::KernelOp op, func::FuncOp batch);
  void createLaunch(StringRef name, ArrayRef<int64_t> addresses,
                    ValueRange words);
  void launchOnDevice(func::FuncOp kernel, ArrayRef<InPlace> inPlace,
                      StringRef name, ArrayRef<int64_t> addresses,
                      ValueRange words);
  void startFrom(Value init, Value result);
  void lowerMatmul(rt::MatmulOp op);
  void lowerMatmulFused(rt::MatmulFusedOp op);
  void lowerScaledMatmul(rt::ScaledMatmulOp op);
  template <typename Call, typename Op> void lowerAttention(Op op);
  void lowerEmbeddingBackward(rt::EmbeddingBackwardOp op);
  void lowerCopy(rt::CopyOp op);
  void lowerConcat(rt::ConcatOp op);
  void lowerAssemble(rt::AssembleOp op);
  void lowerStart(dist::StartOp op);
  void lowerSend(dist::SendOp op);
  void lowerRecv(dist::RecvOp op);
  /// Runs `build` on the devices at `coordinate` of an axis, `otherwise` on the
  /// others.
  void atCoordinate(AxisDigit digit, int64_t coordinate,
                    llvm::function_ref<void()> build,
                    llvm::function_ref<void()> otherwise);

  ModuleOp module;
  func::FuncOp step;
  const Mesh &mesh;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, int64_t> offsets;
  IRMapping scalars;
  llvm::StringMap<func::FuncOp> lowered;
  /// Kernels of a device, and their number in its module.
  gpu::GPUModuleOp device;
  llvm::StringMap<std::pair<GPUKernel, int64_t>> deviceKernels;
  int64_t sequence = 0;
};

} // namespace

LogicalResult StepLowering::recordOffsets() {
  auto ofArguments =
      step->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
  if (!ofArguments || !step->hasAttr(RTDialect::kArenaBytesAttr))
    return step.emitError("expects a function with a planned arena: "
                          "rt-plan-arena has not run");
  for (auto [argument, offset] :
       llvm::zip(step.getArguments(), ofArguments.asArrayRef()))
    offsets[argument] = offset;
  WalkResult result = step.getBody().walk([&](Operation *op) {
    auto ofResults =
        op->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
    if (op->getParentOfType<dist::StartOp>())
      return WalkResult::advance();
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (!isa<RankedTensorType, dist::FutureType>(result.getType()))
        continue;
      if (!ofResults) {
        op->emitError("expects an op with offsets: rt-plan-arena has not run");
        return WalkResult::interrupt();
      }
      offsets[result] = ofResults[i];
      // What a loop carries lies in one place.
      if (auto loop = dyn_cast<scf::ForOp>(op))
        offsets[loop.getRegionIterArg(i)] = ofResults[i];
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

SmallVector<int64_t> StepLowering::digitsOf(dist::AxesAttr axes) const {
  SmallVector<int64_t> digits;
  for (const AxisRef &ref : axes.toAxes(mesh)) {
    AxisDigit digit = mesh.digit(ref);
    digits.append({digit.stride, digit.size});
  }
  return digits;
}

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

/// Where the results of a call lie over operands of it.
static SmallVector<InPlace>
findInPlace(rt::KernelOp op, llvm::function_ref<int64_t(Value)> operandOffset,
            llvm::function_ref<int64_t(unsigned)> resultOffset) {
  SmallVector<InPlace> inPlace;
  for (unsigned r = 0; r < op.getNumResults(); ++r)
    for (OpOperand &operand : op->getOpOperands())
      if (op.mayReuse(r, operand.getOperandNumber()) &&
          operandOffset(operand.get()) == resultOffset(r)) {
        inPlace.push_back({r, operand.getOperandNumber()});
        break;
      }
  return inPlace;
}

void StepLowering::lowerKernelCall(rt::KernelOp op) {
  auto kernel = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (kernel->hasAttr(RTDialect::kBatchAttr))
    return lowerBatch(op, kernel);
  SmallVector<int64_t> addresses;
  SmallVector<Value> words;
  std::string name = op.getCallee().str() + (device ? "" : "_loops");
  for (Value operand : op.getOperands()) {
    if (isa<RankedTensorType>(operand.getType()))
      addresses.push_back(offsetOf(operand));
    else
      words.push_back(scalars.lookup(operand));
  }
  SmallVector<InPlace> inPlace = findInPlace(
      op, [&](Value operand) { return offsetOf(operand); },
      [&](unsigned r) { return offsetOf(op.getResult(r)); });
  for (OpResult result : op.getResults()) {
    unsigned r = result.getResultNumber();
    auto *pair =
        llvm::find_if(inPlace, [&](InPlace p) { return p.result == r; });
    if (pair != inPlace.end())
      name +=
          "_" + std::to_string(r) + "_over_" + std::to_string(pair->operand);
    else
      addresses.push_back(offsetOf(result));
  }
  if (device)
    return launchOnDevice(kernel, inPlace, name, addresses, words);
  func::FuncOp &loops = lowered[name];
  if (!loops)
    loops = lowerKernel(kernel, inPlace, name);
  int64_t rows =
      kernel->getAttrOfType<IntegerAttr>(RTDialect::kRowsAttr).getInt();
  rt::LaunchOp::create(b, name, rows, getKernelGrain(kernel), addresses, words);
}

void StepLowering::launchOnDevice(func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, StringRef name,
                                  ArrayRef<int64_t> addresses,
                                  ValueRange words) {
  int64_t count = deviceKernels.size();
  auto [it, isNew] = deviceKernels.try_emplace(name);
  auto &[made, number] = it->second;
  if (isNew) {
    made = lowerGPUKernel(device, kernel, inPlace, name);
    number = count;
  }
  createLaunch(name, addresses, words);
}

/// Launches a kernel of the device.
void StepLowering::createLaunch(StringRef name, ArrayRef<int64_t> addresses,
                                ValueRange words) {
  const auto &[made, number] = deviceKernels.find(name)->second;
  auto symbol =
      SymbolRefAttr::get(b.getContext(), RTDialect::kDeviceModule,
                         {FlatSymbolRefAttr::get(b.getContext(), name)});
  rt::LaunchDeviceOp::create(b, symbol, number, made.grid, made.block,
                             made.sharedBytes, addresses, words);
}

/// One launch for all calls of a batch. An operand of several of them is one
/// argument.
void StepLowering::lowerBatch(rt::KernelOp op, func::FuncOp batch) {
  auto offsetInside = [&](Value value) {
    return offsetOf(op.getOperand(cast<BlockArgument>(value).getArgNumber()));
  };
  SmallVector<Type> types;
  SmallVector<int64_t> addresses;
  SmallVector<Value> words;
  llvm::DenseMap<Value, unsigned> positions;
  auto addMemory = [&](Value value, int64_t offset) {
    auto type = cast<RankedTensorType>(value.getType());
    auto [it, isNew] = positions.insert({value, types.size()});
    if (isNew) {
      types.push_back(
          MemRefType::get({type.getNumElements()}, type.getElementType()));
      addresses.push_back(offset);
    }
    return it->second;
  };
  SmallVector<BatchMember> members;
  Operation *terminator = batch.front().getTerminator();
  SmallVector<rt::KernelOp> calls(batch.front().getOps<rt::KernelOp>());
  for (rt::KernelOp call : calls) {
    auto resultOffset = [&](unsigned r) {
      for (OpOperand &use : terminator->getOpOperands())
        if (use.get() == call.getResult(r))
          return offsetOf(op.getResult(use.getOperandNumber()));
      llvm_unreachable("a batch returns all that its kernels make");
    };
    BatchMember member;
    member.kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    member.inPlace = findInPlace(call, offsetInside, resultOffset);
    for (Value operand : call.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        member.arguments.push_back(addMemory(operand, offsetInside(operand)));
    for (OpResult result : call.getResults())
      if (llvm::none_of(member.inPlace, [&](InPlace pair) {
            return pair.result == result.getResultNumber();
          }))
        member.arguments.push_back(
            addMemory(result, resultOffset(result.getResultNumber())));
    members.push_back(std::move(member));
  }
  // Scalars come behind all memory.
  for (auto [member, call] : llvm::zip(members, calls))
    for (Value operand : call.getOperands())
      if (operand.getType().isIndex()) {
        auto [it, isNew] = positions.insert({operand, types.size()});
        if (isNew) {
          types.push_back(operand.getType());
          words.push_back(scalars.lookup(
              op.getOperand(cast<BlockArgument>(operand).getArgNumber())));
        }
        member.arguments.push_back(it->second);
      }
  int64_t number = deviceKernels.size();
  GPUKernel made =
      lowerGPUBatch(device, op.getLoc(), members, types, op.getCallee());
  deviceKernels[op.getCallee()] = {made, number};
  createLaunch(op.getCallee(), addresses, words);
}

/// Makes the place of a result hold what is added to: it lies there already,
/// or is copied.
void StepLowering::startFrom(Value init, Value result) {
  if (offsetOf(init) == offsetOf(result))
    return;
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> strides = rt::getRowMajorStrides(type.getShape());
  rt::CallCopyOp::create(b, rt::getElementBytes(type.getElementType()),
                         type.getShape(), offsetOf(init), strides,
                         offsetOf(result), strides, Value(), IntegerAttr());
}

void StepLowering::lowerMatmul(rt::MatmulOp op) {
  Type element = op.getLhs().getType().getElementType();
  Type resultElement = op.getResult().getType().getElementType();
  int64_t places[] = {offsetOf(op.getLhs()), offsetOf(op.getRhs()),
                      offsetOf(op.getResult())};
  // A device adds what lies elsewhere.
  if (op.getInit() && device && op.getLayout().getBatch() == 1 &&
      offsetOf(op.getInit()) != places[2]) {
    rt::CallMatmulFusedOp::create(
        b, rt::EpilogueKind::None, op.getLayout(), element, resultElement,
        places, b.getI64IntegerAttr(offsetOf(op.getInit())),
        /*bias=*/IntegerAttr(), /*bias_element=*/TypeAttr(),
        /*aux=*/IntegerAttr());
    return;
  }
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  rt::CallMatmulOp::create(b, op.getLayout(), /*accumulate=*/bool(op.getInit()),
                           element, resultElement, places);
}

void StepLowering::lowerMatmulFused(rt::MatmulFusedOp op) {
  Value extra = op.getExtras().empty() ? Value() : op.getExtras().front();
  bool isGelu = op.getKind() == rt::EpilogueKind::Gelu;
  Value bias = isGelu || op.getBias() ? op.getBias() : extra;
  Value aux = isGelu ? extra : op.getArgument();
  auto place = [&](Value value) {
    return value ? b.getI64IntegerAttr(offsetOf(value)) : IntegerAttr();
  };
  rt::CallMatmulFusedOp::create(
      b, op.getKind(), op.getLayout(), op.getLhs().getType().getElementType(),
      op.getResult().getType().getElementType(),
      ArrayRef<int64_t>{offsetOf(op.getLhs()), offsetOf(op.getRhs()),
                        offsetOf(op.getResult())},
      place(op.getInit()), place(bias),
      bias ? TypeAttr::get(getElementTypeOrSelf(bias.getType())) : TypeAttr(),
      place(aux));
}

void StepLowering::lowerScaledMatmul(rt::ScaledMatmulOp op) {
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  SmallVector<Attribute> types;
  SmallVector<int64_t> offsets;
  for (Value tensor : {op.getLhs(), op.getRhs(), op.getLhsScale(),
                       op.getRhsScale(), op.getResult()})
    offsets.push_back(offsetOf(tensor));
  for (Value tensor : {op.getLhs(), op.getRhs(), op.getResult()})
    types.push_back(TypeAttr::get(
        cast<RankedTensorType>(tensor.getType()).getElementType()));
  rt::CallScaledMatmulOp::create(b, op.getLayout(), bool(op.getInit()),
                                 b.getArrayAttr(types), offsets);
}

/// The call for attention or its gradients; tensors are its operands, then its
/// results.
template <typename Call, typename Op> void StepLowering::lowerAttention(Op op) {
  ArrayRef<int64_t> q = op.getQ().getType().getShape();
  SmallVector<Value> positions;
  for (Value offset : op.getPositionOffsets())
    positions.push_back(scalars.lookup(offset));
  SmallVector<int64_t> sizes{
      q[0], q[1], op.getK().getType().getDimSize(1), q[2],
      q[3], q[4], op.getV().getType().getDimSize(3)};
  SmallVector<int64_t> places;
  for (Value value : op->getOperands())
    if (isa<RankedTensorType>(value.getType()))
      places.push_back(offsetOf(value));
  for (Value value : op->getResults())
    places.push_back(offsetOf(value));
  Call::create(b, op.getCausal(), op.getScale(), op.getKeySizeAttr(),
               op.getQ().getType().getElementType(), sizes, places, positions);
}

void StepLowering::lowerEmbeddingBackward(rt::EmbeddingBackwardOp op) {
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  RankedTensorType result = op.getResult().getType(),
                   ids = op.getIds().getType();
  rt::CallEmbeddingBackwardOp::create(
      b, /*accumulate=*/bool(op.getInit()),
      op.getGrad().getType().getElementType(), ids.getElementType(),
      result.getElementType(),
      ArrayRef<int64_t>{ids.getNumElements(), result.getDimSize(0),
                        result.getDimSize(1)},
      ArrayRef<int64_t>{offsetOf(op.getGrad()), offsetOf(op.getIds()),
                        offsetOf(op.getResult())},
      op.getOffset() ? scalars.lookup(op.getOffset()) : Value());
}

void StepLowering::lowerCopy(rt::CopyOp op) {
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  SmallVector<int64_t> target = rt::getRowMajorStrides(type.getShape());
  // Memory was planned so that the elements lie there already.
  if (!op.getStart() && op.getStrides() == ArrayRef(target) &&
      offsetOf(op.getSource()) + int64_t(op.getBase()) * bytes ==
          offsetOf(op.getResult()))
    return;
  Value start = op.getStart() ? scalars.lookup(op.getStart()) : Value();
  rt::CallCopyOp::create(
      b, bytes, type.getShape(),
      offsetOf(op.getSource()) + int64_t(op.getBase()) * bytes, op.getStrides(),
      offsetOf(op.getResult()), target, start, op.getDimAttr());
}

void StepLowering::lowerConcat(rt::ConcatOp op) {
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  SmallVector<int64_t> target = rt::getRowMajorStrides(type.getShape());
  int64_t place = offsetOf(op.getResult());
  for (Value source : op.getSources()) {
    auto part = cast<RankedTensorType>(source.getType());
    // What was made in its place lies there alone: no other source does.
    if (offsetOf(source) != place)
      rt::CallCopyOp::create(b, bytes, part.getShape(), offsetOf(source),
                             rt::getRowMajorStrides(part.getShape()), place,
                             target, Value(), IntegerAttr());
    place += part.getDimSize(op.getDim()) * target[op.getDim()] * bytes;
  }
}

void StepLowering::lowerAssemble(rt::AssembleOp op) {
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  for (auto [piece, start] : llvm::zip_equal(op.getPieces(), op.getStarts())) {
    auto part = cast<RankedTensorType>(piece.getType());
    rt::CallCopyOp::create(b, bytes, part.getShape(), offsetOf(piece),
                           rt::getRowMajorStrides(part.getShape()),
                           offsetOf(op.getResult()),
                           rt::getRowMajorStrides(type.getShape()),
                           scalars.lookup(start), op.getDimAttr(),
                           /*in_target=*/true);
  }
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// Product of the sizes from `begin` to `end`.
static int64_t product(ArrayRef<int64_t> shape, int64_t begin, int64_t end) {
  int64_t result = 1;
  for (int64_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

void StepLowering::lowerStart(dist::StartOp op) {
  Operation *inner = &op.getBody().front().front();
  auto collective = cast<dist::CollectiveOpInterface>(inner);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = type.getRank(), count = type.getNumElements();
  int64_t source = offsetOf(op.getInput()), target = offsetOf(op.getFuture());
  int64_t slot = op->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt();
  SmallVector<int64_t> digits = digitsOf(collective.getAxes());
  Type element = type.getElementType();
  int64_t number = sequence++;
  llvm::TypeSwitch<Operation *>(inner)
      .Case([&](dist::AllGatherOp g) {
        int64_t dim = g.getDim();
        rt::AllGatherStartOp::create(
            b, slot, number, digits, product(shape, 0, dim),
            product(shape, dim, rank), source, target, element);
      })
      .Case([&](dist::ReduceScatterOp r) {
        int64_t dim = r.getDim();
        auto result = cast<RankedTensorType>(r.getResult().getType());
        rt::ReduceScatterStartOp::create(
            b, slot, number, digits, int64_t(r.getKind()),
            product(shape, 0, dim), product(result.getShape(), dim, rank),
            source, target, element);
      })
      .Case([&](dist::AllReduceOp r) {
        rt::AllReduceStartOp::create(b, slot, number, digits,
                                     int64_t(r.getKind()), count, source,
                                     target, element);
      })
      .Case([&](dist::AllToAllOp a) {
        rt::AllToAllStartOp::create(b, slot, number, digits, shape,
                                    a.getSplitDim(), a.getGatherDim(), source,
                                    target, element);
      })
      .Case([&](dist::PermuteOp p) {
        SmallVector<int64_t> pairs;
        for (auto [from, to] : llvm::enumerate(p.getTargets()))
          pairs.append({int64_t(from), to});
        rt::PermuteStartOp::create(b, slot, number, digits, pairs, count,
                                   source, target, element);
      })
      .Case([&](dist::BroadcastOp c) {
        rt::BroadcastStartOp::create(b, slot, number, digits, c.getRoot(),
                                     count, source, target, element);
      });
}

void StepLowering::atCoordinate(AxisDigit digit, int64_t coordinate,
                                llvm::function_ref<void()> build,
                                llvm::function_ref<void()> otherwise) {
  Value here = rt::AxisOffsetOp::create(
      b, b.getIndexType(), ArrayRef<int64_t>{digit.stride, digit.size}, 1);
  Value isHere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, here,
                            arith::ConstantIndexOp::create(b, coordinate));
  auto branch = scf::IfOp::create(b, isHere, /*withElse=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  build();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

/// A transfer is posted and completed at once, in a slot that nothing else has.
static constexpr int64_t kTransferSlot = 63;

void StepLowering::lowerSend(dist::SendOp op) {
  AxisDigit digit = mesh.digit(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t number = sequence++;
  atCoordinate(
      digit, op.getFrom(),
      [&] {
        rt::SendStartOp::create(b, kTransferSlot, number,
                                ArrayRef<int64_t>{digit.stride, digit.size},
                                op.getTo(), op.getTag(), type.getNumElements(),
                                offsetOf(op.getInput()), type.getElementType());
        rt::WaitOp::create(b, kTransferSlot);
      },
      nullptr);
}

void StepLowering::lowerRecv(dist::RecvOp op) {
  AxisDigit digit = mesh.digit(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t number = sequence++;
  int64_t target = offsetOf(op.getResult());
  atCoordinate(
      digit, op.getTo(),
      [&] {
        rt::RecvStartOp::create(
            b, kTransferSlot, number,
            ArrayRef<int64_t>{digit.stride, digit.size}, op.getFrom(),
            op.getTag(), type.getNumElements(), target, type.getElementType());
        rt::WaitOp::create(b, kTransferSlot);
      },
      [&] {
        rt::CallFillOp::create(b, rt::getElementBytes(type.getElementType()),
                               type.getNumElements(), /*bits=*/0, target);
      });
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

LogicalResult StepLowering::lower(Operation *op) {
  b.setLoc(op->getLoc());
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, func::ReturnOp,
          scf::YieldOp>(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerLoop(loop);
  bool known =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](rt::KernelOp o) { return lowerKernelCall(o), true; })
          .Case([&](rt::MatmulOp o) { return lowerMatmul(o), true; })
          .Case([&](rt::MatmulFusedOp o) { return lowerMatmulFused(o), true; })
          .Case(
              [&](rt::ScaledMatmulOp o) { return lowerScaledMatmul(o), true; })
          .Case([&](rt::AttentionOp o) {
            return lowerAttention<rt::CallAttentionOp>(o), true;
          })
          .Case([&](rt::AttentionBackwardOp o) {
            return lowerAttention<rt::CallAttentionBackwardOp>(o), true;
          })
          .Case([&](rt::EmbeddingBackwardOp o) {
            return lowerEmbeddingBackward(o), true;
          })
          .Case([&](rt::CopyOp o) { return lowerCopy(o), true; })
          .Case([&](rt::ConcatOp o) { return lowerConcat(o), true; })
          .Case([&](rt::AssembleOp o) { return lowerAssemble(o), true; })
          .Case([&](dist::StartOp o) { return lowerStart(o), true; })
          .Case([&](dist::SendOp o) { return lowerSend(o), true; })
          .Case([&](dist::RecvOp o) { return lowerRecv(o), true; })
          .Case([&](dist::WaitOp o) {
            rt::WaitOp::create(
                b,
                o->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt());
            return true;
          })
          .Case([&](dist::AxisOffsetOp o) {
            Value offset = rt::AxisOffsetOp::create(
                b, b.getIndexType(), digitsOf(o.getAxes()), o.getLocalSize());
            scalars.map(o.getOffset(), offset);
            return true;
          })
          .Default([](Operation *) { return false; });
  if (known)
    return success();
  auto isTensor = [](Type type) { return isa<ShapedType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    return op->emitError("expects calls and scalars in a step function but "
                         "got ")
           << op->getName();
  b.clone(*op, scalars);
  return success();
}

/// A loop over calls; what it carries lies in memory.
LogicalResult StepLowering::lowerLoop(scf::ForOp op) {
  auto bound = [&](Value value) { return scalars.lookup(value); };
  auto loop =
      scf::ForOp::create(b, bound(op.getLowerBound()),
                         bound(op.getUpperBound()), bound(op.getStep()));
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  return lowerAll(*op.getBody());
}

/// Every op of a block, and calls for the blocks of memory that begin before it
/// and end after it.
LogicalResult StepLowering::lowerAll(Block &block) {
  auto forEach = [](Operation &op, StringRef name, auto body) {
    auto triples = op.getAttrOfType<DenseI64ArrayAttr>(name);
    for (int64_t i = 0; triples && i < triples.size(); i += 3)
      body(triples[i], triples[i + 1], triples[i + 2] != 0);
  };
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    forEach(op, RTDialect::kBeginsAttr,
            [&](int64_t offset, int64_t bytes, bool forget) {
              rt::BlockBeginOp::create(b, offset, bytes, forget);
            });
    if (failed(lower(&op)))
      return failure();
    forEach(op, RTDialect::kEndsAttr,
            [&](int64_t offset, int64_t bytes, bool forget) {
              rt::BlockEndOp::create(b, offset, bytes, forget);
            });
  }
  return success();
}

LogicalResult StepLowering::run(StringRef program) {
  if (failed(recordOffsets()))
    return failure();
  SmallVector<int64_t> results;
  for (Value value : step.front().getTerminator()->getOperands())
    results.push_back(offsetOf(value));
  FailureOr<std::string> manifest = buildManifest(step, mesh, results, program);
  if (failed(manifest))
    return failure();
  module->setAttr(RTDialect::kManifestAttr, b.getStringAttr(*manifest));

  b.setInsertionPoint(step);
  if (rt::getTarget(module) != rt::Target::Host)
    device = gpu::GPUModuleOp::create(b, RTDialect::kDeviceModule);
  auto func = func::FuncOp::create(b, "step", b.getFunctionType({}, {}));
  func->setAttr(RTDialect::kStepAttr, b.getUnitAttr());
  func->setAttr(RTDialect::kArenaBytesAttr,
                step->getAttr(RTDialect::kArenaBytesAttr));
  b.setInsertionPointToStart(func.addEntryBlock());
  if (failed(lowerAll(step.front())))
    return failure();
  func::ReturnOp::create(b);
  step.erase();
  // Kernels on tensors have become loops.
  SmallPtrSet<Operation *, 16> loops;
  for (auto &entry : lowered)
    loops.insert(entry.second);
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other->hasAttr(RTDialect::kKernelAttr) && !loops.contains(other))
      other.erase();
  return success();
}

namespace {
struct LowerToRTPass : tessera::impl::LowerToRTPassBase<LowerToRTPass> {
  using LowerToRTPassBase::LowerToRTPassBase;
  void runOnOperation() override {
    FailureOr<func::FuncOp> step = getStepFunction(getOperation());
    FailureOr<Mesh> mesh = getMeshOrSingle(getOperation());
    if (failed(step) || failed(mesh) ||
        failed(StepLowering(getOperation(), *step, *mesh).run(program)))
      signalPassFailure();
  }
};
} // namespace
