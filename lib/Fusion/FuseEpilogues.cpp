//===- FuseEpilogues.cpp - Products take a part of what follows -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Biases, GELU and its gradient, tensors that are added, sums of an operand's
// columns: a library has them as parts of a matrix product, where they cost no
// passage through memory. What a kernel has for nothing, because its result is
// read within the kernel only, it keeps.
//
//===----------------------------------------------------------------------===//

#include "MatchEpilogue.h"
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

/// What a product is made of, whichever op it is.
struct Product {
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
  Product getProduct(Value value) const;
  Product getFreeProduct(Value value) const;
  bool isWritten(linalg::GenericOp op);
  bool comesBefore(Value value, Operation *op) const;
  rt::MatmulFusedOp create(const Product &product, EpilogueKind kind,
                           Value init, Value bias, Value argument,
                           TypeRange extras, Operation *place);

  void fuse(linalg::GenericOp op, bool isGradient);
  bool fuseTerms(linalg::GenericOp op, const EpilogueMatch &match);
  bool fuseGeluOfKept(linalg::GenericOp op, Value tensor);
  bool fuseGradient(linalg::GenericOp op, const EpilogueMatch &match);
  void fuseSums(linalg::GenericOp op);
  bool fuseSumsOfOperand(linalg::GenericOp op, Value tensor);
  bool fuseSumsOfResult(linalg::GenericOp op, Value tensor);

