//===- Mutations.cpp - Wrong versions of a local program ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Values of another shape
//===----------------------------------------------------------------------===//

static Value makeZero(OpBuilder &b, Location loc, RankedTensorType type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

Value tessera::reshapeTo(OpBuilder &b, Location loc, Value value,
                         RankedTensorType type) {
  RankedTensorType from = typeOf(value);
  if (from == type)
    return value;
  if (from.getNumElements() != type.getNumElements() || from.getRank() == 0 ||
      from.getElementType() != type.getElementType())
    return {};
  ReassociationIndices all;
  if (from.getRank() > 1) {
    for (int64_t i = 0; i < from.getRank(); ++i)
      all.push_back(i);
    value = tensor::CollapseShapeOp::create(
        b, loc, value, ArrayRef<ReassociationIndices>(all));
  }
  if (type.getRank() == 1)
    return value;
  all.clear();
  for (int64_t i = 0; i < type.getRank(); ++i)
    all.push_back(i);
  return tensor::ExpandShapeOp::create(b, loc, type, value,
                                       ArrayRef<ReassociationIndices>(all));
}

Value tessera::cutAndPad(OpBuilder &b, Location loc, Value value,
                         RankedTensorType type) {
  SmallVector<int64_t> sizes;
  for (auto [from, to] : llvm::zip(typeOf(value).getShape(), type.getShape()))
    sizes.push_back(std::min(from, to));
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> counts;
  for (int64_t size : sizes)
    counts.push_back(b.getIndexAttr(size));
  if (ArrayRef(sizes) != typeOf(value).getShape())
    value =
        tensor::ExtractSliceOp::create(b, loc, value, offsets, counts, strides);
  if (ArrayRef(sizes) == type.getShape())
    return value;
  return tensor::InsertSliceOp::create(b, loc, value, makeZero(b, loc, type),
                                       offsets, counts, strides);
}

/// Concatenates copies of `value`; null if `type` is not a multiple of its type
/// in one dimension.
static Value repeat(OpBuilder &b, Location loc, Value value,
                    RankedTensorType type) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = typeOf(value).getDimSize(dim);
    if (size == type.getDimSize(dim))
      continue;
    SmallVector<Value> copies(type.getDimSize(dim) / size, value);
    return tensor::ConcatOp::create(b, loc, type, dim, copies);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Lists of changes
//===----------------------------------------------------------------------===//

namespace {

class Maker {
public:
  Maker(Operation *op, const Mesh &mesh) : op(op), mesh(mesh) {}

  std::vector<Mutation> take() { return std::move(list); }

  void addCollective(dist::CollectiveOpInterface collective) {
    addReplacements();
    addTwice();
    addAxes();
    addKinds("kind");
    addDims();
    addPlacements(collective);
    if (auto permute = dyn_cast<dist::CollectivePermuteOp>(op))
      addTargets(permute);
    if (auto broadcast = dyn_cast<dist::BroadcastOp>(op))
      for (int64_t root = 0, n = numShards(axesOf(op)); root < n; ++root)
        if (root != static_cast<int64_t>(broadcast.getRoot()))
          addAttribute("root " + Twine(root), "root",
                       Builder(op->getContext()).getI64IntegerAttr(root));
  }

  void addToPartial() {
    addReplacements();
    addTwice();
    addAxes();
    addKinds("kind");
  }

  void addOffset(dist::AxisOffsetOp offset) {
    addAxes();
    Builder b(op->getContext());
    int64_t size = offset.getLocalSize();
    addAttribute("one more", "local_size", b.getI64IntegerAttr(size + 1));
    if (size > 1)
      addAttribute("one less", "local_size", b.getI64IntegerAttr(size - 1));
    add("zero", [](Operation *op) -> Operation * {
      OpBuilder b(op);
      Value zero = arith::ConstantIndexOp::create(b, op->getLoc(), 0);
      op->replaceAllUsesWith(ValueRange(zero));
      op->erase();
      return zero.getDefiningOp();
    });
  }

  void addMask(nn::MaskPaddingOp mask) {
    Builder b(op->getContext());
    int64_t size = mask.getSize();
    addAttribute("one more", "size", b.getI64IntegerAttr(size + 1));
    addAttribute("one less", "size", b.getI64IntegerAttr(size - 1));
    Type element = mask.getType().getElementType();
    if (isa<FloatType>(element))
      addAttribute("value 7", "value", b.getFloatAttr(element, 7.0));
    add("delete", [](Operation *op) -> Operation * {
      Operation *user = *op->user_begin();
      op->replaceAllUsesWith(ValueRange(op->getOperand(0)));
      op->erase();
      return user;
    });
  }

  /// Changes a splat of floats: the divisor of a mean, a scale, an epsilon.
  void addConstant(DenseElementsAttr value) {
    if (!value.isSplat() || !isa<FloatType>(value.getElementType()))
      return;
    APFloat number = value.getSplatValue<APFloat>();
    if (!number.isFinite())
      return;
    double other = number.isZero() ? 1.0 : 2 * number.convertToDouble();
    Builder b(op->getContext());
    addAttribute(
        "value " + Twine(std::to_string(other)), "value",
        DenseElementsAttr::get(value.getType(),
                               b.getFloatAttr(value.getElementType(), other)));
  }

private:
  void add(const Twine &what, std::function<Operation *(Operation *)> apply) {
    list.push_back({what.str(), std::move(apply)});
  }
  void addAttribute(const Twine &what, StringRef name, Attribute attribute) {
    std::string key = name.str();
    add(what, [=](Operation *op) {
      op->setAttr(key, attribute);
      return op;
    });
  }
  AxisList axesOf(Operation *op) {
    return op->getAttrOfType<dist::AxesAttr>("axes").toAxes(mesh);
  }

  /// Replaces the op by its operand, or by a local value if the types differ.
  void addReplacements() {
    RankedTensorType from = typeOf(op->getOperand(0));
    RankedTensorType to = typeOf(op->getResult(0));
    using Make = Value (*)(OpBuilder &, Location, Value, RankedTensorType);
    auto replace = [&](const Twine &what, Make make) {
      add(what, [make](Operation *op) -> Operation * {
        OpBuilder b(op);
        Operation *before = op->getPrevNode();
        Value value =
            make(b, op->getLoc(), op->getOperand(0), typeOf(op->getResult(0)));
        if (!value)
          return nullptr;
        op->replaceAllUsesWith(ValueRange(value));
        // The first of several ops, which the others use.
        Operation *first =
            before ? before->getNextNode() : &op->getBlock()->front();
        op->erase();
        return first;
      });
    };
    if (from == to) {
      add("delete", [](Operation *op) -> Operation * {
        if (op->use_empty())
          return nullptr;
        Operation *user = *op->user_begin();
        for (Operation *other : op->getUsers())
          if (other->getBlock() == user->getBlock() &&
              other->isBeforeInBlock(user))
            user = other;
        op->replaceAllUsesWith(ValueRange(op->getOperand(0)));
        op->erase();
        return user;
      });
    } else {
      replace("delete, first elements and zeros", cutAndPad);
      replace("delete, copies", repeat);
    }
    replace("delete, zero",
            [](OpBuilder &b, Location loc, Value, RankedTensorType type) {
              return makeZero(b, loc, type);
            });
  }

  /// Repeats the op on its result; if the types differ, the operand of its
  /// reduction is reduced once more.
  void addTwice() {
    if (op->getOperand(0).getType() == op->getResult(0).getType()) {
      add("twice", [](Operation *op) {
        OpBuilder b(op);
        b.setInsertionPointAfter(op);
        Operation *again = b.clone(*op);
        op->getResult(0).replaceAllUsesWith(again->getResult(0));
        again->setOperand(0, op->getResult(0));
        return again;
      });
      return;
    }
    add("then reduced", [](Operation *op) -> Operation * {
      OpBuilder b(op);
      b.setInsertionPointAfter(op);
      auto kind = op->getAttrOfType<dist::ReductionKindAttr>("kind");
      auto collective = cast<dist::CollectiveOpInterface>(op);
      auto again = dist::AllReduceOp::create(
          b, op->getLoc(), op->getResult(0).getType(), op->getResult(0),
          kind ? kind
               : dist::ReductionKindAttr::get(op->getContext(),
                                              dist::ReductionKind::Sum),
          collective.getAxes(), collective.getMeshAttr(), dist::ShardingAttr(),
          dist::ShardingAttr());
      op->getResult(0).replaceAllUsesExcept(again.getResult(), again);
      return again;
    });
  }

  /// Tries every other list of whole axes, in any order.
  void addAxes() {
    AxisList mine = axesOf(op);
    std::vector<AxisList> all{{}};
    for (size_t i = 0; i < all.size(); ++i)
      for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
        AxisRef ref = mesh.fullAxis(axis);
        if (ref.size == 1 || llvm::is_contained(all[i], ref))
          continue;
        AxisList longer = all[i];
        longer.push_back(ref);
        all.push_back(longer);
      }
    for (const AxisList &axes : all) {
      if (axes.empty() || axes == mine)
        continue;
      auto attribute = dist::AxesAttr::get(op->getContext(), mesh, axes);
      std::string text;
      llvm::raw_string_ostream os(text);
      mesh.print(os, axes);
      addAttribute("axes " + text, "axes", attribute);
    }
  }

  void addKinds(StringRef name) {
    auto kind = op->getAttrOfType<dist::ReductionKindAttr>(name);
    if (!kind)
      return;
    for (auto other : {dist::ReductionKind::Sum, dist::ReductionKind::Max,
                       dist::ReductionKind::Min})
      if (other != kind.getValue())
        addAttribute("kind " + dist::stringifyReductionKind(other), name,
                     dist::ReductionKindAttr::get(op->getContext(), other));
  }

  /// Changes dimensions; the result is then reshaped to the needed type.
  void addDims() {
    Builder b(op->getContext());
    for (StringRef name : {"dim", "gather_dim", "split_dim"}) {
      auto dim = op->getAttrOfType<IntegerAttr>(name);
      if (!dim)
        continue;
      for (int64_t other = 0; other < typeOf(op->getResult(0)).getRank();
           ++other)
        if (other != dim.getInt())
          addReshaped(name + " " + Twine(other),
                      {{name.str(), b.getI64IntegerAttr(other)}});
    }
    if (auto exchange = dyn_cast<dist::AllToAllOp>(op))
      addReshaped("dimensions exchanged",
                  {{"gather_dim", exchange.getSplitDimAttr()},
                   {"split_dim", exchange.getGatherDimAttr()}});
  }

  void addReshaped(
      const Twine &what,
      const std::vector<std::pair<std::string, Attribute>> &attributes) {
    add(what, [attributes, mesh = mesh](Operation *op) -> Operation * {
      for (auto &[name, attribute] : attributes)
        op->setAttr(name, attribute);
      auto collective = cast<dist::CollectiveOpInterface>(op);
      RankedTensorType needed = typeOf(op->getResult(0));
      RankedTensorType type = collective.getLocalResultType(
          typeOf(op->getOperand(0)),
          numShards(collective.getAxes().toAxes(mesh)));
      if (!type || type.getNumElements() != needed.getNumElements())
        return nullptr;
      OpBuilder b(op);
      b.setInsertionPointAfter(op);
      op->getResult(0).setType(type);
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op->getUses())
        uses.push_back(&use);
      Value value = reshapeTo(b, op->getLoc(), op->getResult(0), needed);
      for (OpOperand *use : uses)
        use->set(value);
      return op;
    });
  }

  /// Moves a reduction after a user of its result, or before the op of its
  /// operand.
  void addPlacements(dist::CollectiveOpInterface) {
    if (!isa<dist::AllReduceOp>(op))
      return;
    unsigned numUses =
        std::distance(op->getResult(0).use_begin(), op->getResult(0).use_end());
    for (unsigned i = 0; i < numUses; ++i)
      add("after use " + Twine(i), [i](Operation *op) -> Operation * {
        OpOperand &use = *std::next(op->getResult(0).use_begin(), i);
        Operation *user = use.getOwner();
        if (user->getNumResults() != 1 || user->getBlock() != op->getBlock() ||
            !isa<RankedTensorType>(user->getResult(0).getType()) ||
            isa<dist::StartOp>(user))
          return nullptr;
        OpBuilder b(op);
        b.setInsertionPointAfter(user);
        Operation *moved = b.clone(*op);
        use.set(op->getOperand(0));
        moved->getResult(0).setType(user->getResult(0).getType());
        user->getResult(0).replaceAllUsesWith(moved->getResult(0));
        moved->setOperand(0, user->getResult(0));
        return user;
      });
    Operation *definition = op->getOperand(0).getDefiningOp();
    if (!definition || isa<dist::CollectiveOpInterface>(definition))
      return;
    for (unsigned i = 0; i < definition->getNumOperands(); ++i) {
      if (!isa<RankedTensorType>(definition->getOperand(i).getType()))
        continue;
      add("before operand " + Twine(i), [i](Operation *op) -> Operation * {
        Operation *definition = op->getOperand(0).getDefiningOp();
        OpBuilder b(definition);
        Operation *moved = b.clone(*op);
        Value operand = definition->getOperand(i);
        moved->setOperand(0, operand);
        moved->getResult(0).setType(operand.getType());
        definition->setOperand(i, moved->getResult(0));
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
        return moved;
      });
    }
  }

  void addTargets(dist::CollectivePermuteOp permute) {
    SmallVector<int64_t> targets(permute.getTargets());
    size_t n = targets.size();
    SmallVector<int64_t> same(n), reversed(n), rotated(n), swapped = targets;
    for (size_t i = 0; i < n; ++i) {
      same[i] = i;
      reversed[i] = targets[n - 1 - i];
      rotated[i] = targets[(i + 1) % n];
    }
    std::swap(swapped[0], swapped[n - 1]);
    Builder b(op->getContext());
    for (auto &[what, other] : {std::pair{"targets: none", same},
                                {"targets: reversed", reversed},
                                {"targets: rotated", rotated},
                                {"targets: two exchanged", swapped}})
      if (other != targets)
        addAttribute(what, "targets", b.getDenseI64ArrayAttr(other));
  }

  Operation *op;
  const Mesh &mesh;
  std::vector<Mutation> list;
};

} // namespace

std::vector<Mutation> tessera::getMutations(Operation *op, const Mesh &mesh) {
  if (isa<dist::BucketOp>(op))
    return getBucketMutations(op, mesh);
  if (isa_and_nonnull<dist::BucketOp>(op->getParentOp()))
    return {};
  Maker maker(op, mesh);
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    maker.addCollective(collective);
  else if (isa<dist::ToPartialOp>(op))
    maker.addToPartial();
  else if (auto offset = dyn_cast<dist::AxisOffsetOp>(op))
    maker.addOffset(offset);
  else if (auto mask = dyn_cast<nn::MaskPaddingOp>(op))
    maker.addMask(mask);
  else if (DenseElementsAttr value; matchPattern(op, m_Constant(&value)))
    maker.addConstant(value);
  return maker.take();
}
