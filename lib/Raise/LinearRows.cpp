//===- LinearRows.cpp - Ops that are linear in rows of a tensor -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a region have the leading dimensions of x; the dimensions after
// these, one or several, form a row.
//
//===----------------------------------------------------------------------===//

#include "LinearRows.h"
#include "TensorTypes.h"
#include "tessera/Raise/Evaluate.h"

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/Limits.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

/// The most ops of a region.
static constexpr size_t kMaxLinearOps = 64;
/// The most elements of a row.
static constexpr int64_t kMaxWidth = int64_t(1) << 16;
/// The most terms of an element: a rotation has two.
static constexpr size_t kMaxTerms = 8;
/// The most row elements that are read for all regions of one value.
static constexpr int64_t kMaxRead = int64_t(1) << 20;

static int64_t numElements(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

bool RowConstants::contains(Value value) {
  auto [entry, isNew] = known.try_emplace(value);
  if (isNew)
    entry->second = followsFromConstants(value);
  return entry->second;
}

interp::TensorRef RowConstants::evaluate(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value);
  if (isNew)
    entry->second = evaluateConstant(value);
  return entry->second;
}

/// The operand number of the factor that depends on x, if the other factor is
/// constant; -1 if both or neither are constant.
static int findFactor(arith::MulFOp op, RowConstants &constants) {
  bool isLeft = constants.contains(op.getLhs());
  bool isRight = constants.contains(op.getRhs());
  return isLeft == isRight ? -1 : isLeft ? 1 : 0;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// The forms of a value's rows, in row-major order of their dimensions.
struct Rows {
  SmallVector<int64_t> shape;
  std::vector<LinearForm> forms;
};

/// The factors of each element of a row: numbers or entries of a table.
struct RowFactor {
  Value table;
  int64_t positionDim = -1;
  SmallVector<double> numbers;
  SmallVector<int64_t> columns;
};

/// Computes the forms of a region's values.
class RowReader {
public:
  RowReader(LinearRows &region, RowConstants &constants)
      : region(region), constants(constants),
        leading(typeOf(region.x).getRank() - 1) {}

  bool read();

private:
  bool readOp(Operation *op);
  bool readSum(Operation *op, double sign);
  bool readProduct(arith::MulFOp op);
  bool readSlice(tensor::ExtractSliceOp op);
  bool readConcat(tensor::ConcatOp op);
  bool readTranspose(nn::TransposeOp op);
  std::optional<RowFactor> readFactor(Value value);
  void copy(Operation *op, double scale);
  SmallVector<int64_t> rowShape(Value value) const {
    return SmallVector<int64_t>(typeOf(value).getShape().drop_front(leading));
  }

  LinearRows &region;
  RowConstants &constants;
  int64_t leading;
  llvm::DenseMap<Value, Rows> rows;
};

} // namespace

/// Copies the forms of the operand to a result of another shape or type, times
/// a number.
void RowReader::copy(Operation *op, double scale) {
  Rows result = rows.lookup(op->getOperand(0));
  result.shape = rowShape(op->getResult(0));
  for (LinearForm &form : result.forms)
    for (LinearTerm &term : form)
      term.scale *= scale;
  rows[op->getResult(0)] = std::move(result);
}

/// Adds a term to a form: like terms are summed, and dropped if they cancel.
static void addTerm(LinearForm &form, const LinearTerm &term) {
  LinearTerm *like = llvm::find_if(form, [&](const LinearTerm &other) {
    return other.source == term.source && other.table == term.table &&
           other.column == term.column;
  });
  if (like == form.end()) {
    form.push_back(term);
    return;
  }
  like->scale += term.scale;
  if (like->scale == 0)
    form.erase(like);
}

bool RowReader::readSum(Operation *op, double sign) {
  Rows result = rows.lookup(op->getOperand(0));
  const Rows &other = rows[op->getOperand(1)];
  for (auto [form, terms] : llvm::zip_equal(result.forms, other.forms)) {
    for (LinearTerm term : terms) {
      term.scale *= sign;
      addTerm(form, term);
    }
    if (form.size() > kMaxTerms)
      return false;
  }
  rows[op->getResult(0)] = std::move(result);
  return true;
}