  Block &block;
  /// The kernel that each op would be in; made when it is asked for.
  llvm::DenseMap<Operation *, unsigned> groupOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The product that makes `value`, if it is of this block and one that a
/// library may do more with.
Product EpilogueFuser::getProduct(Value value) const {
  Operation *def = value.getDefiningOp();
  Product product;
  if (auto matmul = dyn_cast_or_null<rt::MatmulOp>(def))
    product = {def,     matmul.getLhs(),   matmul.getRhs(), matmul.getInit(),
               Value(), matmul.getLayout()};
  else if (auto fused = dyn_cast_or_null<rt::MatmulFusedOp>(def);
           fused && fused.getKind() == EpilogueKind::Bias)
    product = {def,
               fused.getLhs(),
               fused.getRhs(),
               fused.getInit(),
               fused.getBias(),
               fused.getLayout()};
  // No library has more than products of f64.
  if (!product || def->getBlock() != &block || product.layout.getBatch() != 1 ||
      product.layout.getLdc() != product.layout.getN() ||
      getElementTypeOrSelf(value.getType()).isF64())
    return Product();
  return product;
}

/// A product with nothing besides, whose result one op reads.
Product EpilogueFuser::getFreeProduct(Value value) const {
  Product product = getProduct(value);
  return product && isa<rt::MatmulOp>(product.op) && value.hasOneUse()
             ? product
             : Product();
}

/// Whether the value is there before `op`, an op of the block.
bool EpilogueFuser::comesBefore(Value value, Operation *op) const {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != &block || def->isBeforeInBlock(op);
}

/// True if others than its own kernel read what `op` makes: it is in memory in
/// any case.
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

/// The product with what follows it, at `place`, or where the last operand is
/// there.
rt::MatmulFusedOp EpilogueFuser::create(const Product &product,
                                        EpilogueKind kind, Value init,
                                        Value bias, Value argument,
                                        TypeRange extras, Operation *place) {
  OpBuilder builder(place);
  for (Value operand : {init, bias, argument})
    if (operand && !comesBefore(operand, place)) {
      place = operand.getDefiningOp();
      builder.setInsertionPointAfter(place);
    }
  remark::passed(
      product.op->getLoc(),
      remark::RemarkOpts::name("ProductTakes").category("conversion"))
      << remark::reason("{0}", rt::stringifyEpilogueKind(kind))
      << remark::metric("Rows", product.layout.getM())
      << remark::metric("Columns", product.layout.getN());
  return rt::MatmulFusedOp::create(
      builder, product.op->getLoc(), product.op->getResult(0).getType(), extras,
      kind, product.lhs, product.rhs, product.layout, init, bias, argument);
}

//===----------------------------------------------------------------------===//
// What follows each element
//===----------------------------------------------------------------------===//

/// Products that are added, to each other or to a tensor, become one chain; the
/// last one takes the bias and GELU.
bool EpilogueFuser::fuseTerms(linalg::GenericOp op,
                              const EpilogueMatch &match) {
  SmallVector<Product> products;
  SmallVector<Value> others;
  for (Value tensor : match.terms.tensors) {
    if (Product product = getFreeProduct(tensor))
      products.push_back(product);
    else
      others.push_back(tensor);
  }
  bool isGelu = match.kind == EpilogueMatch::Gelu;
  bool adds = match.terms.tensors.size() > 1;
  if (products.empty() || others.size() > 1 ||
      (!adds && !match.terms.bias && !isGelu) || !isWritten(op))
    return false;
  llvm::sort(products, [](const Product &a, const Product &b) {
    return a.op->isBeforeInBlock(b.op);
  });
  for (const Product &product :
       ArrayRef(products).drop_front(others.empty() ? 1 : 0))
    if (product.init)
      return false;
  Value sum = others.empty() ? Value() : others.front();
  for (const Product &product : products) {
    bool isLast = product.op == products.back().op;
    Value init = sum ? sum : product.init;
    EpilogueKind kind = isLast && isGelu             ? EpilogueKind::Gelu
                        : isLast && match.terms.bias ? EpilogueKind::Bias
                                                     : EpilogueKind::None;
    if (kind == EpilogueKind::None && init == product.init) {
      sum = product.op->getResult(0);
      continue;
    }
    auto made = create(product, kind, init, isLast ? match.terms.bias : Value(),
                       Value(), {}, product.op);
    sum = made.getResult();
  }
  op.getResult(0).replaceAllUsesWith(sum);
  op.erase();
  for (const Product &product : products)
    if (product.op->use_empty())
      product.op->erase();
  return true;
}

/// GELU of a product that others read too: it is the product's argument.
bool EpilogueFuser::fuseGeluOfKept(linalg::GenericOp op, Value tensor) {
  Product product = getProduct(tensor);
  // A repetition in the backward would make its result too early.
  bool isFirst = product && llvm::all_of(tensor.getUsers(), [&](Operation *u) {
                   Operation *user = block.findAncestorOpInBlock(*u);
                   return user == op || op->isBeforeInBlock(user);
                 });
  if (!isFirst || !isWritten(op))
    return false;
  bool isKept = !tensor.hasOneUse();
  auto made =
      create(product, EpilogueKind::Gelu, product.init, product.bias, Value(),
             isKept ? TypeRange(tensor.getType()) : TypeRange(), product.op);
  op.getResult(0).replaceAllUsesWith(made.getResult());
  op.erase();
  if (isKept)
    tensor.replaceAllUsesWith(made.getExtras().front());
  product.op->erase();
  return true;
}

bool EpilogueFuser::fuseGradient(linalg::GenericOp op,
                                 const EpilogueMatch &match) {
  Product product = getFreeProduct(match.gradient);
  if (!product || product.init || !isWritten(op))
    return false;
  auto made = create(product, EpilogueKind::GeluGradient, Value(), Value(),
                     match.argument, {}, product.op);
  op.getResult(0).replaceAllUsesWith(made.getResult());
  op.erase();
  product.op->erase();
  return true;
}

/// Fuses the op if it is a gradient of GELU, or another form, as is asked for.
void EpilogueFuser::fuse(linalg::GenericOp op, bool isGradient) {
  if (op.getNumReductionLoops() || op.getNumResults() != 1)
    return;
  int64_t columns = 0;
  for (Value input : op.getDpsInputs())
    if (Product product = getProduct(input))
      columns = product.layout.getN();
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
// Sums of columns
//===----------------------------------------------------------------------===//

/// The kind of a product that sums `columns` columns of `tensor`, an operand
/// that it contracts over rows; none if it does not.
static EpilogueKind getSumKind(const Product &product, Value tensor,
                               int64_t columns) {
  rt::MatmulLayoutAttr l = product.layout;
  int64_t elements = cast<RankedTensorType>(tensor.getType()).getNumElements();
  if (l.getK() * columns != elements)
    return EpilogueKind::None;
  if (product.rhs == tensor && !l.getTransB() && l.getN() == columns &&
      l.getLdb() == columns)
    return EpilogueKind::RhsSums;
  if (product.lhs == tensor && l.getTransA() && l.getM() == columns &&
      l.getLda() == columns)
    return EpilogueKind::LhsSums;
  return EpilogueKind::None;
}

/// A bias's gradient: the product of the weight's gradient reads the tensor
/// too.
bool EpilogueFuser::fuseSumsOfOperand(linalg::GenericOp op, Value tensor) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Product found;
  EpilogueKind kind = EpilogueKind::None;
  for (Operation *user : tensor.getUsers()) {
    auto matmul = dyn_cast<rt::MatmulOp>(user);
    Product product = matmul ? getProduct(matmul.getResult()) : Product();
    if (!product || (found && found.op->isBeforeInBlock(product.op)))
      continue;
    EpilogueKind as = getSumKind(product, tensor, type.getNumElements());
    Type element = getElementTypeOrSelf(matmul.getResult().getType());
    if (as != EpilogueKind::None &&
        (type.getElementType().isF32() || type.getElementType() == element)) {
      found = product;
      kind = as;
    }
  }
  if (!found)
    return false;
  // Where sums are read before, the product moves up to them.
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

/// Sums that a kernel of the same rows can carry along stay there.
void EpilogueFuser::fuseSums(linalg::GenericOp op) {
  Value tensor = matchColumnSums(op);
  if (tensor && !planFusedColumnReduction(op) && !fuseSumsOfOperand(op, tensor))
    fuseSumsOfResult(op, tensor);
}

void EpilogueFuser::run() {
  // Gradients first: what they read is in memory then.
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
