//===- FuseEpilogues.cpp - Fuses ops into the epilogues of matmuls --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries support biases, GELU and its gradient, added tensors, and column
// reductions of an operand as the epilogue of a matmul, where they need no pass
// through memory. Ops that cost nothing in a kernel, because only that kernel
// reads their result, stay there.
//
//===----------------------------------------------------------------------===//

#include "EpilogueForms.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Fusion/FusionGroups.h"
#include "tessera/Fusion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "tessera/Fusion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::EpilogueKind;

namespace {

/// A matmul, with an epilogue or without.
struct Gemm {
  Operation *op = nullptr;
  Value lhs, rhs, init, bias;
  rt::MatmulLayoutAttr layout;
  explicit operator bool() const { return op; }
};

class EpilogueFuser {
public:
  explicit EpilogueFuser(Block &block) : block(block) {}
  void run();

private:
  Gemm getGemm(Value value) const;
  Gemm getFreeGemm(Value value) const;
  bool isWritten(linalg::GenericOp op);
  bool comesBefore(Value value, Operation *op) const;
  rt::MatmulFusedOp create(const Gemm &gemm, EpilogueKind kind, Value init,
                           Value bias, Value argument, TypeRange extras,
                           Operation *point);

  void fuse(linalg::GenericOp op, bool isGradient);
  bool fuseTerms(linalg::GenericOp op, const EpilogueMatch &match);
  bool fuseGeluOfKept(linalg::GenericOp op, Value tensor);
  bool fuseGradient(linalg::GenericOp op, const EpilogueMatch &match);
  void fuseSums(linalg::GenericOp op);
  bool fuseSumsOfOperand(linalg::GenericOp op, Value tensor);
  bool fuseSumsOfResult(linalg::GenericOp op, Value tensor);

  Block &block;
  /// The kernel that each op would be in; computed on demand.
  llvm::DenseMap<Operation *, unsigned> groupOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// Returns the matmul that computes `value` if it is in this block and a
/// library may give it an epilogue.
Gemm EpilogueFuser::getGemm(Value value) const {
  Operation *def = value.getDefiningOp();
  Gemm gemm;
  if (auto matmul = dyn_cast_or_null<rt::MatmulOp>(def))
    gemm = {def,     matmul.getLhs(),   matmul.getRhs(), matmul.getInit(),
            Value(), matmul.getLayout()};
  else if (auto fused = dyn_cast_or_null<rt::MatmulFusedOp>(def);
           fused && fused.getKind() == EpilogueKind::Bias)
    gemm = {def,
            fused.getLhs(),
            fused.getRhs(),
            fused.getInit(),
            fused.getBias(),
            fused.getLayout()};
  // No library has epilogues for f64.
  if (!gemm || def->getBlock() != &block || gemm.layout.getBatch() != 1 ||
      gemm.layout.getLdc() != gemm.layout.getN() ||
      getElementTypeOrSelf(value.getType()).isF64())
    return Gemm();
  return gemm;
}

/// Returns a matmul without an epilogue whose result has one use.
Gemm EpilogueFuser::getFreeGemm(Value value) const {
  Gemm gemm = getGemm(value);
  return gemm && isa<rt::MatmulOp>(gemm.op) && value.hasOneUse() ? gemm
                                                                 : Gemm();
}

/// True if the value is defined before `op`, an op of the block.
bool EpilogueFuser::comesBefore(Value value, Operation *op) const {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != &block || def->isBeforeInBlock(op);
}

/// True if an op outside its own kernel reads the result of `op`, so that it is
/// written to memory in any case.
bool EpilogueFuser::isWritten(linalg::GenericOp op) {
  if (groupOf.empty())
    for (auto [number, group] : llvm::enumerate(planFusion(block).groups))
      for (linalg::GenericOp member : group.ops)
        groupOf[member] = number;
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto it = groupOf.find(block.findAncestorOpInBlock(*user));
    return it == groupOf.end() || it->second != groupOf.lookup(op);
  });
}

/// Creates the matmul with its epilogue at `point`, or after its last operand.
rt::MatmulFusedOp EpilogueFuser::create(const Gemm &gemm, EpilogueKind kind,
                                        Value init, Value bias, Value argument,
                                        TypeRange extras, Operation *point) {
  OpBuilder builder(point);
  for (Value operand : {init, bias, argument})
    if (operand && !comesBefore(operand, point)) {
      point = operand.getDefiningOp();
      builder.setInsertionPointAfter(point);
    }
  remark::passed(
      gemm.op->getLoc(),
      remark::RemarkOpts::name("FuseEpilogue").category("conversion"))
      << remark::reason("{0}", rt::stringifyEpilogueKind(kind))
      << remark::metric("Rows", gemm.layout.getM())
      << remark::metric("Columns", gemm.layout.getN());
  return rt::MatmulFusedOp::create(
      builder, gemm.op->getLoc(), gemm.op->getResult(0).getType(), extras, kind,
      gemm.lhs, gemm.rhs, gemm.layout, init, bias, argument);
}

