//===- StepToLLVM.cpp - Lowers step functions and tasks to LLVM -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits LLVM directly, because each call's status is checked. A step may have
// some hundred thousand ops, so this expansion comes after all passes that read
// them.
//
//===----------------------------------------------------------------------===//

#include "StepToLLVM.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tessera;
using rt::CallArgument;
using rt::RTDialect;

namespace {

class StepToLLVM {
public:
  explicit StepToLLVM(ModuleOp module)
      : module(module), b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}
  void run(LLVM::LLVMFuncOp func);
  void defineSteps(ArrayRef<LLVM::LLVMFuncOp> steps);
  void defineCalls();

private:
  LLVM::LLVMFuncOp declare(StringRef name, Type result, TypeRange arguments);
  Value table(ArrayRef<int64_t> values);
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI64Type(), value);
  }
  /// Casts an index to i64. The cast is removed with the others.
  Value toInt64(Value index) {
    return UnrealizedConversionCastOp::create(b, b.getI64Type(), index)
        .getResult(0);
  }
  Value offset(int64_t offset);
  Value address(int64_t offset);
  void defineFunctions(StringRef name, LLVM::Linkage linkage,
                       ArrayRef<StringRef> names);
  Value functions(ArrayRef<StringRef> names);
  Value store(ArrayRef<Value> arguments);
  void note(rt::RuntimeCallOpInterface op);
  Value lower(const CallArgument &argument);
  void lower(rt::RuntimeCallOpInterface op);
  void lower(rt::AxisOffsetOp op);

  ModuleOp module;
  ImplicitLocOpBuilder b;
  Type pointer;
  /// The function being converted, with its context and arena.
  LLVM::LLVMFuncOp step;
  Value context, arena;
  /// Address to which the function writes the number of the call it makes.
  Value currentCall;
  /// The begins of a task's segments, and their addresses in the arena.
  SmallVector<int64_t> segments;
  SmallVector<Value> bases;
  /// Stack space for the packed arguments of one call.
  Value packed;
  /// The block that returns a nonzero status; null if nothing can fail.
  Block *failed = nullptr;
  llvm::StringMap<LLVM::LLVMFuncOp> declared;
  llvm::MapVector<Attribute, StringRef> tables;
  unsigned numFunctionTables = 0;
  /// Offset of each call's text in all texts; equal texts are one.
  SmallVector<int32_t> calls;
  std::string texts;
  llvm::StringMap<int32_t> textOffsets;
};

} // namespace

LLVM::LLVMFuncOp StepToLLVM::declare(StringRef name, Type result,
                                     TypeRange arguments) {
  LLVM::LLVMFuncOp &function = declared[name];
  if (!function)
    function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (function)
    return function;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  SmallVector<Type> types(arguments);
  return function = LLVM::LLVMFuncOp::create(
             b, name, LLVM::LLVMFunctionType::get(result, types));
}

/// Returns a constant array; equal arrays are shared.
Value StepToLLVM::table(ArrayRef<int64_t> values) {
  if (values.empty())
    return LLVM::ZeroOp::create(b, pointer);
  auto [it, isNew] =
      tables.insert({b.getDenseI64ArrayAttr(values), StringRef()});
  if (isNew) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), values.size());
    auto data = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(values.size())}, b.getI64Type()),
        values);
    auto global = LLVM::GlobalOp::create(
        b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "descriptor_" + std::to_string(tables.size() - 1), data,
        /*alignment=*/8);
    it->second = global.getSymName();
  }
  return LLVM::AddressOfOp::create(b, pointer, it->second);
}

/// Returns an offset in the arena. In a task, it is relative to the begin of
/// the segment that contains it.
Value StepToLLVM::offset(int64_t offset) {
  const int64_t *next = llvm::upper_bound(segments, offset);
  if (next == segments.begin())
    return constant(offset);
  size_t segment = next - segments.begin() - 1;
  return LLVM::AddOp::create(b, bases[segment],
                             constant(offset - segments[segment]));
}

Value StepToLLVM::address(int64_t offset) {
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), arena,
                             ValueRange{this->offset(offset)});
}

/// Defines a constant array of functions of this module.
void StepToLLVM::defineFunctions(StringRef name, LLVM::Linkage linkage,
                                 ArrayRef<StringRef> names) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(pointer, names.size());
  auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, linkage,
                                       name, Attribute(), /*alignment=*/8);
  b.createBlock(&global.getInitializerRegion());
  Value all = LLVM::UndefOp::create(b, type);
  for (auto [i, function] : llvm::enumerate(names))
    all = LLVM::InsertValueOp::create(
        b, all, LLVM::AddressOfOp::create(b, pointer, function), int64_t(i));
  LLVM::ReturnOp::create(b, all);
}

/// Returns a pointer to such an array.
Value StepToLLVM::functions(ArrayRef<StringRef> names) {
  std::string name = "tasks_" + std::to_string(numFunctionTables++);
  defineFunctions(name, LLVM::Linkage::Internal, names);
  return LLVM::AddressOfOp::create(b, pointer, name);
}