/// The numbers or columns of a value that depends on constants alone.
std::optional<RowFactor> RowReader::readFactor(Value value) {
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  Value from = broadcast ? broadcast.getX() : value;
  ArrayRef<int64_t> type = typeOf(value).getShape();
  SmallVector<int64_t> dims =
      broadcast ? SmallVector<int64_t>(broadcast.getDims())
                : llvm::to_vector(llvm::seq<int64_t>(0, type.size()));
  RowFactor factor;
  SmallVector<int64_t> steps(type.size() - leading, 0);
  int64_t step = 1;
  for (int64_t dim : llvm::reverse(dims)) {
    if (dim >= leading) {
      steps[dim - leading] = step;
      step *= type[dim];
    } else if (type[dim] != 1) {
      if (factor.positionDim >= 0)
        return std::nullopt;
      factor.positionDim = dim;
    }
  }
  SmallVector<int64_t> shape = rowShape(value);
  for (int64_t i = 0, e = numElements(shape); i < e; ++i) {
    int64_t column = 0, rest = i;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      column += rest % shape[dim] * steps[dim];
    factor.columns.push_back(column);
  }
  if (factor.positionDim >= 0) {
    factor.table = from;
    factor.numbers.assign(factor.columns.size(), 1);
    return factor;
  }
  interp::TensorRef numbers = constants.evaluate(from);
  if (!numbers)
    return std::nullopt;
  for (int64_t column : factor.columns)
    factor.numbers.push_back((*numbers)[column].f);
  return factor;
}

/// Allows one table per term, all tables along one dimension.
bool RowReader::readProduct(arith::MulFOp op) {
  int own = findFactor(op, constants);
  Rows result = rows.lookup(op->getOperand(own));
  std::optional<RowFactor> factor = readFactor(op->getOperand(1 - own));
  if (!factor)
    return false;
  if (factor->table) {
    if (region.positionDim >= 0 && region.positionDim != factor->positionDim)
      return false;
    region.positionDim = factor->positionDim;
  }
  for (auto [i, form] : llvm::enumerate(result.forms)) {
    for (LinearTerm &term : form) {
      if (factor->table && term.table)
        return false;
      term.scale *= factor->numbers[i];
      if (factor->table) {
        term.table = factor->table;
        term.column = factor->columns[i];
      }
    }
    llvm::erase_if(form,
                   [](const LinearTerm &term) { return term.scale == 0; });
  }
  rows[op.getResult()] = std::move(result);
  return true;
}

/// The elements of `shape`; `fn` maps the index of each one to its source
/// element.
static std::vector<LinearForm>
gather(ArrayRef<int64_t> shape, const Rows &from,
       llvm::function_ref<int64_t(size_t, int64_t)> fn,
       ArrayRef<int64_t> order) {
  SmallVector<int64_t> steps(shape.size(), 1);
  for (size_t dim = from.shape.size(); dim-- > 1;)
    steps[dim - 1] = steps[dim] * from.shape[dim];
  std::vector<LinearForm> forms;
  for (int64_t i = 0, e = numElements(shape); i < e; ++i) {
    int64_t source = 0, rest = i;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      source += fn(dim, rest % shape[dim]) * steps[order[dim]];
    forms.push_back(from.forms[source]);
  }
  return forms;
}

bool RowReader::readSlice(tensor::ExtractSliceOp op) {
  auto isDynamic = [](ArrayRef<int64_t> values) {
    return llvm::any_of(values, ShapedType::isDynamic);
  };
  ArrayRef<int64_t> offsets = op.getStaticOffsets();
  ArrayRef<int64_t> strides = op.getStaticStrides();
  if (op.getDroppedDims().any() || isDynamic(offsets) || isDynamic(strides) ||
      isDynamic(op.getStaticSizes()) ||
      op.getType().getShape().take_front(leading) !=
          op.getSourceType().getShape().take_front(leading))
    return false;
  const Rows &from = rows[op.getSource()];
  SmallVector<int64_t> shape = rowShape(op.getResult());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::vector<LinearForm> forms = gather(
      shape, from,
      [&](size_t dim, int64_t index) {
        return offsets[leading + dim] + index * strides[leading + dim];
      },
      order);
  rows[op.getResult()] = {shape, std::move(forms)};
  return true;
}