//===----------------------------------------------------------------------===//
// What follows each element
//===----------------------------------------------------------------------===//

/// Turns matmuls that are added to each other or to a tensor into one chain.
/// The last one takes the bias and GELU.
bool EpilogueFuser::fuseTerms(linalg::GenericOp op,
                              const EpilogueMatch &match) {
  SmallVector<Gemm> gemms;
  SmallVector<Value> others;
  for (Value tensor : match.terms.tensors) {
    if (Gemm gemm = getFreeGemm(tensor))
      gemms.push_back(gemm);
    else
      others.push_back(tensor);
  }
  bool isGelu = match.kind == EpilogueMatch::Gelu;
  bool adds = match.terms.tensors.size() > 1;
  if (gemms.empty() || others.size() > 1 ||
      (!adds && !match.terms.bias && !isGelu) || !isWritten(op))
    return false;
  llvm::sort(gemms, [](const Gemm &a, const Gemm &b) {
    return a.op->isBeforeInBlock(b.op);
  });
  for (const Gemm &gemm : ArrayRef(gemms).drop_front(others.empty() ? 1 : 0))
    if (gemm.init)
      return false;
  Value sum = others.empty() ? Value() : others.front();
  for (const Gemm &gemm : gemms) {
    bool isLast = gemm.op == gemms.back().op;
    Value init = sum ? sum : gemm.init;
    EpilogueKind kind = isLast && isGelu             ? EpilogueKind::Gelu
                        : isLast && match.terms.bias ? EpilogueKind::Bias
                                                     : EpilogueKind::None;
    if (kind == EpilogueKind::None && init == gemm.init) {
      sum = gemm.op->getResult(0);
      continue;
    }
    auto made = create(gemm, kind, init, isLast ? match.terms.bias : Value(),
                       Value(), {}, gemm.op);
    sum = made.getResult();
  }
  op.getResult(0).replaceAllUsesWith(sum);
  op.erase();
  for (const Gemm &gemm : gemms)
    if (gemm.op->use_empty())
      gemm.op->erase();
  return true;
}

/// Fuses the GELU of a matmul. If the matmul's result has other users, the
/// fused op also writes it.
bool EpilogueFuser::fuseGeluOfKept(linalg::GenericOp op, Value tensor) {
  Gemm gemm = getGemm(tensor);
  // A recomputation in the backward would compute its result too early.
  bool isFirst = gemm && llvm::all_of(tensor.getUsers(), [&](Operation *u) {
                   Operation *user = block.findAncestorOpInBlock(*u);
                   return user == op || op->isBeforeInBlock(user);
                 });
  if (!isFirst || !isWritten(op))
    return false;
  bool isKept = !tensor.hasOneUse();
  auto made =
      create(gemm, EpilogueKind::Gelu, gemm.init, gemm.bias, Value(),
             isKept ? TypeRange(tensor.getType()) : TypeRange(), gemm.op);
  op.getResult(0).replaceAllUsesWith(made.getResult());
  op.erase();
  if (isKept)
    tensor.replaceAllUsesWith(made.getExtras().front());
  gemm.op->erase();
  return true;
}

bool EpilogueFuser::fuseGradient(linalg::GenericOp op,
                                 const EpilogueMatch &match) {
  Gemm gemm = getFreeGemm(match.gradient);
  if (!gemm || gemm.init || !isWritten(op))
    return false;
  auto made = create(gemm, EpilogueKind::GeluGradient, Value(), Value(),
                     match.argument, {}, gemm.op);
  op.getResult(0).replaceAllUsesWith(made.getResult());
  op.erase();
  gemm.op->erase();
  return true;
}

/// Fuses the op if it is a GELU gradient (`isGradient`), or else another form.
void EpilogueFuser::fuse(linalg::GenericOp op, bool isGradient) {
  if (op.getNumReductionLoops() || op.getNumResults() != 1)
    return;
  int64_t columns = 0;
  for (Value input : op.getDpsInputs())
    if (Gemm gemm = getGemm(input))
      columns = gemm.layout.getN();
  if (!columns)
    return;
  std::optional<EpilogueMatch> match = matchEpilogue(op, columns);
  if (!match || isGradient != (match->kind == EpilogueMatch::GeluGradient))
    return;
  if (isGradient) {
    fuseGradient(op, *match);
    return;
  }
  if (fuseTerms(op, *match) || match->kind != EpilogueMatch::Gelu)
    return;
  if (match->terms.tensors.size() == 1 && !match->terms.bias)
    fuseGeluOfKept(op, match->terms.tensors.front());
}