/// Writes arguments to the stack and returns their address.
Value StepToLLVM::store(ArrayRef<Value> values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(b, pointer, b.getI64Type(), packed,
                                        ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(b, value, address);
  }
  return packed;
}

Value StepToLLVM::lower(const CallArgument &argument) {
  switch (argument.kind) {
  case CallArgument::Int32:
    return LLVM::ConstantOp::create(b, b.getI32Type(),
                                    b.getI32IntegerAttr(argument.integer));
  case CallArgument::Int64:
    return constant(argument.integer);
  case CallArgument::Address:
    return address(argument.integer);
  case CallArgument::Offset:
    return offset(argument.integer);
  case CallArgument::Array:
    return table(argument.array);
  case CallArgument::Scalar:
    return toInt64(argument.scalars[0]);
  case CallArgument::Function: {
    std::string name = (argument.symbol + kEntrySuffix).str();
    declare(name, LLVM::LLVMVoidType::get(b.getContext()),
            {pointer, b.getI64Type(), b.getI64Type()});
    return LLVM::AddressOfOp::create(b, pointer, name);
  }
  case CallArgument::Functions:
    return functions(argument.symbols);
  case CallArgument::Null:
    return LLVM::ZeroOp::create(b, pointer);
  case CallArgument::Packed: {
    SmallVector<Value> values;
    for (int64_t offset : argument.array)
      values.push_back(
          LLVM::PtrToIntOp::create(b, b.getI64Type(), address(offset)));
    for (Value scalar : argument.scalars)
      values.push_back(toInt64(scalar));
    return store(values);
  }
  case CallArgument::Starts: {
    SmallVector<Value> values(argument.array[0], constant(0));
    values[argument.integer] = toInt64(argument.scalars[0]);
    return store(values);
  }
  case CallArgument::Result:
    return packed;
  }
  llvm_unreachable("unknown argument");
}

/// Numbers a call, and says in the rank's memory that it is being made. Its
/// text is the name that rt-lower-to-rt gave it as location, else the
/// function's.
void StepToLLVM::note(rt::RuntimeCallOpInterface op) {
  StringRef text = op.getCallee();
  text.consume_front("tessera_rt_");
  if (auto name = dyn_cast<NameLoc>(op.getLoc()))
    text = name.getName();
  auto [it, isNew] = textOffsets.try_emplace(text, texts.size());
  if (isNew) {
    texts += text;
    texts += '\0';
  }
  calls.push_back(it->second);
  LLVM::StoreOp::create(b, constant(calls.size()), currentCall);
}

/// Defines the table of calls: their number, then the texts' offsets.
void StepToLLVM::defineCalls() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  SmallVector<int32_t> table{static_cast<int32_t>(calls.size())};
  table.append(calls);
  auto count = static_cast<int64_t>(table.size());
  auto data = DenseElementsAttr::get(
      RankedTensorType::get({count}, b.getI32Type()), ArrayRef(table));
  LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI32Type(), count),
                         /*isConstant=*/true, LLVM::Linkage::External,
                         "tessera_program_calls", data, /*alignment=*/4);
  std::string all = texts.empty() ? std::string(1, '\0') : texts;
  LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), all.size()),
                         /*isConstant=*/true, LLVM::Linkage::External,
                         "tessera_program_call_texts", b.getStringAttr(all));
}

/// Lowers a call: emits it, a branch to the function's end for a nonzero
/// status, and the load of its result.
void StepToLLVM::lower(rt::RuntimeCallOpInterface op) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  note(op);
  SmallVector<Value> arguments{context};
  for (const CallArgument &argument : op.getCallArguments())
    arguments.push_back(lower(argument));
  LLVM::LLVMFuncOp callee =
      declare(op.getCallee(), b.getI32Type(), ValueRange(arguments).getTypes());
  Value status = LLVM::CallOp::create(b, callee, arguments).getResult();
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
  Value good = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, status, zero);
  Block *next = op->getBlock()->getNextNode();
  LLVM::CondBrOp::create(b, good, next, ValueRange(), failed,
                         ValueRange(status));
  if (op->getNumResults()) {
    b.setInsertionPointToStart(next);
    Value left = LLVM::LoadOp::create(b, b.getI64Type(), packed);
    op->getResult(0).replaceAllUsesWith(
        LLVM::TruncOp::create(b, b.getI1Type(), left));
  }
  op.erase();
}

void StepToLLVM::lower(rt::AxisOffsetOp op) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  SmallVector<Value> arguments{
      context, table(op.getAxes()),
      LLVM::ConstantOp::create(b, b.getI32Type(),
                               b.getI32IntegerAttr(op.getAxes().size() / 2)),
      constant(op.getLocalSize())};
  LLVM::LLVMFuncOp callee = declare("tessera_rt_axis_offset", b.getI64Type(),
                                    ValueRange(arguments).getTypes());
  Value value = LLVM::CallOp::create(b, callee, arguments).getResult();
  auto index = UnrealizedConversionCastOp::create(b, b.getIndexType(), value);
  op.replaceAllUsesWith(index.getResult(0));
  op.erase();
}