bool RowReader::readTranspose(nn::TransposeOp op) {
  SmallVector<int64_t> order;
  for (auto [after, before] : llvm::enumerate(op.getPermutation())) {
    if (int64_t(after) < leading && before != int64_t(after))
      return false;
    if (int64_t(after) >= leading)
      order.push_back(before - leading);
  }
  const Rows &from = rows[op.getX()];
  SmallVector<int64_t> shape = rowShape(op.getResult());
  std::vector<LinearForm> forms =
      gather(shape, from, [](size_t, int64_t index) { return index; }, order);
  rows[op.getResult()] = {shape, std::move(forms)};
  return true;
}

bool RowReader::readConcat(tensor::ConcatOp op) {
  int64_t dim = int64_t(op.getDim()) - leading;
  if (dim < 0)
    return false;
  Rows result{rowShape(op.getResult()), {}};
  int64_t outer = numElements(ArrayRef(result.shape).take_front(dim));
  for (int64_t i = 0; i < outer; ++i)
    for (Value part : op.getInputs()) {
      const Rows &from = rows[part];
      int64_t inner = from.forms.size() / outer;
      result.forms.insert(result.forms.end(), from.forms.begin() + i * inner,
                          from.forms.begin() + (i + 1) * inner);
    }
  rows[op.getResult()] = std::move(result);
  return true;
}

/// Whether a reshape keeps the leading dimensions.
template <typename Op> static bool keepsLeading(Op op, int64_t leading) {
  auto groups = op.getReassociationIndices();
  return int64_t(groups.size()) > leading &&
         llvm::all_of(llvm::seq<int64_t>(0, leading),
                      [&](int64_t dim) { return groups[dim].size() == 1; });
}

/// Whether a broadcast only adds dimensions of size 1 after the leading ones.
static bool addsUnits(nn::BroadcastOp op, int64_t leading) {
  return typeOf(op.getX()).getNumElements() == op.getType().getNumElements() &&
         int64_t(op.getDims().size()) >= leading &&
         llvm::equal(op.getDims().take_front(leading),
                     llvm::seq<int64_t>(0, leading));
}

bool RowReader::readOp(Operation *op) {
  if (isa<arith::AddFOp>(op))
    return readSum(op, 1);
  if (isa<arith::SubFOp>(op))
    return readSum(op, -1);
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return readProduct(product);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return readSlice(slice);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return readConcat(concat);
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return readTranspose(transpose);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    if (!keepsLeading(expand, leading))
      return false;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    if (!keepsLeading(collapse, leading))
      return false;
  if (auto broadcast = dyn_cast<nn::BroadcastOp>(op))
    if (!addsUnits(broadcast, leading))
      return false;
  copy(op, isa<arith::NegFOp>(op) ? -1 : 1);
  return true;
}