//===----------------------------------------------------------------------===//
// Column reductions
//===----------------------------------------------------------------------===//

/// Returns the kind of a matmul that sums `columns` columns of `tensor`, an
/// operand that it contracts over rows; none if it cannot.
static EpilogueKind getSumKind(const Gemm &gemm, Value tensor,
                               int64_t columns) {
  rt::MatmulLayoutAttr l = gemm.layout;
  int64_t elements = cast<RankedTensorType>(tensor.getType()).getNumElements();
  if (l.getK() * columns != elements)
    return EpilogueKind::None;
  if (gemm.rhs == tensor && !l.getTransB() && l.getN() == columns &&
      l.getLdb() == columns)
    return EpilogueKind::RhsSums;
  if (gemm.lhs == tensor && l.getTransA() && l.getM() == columns &&
      l.getLda() == columns)
    return EpilogueKind::LhsSums;
  return EpilogueKind::None;
}

/// Fuses the gradient of a bias into the matmul of the weight's gradient, which
/// reads the tensor too.
bool EpilogueFuser::fuseSumsOfOperand(linalg::GenericOp op, Value tensor) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Gemm found;
  EpilogueKind kind = EpilogueKind::None;
  for (Operation *user : tensor.getUsers()) {
    auto matmul = dyn_cast<rt::MatmulOp>(user);
    Gemm gemm = matmul ? getGemm(matmul.getResult()) : Gemm();
    if (!gemm || (found && found.op->isBeforeInBlock(gemm.op)))
      continue;
    EpilogueKind as = getSumKind(gemm, tensor, type.getNumElements());
    Type element = getElementTypeOrSelf(matmul.getResult().getType());
    if (as != EpilogueKind::None &&
        (type.getElementType().isF32() || type.getElementType() == element)) {
      found = gemm;
      kind = as;
    }
  }
  if (!found)
    return false;
  // If the sums are read before the matmul, it moves up to them.
  bool isEarly =
      !found.op->isBeforeInBlock(op) &&
      llvm::any_of(op->getUsers(), [&](Operation *user) {
        return block.findAncestorOpInBlock(*user)->isBeforeInBlock(found.op);
      });
  if (isEarly && llvm::any_of(found.op->getOperands(), [&](Value operand) {
        return !comesBefore(operand, op);
      }))
    return false;
  auto made = create(found, kind, found.init, Value(), Value(), type,
                     isEarly ? op : found.op);
  op.getResult(0).replaceAllUsesWith(made.getExtras().front());
  found.op->getResult(0).replaceAllUsesWith(made.getResult());
  op.erase();
  found.op->erase();
  return true;
}

bool EpilogueFuser::fuseSumsOfResult(linalg::GenericOp op, Value tensor) {
  auto fused = tensor.getDefiningOp<rt::MatmulFusedOp>();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (!fused || fused->getBlock() != &block ||
      fused.getKind() != EpilogueKind::GeluGradient ||
      !fused.getExtras().empty() ||
      type.getNumElements() != fused.getLayout().getN())
    return false;
  OpBuilder builder(fused);
  auto made = rt::MatmulFusedOp::create(
      builder, fused.getLoc(), fused.getResult().getType(), type,
      fused.getKind(), fused.getLhs(), fused.getRhs(), fused.getLayout(),
      Value(), Value(), fused.getArgument());
  op.getResult(0).replaceAllUsesWith(made.getExtras().front());
  op.erase();
  fused.getResult().replaceAllUsesWith(made.getResult());
  fused.erase();
  return true;
}

/// Column reductions that fuse into a kernel over the same rows stay there.
void EpilogueFuser::fuseSums(linalg::GenericOp op) {
  Value tensor = matchColumnReduction(op);
  if (tensor && !planFusedColumnReduction(op) && !fuseSumsOfOperand(op, tensor))
    fuseSumsOfResult(op, tensor);
}

void EpilogueFuser::run() {
  // Gradients come first, so that their arguments are in memory.
  for (bool isGradient : {true, false})
    for (auto op :
         llvm::make_early_inc_range(block.getOps<linalg::GenericOp>()))
      fuse(op, isGradient);
  for (auto op : llvm::make_early_inc_range(block.getOps<linalg::GenericOp>()))
    fuseSums(op);
}

namespace {
struct FuseEpiloguesPass
    : tessera::impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr) ||
        rt::getTarget(func) == rt::Target::Host)
      return;
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) {
      if (isa<func::FuncOp, scf::ForOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      EpilogueFuser(*block).run();
  }
};
} // namespace