/// Returns the number of 64-bit integers that an argument has on the stack.
static int64_t countPacked(const CallArgument &argument) {
  switch (argument.kind) {
  case CallArgument::Packed:
    return argument.array.size() + argument.scalars.size();
  case CallArgument::Starts:
    return argument.array[0];
  case CallArgument::Result:
    return 1;
  default:
    return 0;
  }
}

void StepToLLVM::run(LLVM::LLVMFuncOp func) {
  step = func;
  failed = nullptr;
  segments.clear();
  bases.clear();
  SmallVector<Operation *> ops;
  int64_t maxPacked = 1;
  step.walk([&](Operation *op) {
    if (isa<rt::AxisOffsetOp>(op))
      ops.push_back(op);
    if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op)) {
      ops.push_back(op);
      for (const CallArgument &argument : call.getCallArguments())
        maxPacked = std::max(maxPacked, countPacked(argument));
    }
  });
  // Ends a block after each call, last call first, so that each split moves few
  // ops.
  for (Operation *op : llvm::reverse(ops))
    if (isa<rt::RuntimeCallOpInterface>(op))
      op->getBlock()->splitBlock(op->getNextNode());
  b.setLoc(step.getLoc());
  auto planned =
      step->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kSegmentsAttr);
  SmallVector<Type> types(planned ? 2 : 1, pointer);
  step.setFunctionType(LLVM::LLVMFunctionType::get(b.getI32Type(), types));
  Block &entry = step.front();
  context = entry.addArgument(pointer, step.getLoc());
  b.setInsertionPointToStart(&entry);
  if (planned) {
    segments.assign(planned.asArrayRef().begin(), planned.asArrayRef().end());
    Value given = entry.addArgument(pointer, step.getLoc());
    for (size_t i = 0; i < segments.size(); ++i) {
      Value at = LLVM::GEPOp::create(b, pointer, b.getI64Type(), given,
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
      bases.push_back(LLVM::LoadOp::create(b, b.getI64Type(), at));
    }
  }
  packed =
      LLVM::AllocaOp::create(b, pointer, b.getI64Type(), constant(maxPacked));
  arena = LLVM::CallOp::create(b, declare("tessera_rt_arena", pointer, pointer),
                               context)
              .getResult();
  bool makesCalls = llvm::any_of(
      ops, [](Operation *op) { return isa<rt::RuntimeCallOpInterface>(op); });
  if (makesCalls) {
    currentCall =
        LLVM::CallOp::create(
            b, declare("tessera_rt_current_call", pointer, pointer), context)
            .getResult();
    failed = new Block();
    step.getBody().push_back(failed);
    failed->addArgument(b.getI32Type(), step.getLoc());
    b.setInsertionPointToEnd(failed);
    LLVM::ReturnOp::create(b, failed->getArgument(0));
  }
  step.walk([&](LLVM::ReturnOp op) {
    if (op.getNumOperands())
      return;
    b.setInsertionPoint(op);
    Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
    LLVM::ReturnOp::create(b, zero);
    op.erase();
  });
  for (Operation *op : ops) {
    if (auto offset = dyn_cast<rt::AxisOffsetOp>(op))
      lower(offset);
    else
      lower(cast<rt::RuntimeCallOpInterface>(op));
  }
  for (StringRef name : {RTDialect::kStepAttr, RTDialect::kArenaBytesAttr,
                         RTDialect::kSegmentsAttr})
    step->removeAttr(name);
  // Do not optimize the step: it is a list of up to some ten thousand calls
  // that each run once. Passes that are not linear in the length of a function
  // took longer for it than for all kernels.
  step.setNoInline(true);
  step.setOptimizeNone(true);
}

void StepToLLVM::defineSteps(ArrayRef<LLVM::LLVMFuncOp> steps) {
  SmallVector<StringRef> names;
  for (LLVM::LLVMFuncOp step : steps)
    names.push_back(step.getSymName());
  defineFunctions("tessera_program_steps", LLVM::Linkage::External, names);
}

void tessera::convertSteps(ModuleOp module) {
  StepToLLVM conversion(module);
  SmallVector<LLVM::LLVMFuncOp> steps, functions;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>())
    if (func->hasAttr(RTDialect::kStepAttr))
      functions.push_back(func);
  for (LLVM::LLVMFuncOp func : functions) {
    if (func->hasAttr(RTDialect::kSegmentsAttr)) {
      func.setLinkage(LLVM::Linkage::Internal);
    } else {
      func.setName(("tessera_program_" + func.getSymName()).str());
      steps.push_back(func);
    }
    conversion.run(func);
  }
  if (steps.empty())
    return;
  conversion.defineSteps(steps);
  conversion.defineCalls();
}