bool RowReader::read() {
  Rows &first = rows[region.x];
  first.shape = rowShape(region.x);
  auto isRead = [&](Value value) {
    ArrayRef<int64_t> shape = typeOf(value).getShape().drop_front(
        std::min<int64_t>(leading, typeOf(value).getRank()));
    return !isTooLarge(shape) && numElements(shape) > 0 &&
           numElements(shape) <= kMaxWidth;
  };
  if (!isRead(region.x) || !llvm::all_of(region.ops, [&](Operation *op) {
        return isRead(op->getResult(0));
      }))
    return false;
  for (int64_t i = 0; i < first.shape[0]; ++i)
    first.forms.push_back({LinearTerm{i, 1, Value(), 0}});
  for (Operation *op : region.ops)
    if (!readOp(op))
      return false;
  region.forms = std::move(rows[region.y].forms);
  return true;
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

namespace {

/// Walks backward from a value, the latest op first.
class LinearWalk {
public:
  LinearWalk(Value y, RowConstants &constants) : y(y), constants(constants) {
    frontier.insert(y);
  }

  /// Takes one step back; false if there is none.
  bool advance();
  /// Returns the region if one value of y's shape is left and the region both
  /// moves and multiplies row elements; other regions are no rotation.
  std::optional<LinearRows> take();

private:
  bool enter(Operation *op);
  bool isRegion() const;

  Value y;
  RowConstants &constants;
  bool moves = false, multiplies = false;
  /// Row elements of the ops inside, and how many may still be read.
  int64_t elements = 0, left = kMaxRead;
  llvm::SetVector<Value> frontier;
  llvm::SetVector<Operation *> inside;
};

} // namespace

/// Whether the rows of an op can be read; adds its operands to the frontier.
bool LinearWalk::enter(Operation *op) {
  if (auto product = dyn_cast<arith::MulFOp>(op)) {
    int own = findFactor(product, constants);
    if (own >= 0)
      frontier.insert(op->getOperand(own));
    multiplies = true;
    return own >= 0;
  }
  moves |= isa<tensor::ExtractSliceOp, tensor::ConcatOp, nn::TransposeOp>(op);
  if (!isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
           arith::TruncFOp, tensor::ExtractSliceOp, tensor::ConcatOp,
           tensor::ExpandShapeOp, tensor::CollapseShapeOp, nn::TransposeOp,
           nn::BroadcastOp, dist::ConstraintOp>(op))
    return false;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()) ||
        typeOf(operand).getRank() < typeOf(y).getRank())
      return false;
    frontier.insert(operand);
  }
  return true;
}

bool LinearWalk::advance() {
  Value latest;
  for (Value value : frontier) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == y.getParentBlock() &&
        (!latest || latest.getDefiningOp()->isBeforeInBlock(op)))
      latest = value;
  }
  if (!latest || inside.size() == kMaxLinearOps)
    return false;
  frontier.remove(latest);
  inside.insert(latest.getDefiningOp());
  ArrayRef<int64_t> row =
      typeOf(latest).getShape().drop_front(typeOf(y).getRank() - 1);
  if (isTooLarge(row) || numElements(row) > left - elements)
    return false;
  elements += numElements(row);
  return enter(latest.getDefiningOp());
}

bool LinearWalk::isRegion() const {
  if (frontier.size() != 1)
    return false;
  RankedTensorType from = typeOf(frontier.front()), to = typeOf(y);
  if (from.getShape() != to.getShape() ||
      !isa<FloatType>(from.getElementType()))
    return false;
  unsigned width =
      std::min(from.getElementTypeBitWidth(), to.getElementTypeBitWidth());
  for (Operation *op : inside) {
    Value result = op->getResult(0);
    if (typeOf(result).getElementTypeBitWidth() < width ||
        (result != y && llvm::any_of(op->getUsers(), [&](Operation *user) {
           return !inside.contains(user);
         })))
      return false;
  }
  return true;
}

std::optional<LinearRows> LinearWalk::take() {
  if (!moves || !multiplies || elements > left || !isRegion())
    return std::nullopt;
  left -= elements;
  LinearRows region;
  region.x = frontier.front();
  region.y = y;
  region.ops.assign(inside.begin(), inside.end());
  llvm::sort(region.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (!RowReader(region, constants).read())
    return std::nullopt;
  return region;
}

std::vector<LinearRows> tessera::findLinearRows(Value y,
                                                RowConstants &constants) {
  std::vector<LinearRows> regions;
  auto type = dyn_cast<RankedTensorType>(y.getType());
  if (!type || type.getRank() < 2 || !isa<FloatType>(type.getElementType()))
    return regions;
  LinearWalk walk(y, constants);
  while (walk.advance())
    if (std::optional<LinearRows> region = walk.take())
      regions.push_back(std::move(*region));
  return regions;
}
