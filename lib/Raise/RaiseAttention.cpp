//===- RaiseAttention.cpp - Raises two matmuls around a softmax -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     q, k --einsum--> scores --scale, mask, softmax--> weights
//                                     weights, v --einsum--> result
//
//===----------------------------------------------------------------------===//

#include "RaiseAttention.h"
#include "FoldShapes.h"
#include "MoveConstraints.h"
#include "RowTrial.h"
#include "ScoreTerms.h"
#include "TensorTypes.h"
#include "tessera/Raise/Evaluate.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

/// An additive mask hides a key by at most this number.
static constexpr double kHidden = -1e4;
/// The most masks between two matmuls: one over positions, one over keys, and
/// one that hides nothing.
static constexpr size_t kMaxMasks = 3;

//===----------------------------------------------------------------------===//
// The mask
//===----------------------------------------------------------------------===//

namespace {

/// The keys that a query sees.
struct Visibility {
  bool isCausal = false;
  std::optional<int64_t> window;
};

/// A constant mask.
struct Mask {
  interp::TensorRef value;
  MaskNumbers numbers;
  /// The number that leaves a key visible: 0 or 1 in a boolean mask, 0 in an
  /// additive one.
  double visible = 0;
};

} // namespace

/// Reads a mask. Either value of a boolean mask may show a key: a trial sets
/// `visible`.
static std::optional<Mask> readMask(Value value) {
  Mask mask;
  mask.value = evaluateConstant(value);
  if (!mask.value)
    return std::nullopt;
  if (!mask.value->getElementType().isFloat()) {
    mask.numbers = {0, 1};
    return mask;
  }
  double low = 0;
  for (int64_t i = 0; i < mask.value->getNumElements(); ++i)
    low = std::min(low, (*mask.value)[i].f);
  for (int64_t i = 0; i < mask.value->getNumElements(); ++i)
    if ((*mask.value)[i].f != 0 && (*mask.value)[i].f != low)
      return std::nullopt;
  if (low > kHidden)
    return std::nullopt;
  mask.numbers = {low, 0};
  return mask;
}

/// Classifies the attention by its masks of queries and keys; each mask hides
/// some keys. None if it is of no known kind.
static std::optional<Visibility> classify(ArrayRef<Mask> masks) {
  ArrayRef<int64_t> shape = masks[0].value->getShape();
  int64_t queries = shape[0], keys = shape[1];
  auto sees = [&](int64_t query, int64_t key) {
    return llvm::all_of(masks, [&](const Mask &mask) {
      bool isFloat = mask.value->getElementType().isFloat();
      interp::Cell cell = (*mask.value)[query * keys + key];
      return (isFloat ? cell.f : double(cell.i)) == mask.visible;
    });
  };
  auto matches = [&](bool isCausal, int64_t window) {
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        if (sees(i, j) != (!isCausal || (j <= i && i - j < window)))
          return false;
    return true;
  };
  if (matches(false, keys))
    return Visibility();
  if (queries != keys)
    return std::nullopt;
  int64_t window = 0;
  for (int64_t key = 0; key < keys; ++key)
    window += sees(queries - 1, key);
  if (!matches(true, window))
    return std::nullopt;
  return Visibility{true, window < keys ? std::optional(window) : std::nullopt};
}

//===----------------------------------------------------------------------===//
// The function between the matmuls
//===----------------------------------------------------------------------===//

/// softmax(scale x) over the keys that each mask shows; `visible` is the number
/// in each mask that shows a key.
static Proposal proposeMasked(double scale, ArrayRef<double> visible) {
  return {"attention",
          [scale, visible = SmallVector<double>(visible)](
              OpBuilder &builder, Location loc, const RowInputs &in) -> Value {
            ElementwiseBuilder b{builder, loc};
            Value x = b.mul(in.x, b.splat(in.x, scale));
            for (auto [mask, number] : llvm::zip_equal(in.masks, visible)) {
              bool isFloat = isa<FloatType>(typeOf(mask).getElementType());
              Value shown = b.splat(mask, isFloat ? number : -number);
              Value isShown =
                  isFloat ? b.compare(arith::CmpFPredicate::OEQ, mask, shown)
                          : b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                  mask, shown);
              x = b.select(isShown, x, b.splat(x, -INFINITY));
            }
            return b.make<nn::SoftmaxOp>(x, typeOf(x).getRank() - 1);
          }};
}

namespace {
struct RowFunction {
  double scale = 1, error = 0;
  Visibility visibility;
};
} // namespace

/// Matches a region to a masked softmax of its rows; none if it is none.
static std::optional<RowFunction> matchFunction(const RowRegion &region,
                                                int64_t headDim) {
  if (region.masks.size() > kMaxMasks || !region.vectors.empty() ||
      !region.indices.empty())
    return std::nullopt;
  SmallVector<Mask> masks;
  SmallVector<MaskNumbers> numbers;
  // Chooses the number of each mask that shows a key: boolean masks try both.
  SmallVector<SmallVector<double>> shows(1);
  for (Value value : region.masks) {
    std::optional<Mask> mask = readMask(value);
    if (!mask)
      return std::nullopt;
    masks.push_back(*mask);
    numbers.push_back(mask->numbers);
    SmallVector<SmallVector<double>> before = std::move(shows);
    shows.clear();
    for (double number : {0.0, 1.0})
      if (number == 0 || !mask->value->getElementType().isFloat())
        for (SmallVector<double> &show : before) {
          shows.push_back(show);
          shows.back().push_back(number);
        }
  }
  SmallVector<double> scales{1, 1 / std::sqrt(double(headDim))};
  for (double number : findConstants(region))
    scales.append({number, 1 / number});
  SmallVector<std::pair<double, ArrayRef<double>>> settings;
  SmallVector<Proposal> proposals;
  for (double scale : scales)
    for (ArrayRef<double> visible : shows) {
      settings.push_back({scale, visible});
      proposals.push_back(proposeMasked(scale, visible));
    }
  auto result = tryProposals(region, proposals, numbers);
  std::optional<size_t> equal = result ? result->findEqual() : std::nullopt;
  if (!equal)
    return std::nullopt;
  RowFunction function;
  function.scale = settings[*equal].first;
  function.error = result->errors[*equal];
  if (masks.empty())
    return function;
  for (auto [mask, visible] : llvm::zip_equal(masks, settings[*equal].second))
    mask.visible = visible;
  std::optional<Visibility> visibility = classify(masks);
  if (!visibility)
    return std::nullopt;
  function.visibility = *visibility;
  return function;
}

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

namespace {

/// The letters of two matmuls by role; ' ' if there is none.
struct AttentionLetters {
  char batch = ' ', group = ' ', head = ' ', query = ' ', key = ' ';
  char dim = ' ', valueDim = ' ';
};

/// Two matmuls and the ops between them.
struct Match {
  nn::EinsumOp scores, result;
  Value q, k, v;
  std::string qLetters, kLetters, vLetters, resultLetters;
  AttentionLetters letters;
  RowFunction function;
  /// A constraint on a mask, which cannot move.
  dist::ConstraintOp blocking;
  /// The ops on scores, if they do more than `function` says.
  std::optional<ScoreTerms> terms;
  /// Shardings from constraints between the matmuls; null if there are none.
  dist::ShardingAttr kSharding, vSharding, resultSharding;
};

} // namespace

static std::string without(StringRef letters, StringRef others) {
  std::string kept;
  for (char letter : letters)
    if (!others.contains(letter))
      kept += letter;
  return kept;
}

/// Renames the letters of the second matmul to the letters of the scores,
/// dimension by dimension of the weights; its own letters become capitals.
static std::string rename(StringRef letters, StringRef weights,
                          StringRef scores) {
  std::string renamed;
  for (char letter : letters) {
    size_t dim = weights.find(letter);
    renamed += dim == StringRef::npos ? llvm::toUpper(letter) : scores[dim];
  }
  return renamed;
}

/// Assigns roles to letters. A letter that only queries have is a head of a
/// group or the position; the letter of the mask is the position.
static bool assignLetters(Match &match, StringRef scores, int64_t maskDim) {
  AttentionLetters &l = match.letters;
  std::string shared, queries, summed;
  for (char letter : match.qLetters) {
    bool isKey = StringRef(match.kLetters).contains(letter);
    bool isScore = scores.contains(letter);
    (isKey && isScore ? shared : isKey ? summed : queries) += letter;
  }
  std::string keys = without(match.kLetters, match.qLetters);
  std::string values = without(match.vLetters, scores);
  if (shared.empty() || shared.size() > 2 || queries.empty() ||
      queries.size() > 2 || summed.size() != 1 || keys.size() != 1 ||
      values.size() != 1 || keys[0] != scores.back())
    return false;
  l.batch = shared[0];
  l.group = shared.size() == 2 ? shared[1] : ' ';
  l.key = keys[0];
  l.dim = summed[0];
  l.valueDim = values[0];
  l.query = maskDim >= 0 ? scores[maskDim] : queries.front();
  if (!StringRef(queries).contains(l.query))
    return false;
  if (queries.size() == 2)
    l.head = queries[0] == l.query ? queries[1] : queries[0];
  // Values must share the letters that keys share, and no others.
  std::string expected = shared + l.key + l.valueDim;
  std::string found = match.vLetters;
  llvm::sort(expected);
  llvm::sort(found);
  return expected == found;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Transposes `x` from `letters` to `order`; adds dimensions of size 1 for ' '.
static Value arrange(OpBuilder &b, Location loc, Value x, StringRef letters,
                     StringRef order) {
  SmallVector<int64_t> permutation, shape, kept;
  for (auto [dim, letter] : llvm::enumerate(order))
    if (letter != ' ') {
      permutation.push_back(letters.find(letter));
      shape.push_back(typeOf(x).getDimSize(permutation.back()));
      kept.push_back(dim);
    }
  if (!llvm::is_sorted(permutation))
    x = buildTranspose(b, loc, x, permutation);
  SmallVector<int64_t> whole(order.size(), 1);
  for (auto [dim, size] : llvm::zip_equal(kept, shape))
    whole[dim] = size;
  if (kept.size() == order.size())
    return x;
  return nn::BroadcastOp::create(b, loc, typeOf(x).clone(whole), x, kept);
}

/// The inverse: drops dimensions of size 1 and restores the order.
static Value restore(OpBuilder &b, Location loc, Value x, StringRef order,
                     StringRef letters) {
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  std::string kept;
  for (auto [dim, letter] : llvm::enumerate(order)) {
    if (letter != ' ') {
      kept += letter;
      shape.push_back(typeOf(x).getDimSize(dim));
      groups.push_back({});
    }
    groups.back().push_back(dim);
  }
  if (kept.size() != order.size())
    x = tensor::CollapseShapeOp::create(b, loc, typeOf(x).clone(shape), x,
                                        groups);
  return arrange(b, loc, x, kept, letters);
}

/// Strips positive scalar factors and divisors from `x`, before or after
/// reshapes, and multiplies them into `scale`.
static Value peelScale(Value x, double &scale) {
  auto isFactor = [](std::optional<double> number) {
    return number && *number > 0 && std::isfinite(*number);
  };
  while (true) {
    auto mul = x.getDefiningOp<arith::MulFOp>();
    auto div = x.getDefiningOp<arith::DivFOp>();
    if (!mul && !div)
      break;
    Operation *op = x.getDefiningOp();
    std::optional<double> left = mul ? getNumber(mul.getLhs()) : std::nullopt;
    std::optional<double> right = getNumber(op->getOperand(1));
    if (!isFactor(left) && !isFactor(right))
      return x;
    scale *= div ? 1 / *right : isFactor(right) ? *right : *left;
    x = op->getOperand(isFactor(right) ? 0 : 1);
  }
  Operation *op = x.getDefiningOp();
  if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                       nn::TransposeOp>(op) ||
      !op->hasOneUse())
    return x;
  Value before = peelScale(op->getOperand(0), scale);
  if (before == op->getOperand(0))
    return x;
  OpBuilder b(op);
  Operation *copy = b.clone(*op);
  copy->setOperand(0, before);
  return copy->getResult(0);
}

/// The tensor before its heads (dimension `dim`) were repeated, where groups of
/// consecutive heads are equal: [g] to [g, r] to [g r]. Null if they are not
/// repeated; `count` is r.
static Value findRepeated(Value x, int64_t dim, int64_t &count) {
  auto collapse = x.getDefiningOp<tensor::CollapseShapeOp>();
  auto spread = collapse ? collapse.getSrc().getDefiningOp<nn::BroadcastOp>()
                         : nn::BroadcastOp();
  if (!spread || spread.getType().getRank() != typeOf(x).getRank() + 1 ||
      collapse.getReassociationIndices()[dim].size() != 2)
    return Value();
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < spread.getType().getRank(); ++i)
    if (i != dim + 1)
      kept.push_back(i);
  count = spread.getType().getDimSize(dim + 1);
  return spread.getDims() == ArrayRef(kept) ? spread.getX() : Value();
}

/// Divides dimension `dim` of a tensor into groups of `count`.
static Value splitDim(OpBuilder &b, Location loc, Value x, size_t dim,
                      int64_t count) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape[dim] /= count;
  shape.insert(shape.begin() + dim + 1, count);
  SmallVector<ReassociationIndices> parts;
  for (size_t i = 0, next = 0; i + 1 < shape.size(); ++i) {
    parts.push_back({int64_t(next++)});
    if (i == dim)
      parts.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(b, loc, typeOf(x).clone(shape), x,
                                       parts);
}

/// Reads keys and values before their heads are repeated: each head serves a
/// group of queries.
static void groupHeads(Match &match) {
  AttentionLetters &l = match.letters;
  if (l.group == ' ' || l.head != ' ')
    return;
  int64_t kCount = 0, vCount = 0;
  Value k = findRepeated(match.k, match.kLetters.find(l.group), kCount);
  Value v = findRepeated(match.v, match.vLetters.find(l.group), vCount);
  if (!k || !v || kCount != vCount)
    return;
  match.k = k;
  match.v = v;
  std::string all = match.qLetters + match.kLetters + match.vLetters;
  l.head = 'a';
  while (all.find(l.head) != std::string::npos)
    ++l.head;
  OpBuilder b(match.result);
  match.q = splitDim(b, match.result.getLoc(), match.q,
                     match.qLetters.find(l.group), kCount);
  for (std::string *letters : {&match.qLetters, &match.resultLetters})
    letters->insert(letters->find(l.group) + 1, 1, l.head);
}

/// Merges a divided dimension of `x` back to its shape `type`.
static Value mergeHeads(OpBuilder &b, Location loc, Value x,
                        RankedTensorType type) {
  if (x.getType() == type)
    return x;
  auto parts = getReassociationIndicesForReshape(typeOf(x), type);
  return tensor::CollapseShapeOp::create(b, loc, type, x, *parts);
}

/// Moves constraints of scores and weights: the shardings of keys move to keys
/// and values, the others to the result.
static bool moveConstraints(Match &match, ArrayRef<Operation *> ops,
                            StringRef scores) {
  for (Operation *op : ops) {
    auto constraint = dyn_cast<dist::ConstraintOp>(op);
    if (!constraint)
      continue;
    dist::ShardingAttr sharding = constraint.getSharding();
    auto find = [&](StringRef letters, StringRef wanted) {
      SmallVector<int64_t> dims;
      for (char letter : scores.take_front(sharding.getDims().size())) {
        size_t dim =
            wanted.contains(letter) ? letters.find(letter) : StringRef::npos;
        dims.push_back(dim == StringRef::npos ? -1 : int64_t(dim));
      }
      return moveSharding(sharding, dims, letters.size());
    };
    StringRef key = scores.take_back();
    bool isMoved = joinSharding(match.resultSharding,
                                find(match.resultLetters, scores.drop_back()));
    bool hasKeys = sharding.getDims().size() == scores.size();
    if (hasKeys && !(sharding.getDims().back().getOpen() &&
                     sharding.getDims().back().getAxes().empty()))
      isMoved = isMoved &&
                joinSharding(match.kSharding, find(match.kLetters, key)) &&
                joinSharding(match.vSharding, find(match.vLetters, key));
    if (isMoved)
      continue;
    reportBlocked(constraint, "attention");
    return false;
  }
  return true;
}

namespace {
/// The terms of scores as operands of attention; null for none.
struct Terms {
  Value bias, sinks;
  DenseI64ArrayAttr biasDims;
};
} // namespace

/// Brings a term of scores with these letters, a part of those of `scores`,
/// into an order of roles; changes `letters` to those that it has. A role that
/// it lacks is a dimension of size 1 if `keepsOnes`.
static Value placeTerm(OpBuilder &b, Match &match, StringRef scores, Value x,
                       std::string &letters, ArrayRef<char> order,
                       bool keepsOnes) {
  const AttentionLetters &l = match.letters;
  // Heads of a group are a part of the letter that the scores have.
  size_t dim = letters.find(l.group);
  if (l.head != ' ' && !scores.contains(l.head) && dim != std::string::npos) {
    int64_t perGroup = typeOf(match.q).getDimSize(match.qLetters.find(l.head));
    x = splitDim(b, match.result.getLoc(), x, dim, perGroup);
    letters.insert(dim + 1, 1, l.head);
  }
  std::string own;
  for (char letter : order)
    if (letters.find(letter) != std::string::npos)
      own += letter;
    else if (keepsOnes)
      own += ' ';
  x = arrange(b, match.result.getLoc(), x, letters, own);
  letters = own;
  return x;
}

static std::string getBiasLetters(Match &match, StringRef scores) {
  std::string letters;
  for (int64_t dim : match.terms->getBiasDims())
    letters += scores[dim];
  return letters;
}

/// The visibility that a bias stands for, if it is a constant mask of
/// positions.
static std::optional<Visibility> findVisibility(Match &match,
                                                StringRef scores) {
  const char positions[] = {match.letters.query, match.letters.key};
  if (getBiasLetters(match, scores) != StringRef(positions, 2))
    return std::nullopt;
  OpBuilder b(match.result);
  Value bias = match.terms->buildBias(b, match.terms->getBiasDims());
  std::optional<Mask> mask = readMask(bias);
  return mask && !findConstraint(bias) ? classify(*mask) : std::nullopt;
}

static void buildBias(OpBuilder &b, Match &match, StringRef scores,
                      Terms &built) {
  const AttentionLetters &l = match.letters;
  std::string letters = getBiasLetters(match, scores);
  if (letters.empty())
    return;
  Value bias = match.terms->buildBias(b, match.terms->getBiasDims());
  const char order[] = {l.batch, l.query, l.group, l.head, l.key};
  bias = placeTerm(b, match, scores, bias, letters, order,
                   /*keepsOnes=*/false);
  SmallVector<int64_t> places;
  for (char letter : letters)
    places.push_back(llvm::find(order, letter) - order);
  built.biasDims = b.getDenseI64ArrayAttr(places);
  Type element = typeOf(match.q).getElementType();
  bool isWide = typeOf(bias).getElementType().isF32() &&
                element.getIntOrFloatBitWidth() < 32;
  if (!isWide)
    bias = ElementwiseBuilder{b, bias.getLoc()}.cast(bias, element);
  built.bias = bias;
}

static Value buildSinks(OpBuilder &b, Match &match, StringRef scores) {
  std::string letters;
  SmallVector<int64_t> shape;
  for (int64_t dim : match.terms->sinksDims) {
    letters += scores[dim];
    shape.push_back(match.terms->products.getType().getDimSize(dim));
  }
  Value sinks = match.terms->sinks;
  auto type = typeOf(sinks).clone(shape);
  if (shape.size() > 1)
    sinks = tensor::ExpandShapeOp::create(
        b, match.result.getLoc(), type, sinks,
        *getReassociationIndicesForReshape(typeOf(sinks), type));
  return placeTerm(b, match, scores, sinks, letters,
                   {match.letters.group, match.letters.head},
                   /*keepsOnes=*/true);
}

/// Builds the terms of scores, with the letters of `match`.
static Terms buildTerms(OpBuilder &b, Match &match, StringRef scores) {
  Terms built;
  if (match.terms)
    buildBias(b, match, scores, built);
  if (match.terms && match.terms->sinks)
    built.sinks = buildSinks(b, match, scores);
  return built;
}

static void rewrite(Match match) {
  std::string scores = match.scores.getLetters().result.str();
  match.q = peelScale(match.q, match.function.scale);
  match.k = peelScale(match.k, match.function.scale);
  groupHeads(match);
  const AttentionLetters &l = match.letters;
  nn::EinsumOp last = match.result;
  OpBuilder b(last);
  Location loc = last.getLoc();
  auto orderOf = [](std::initializer_list<char> letters) {
    return std::string(letters);
  };
  std::string qOrder = orderOf({l.batch, l.query, l.group, l.head, l.dim});
  std::string kOrder = orderOf({l.batch, l.key, l.group, l.dim});
  std::string vOrder = orderOf({l.batch, l.key, l.group, l.valueDim});
  std::string order = orderOf({l.batch, l.query, l.group, l.head, l.valueDim});
  match.k = constrain(b, loc, match.k, match.kSharding);
  match.v = constrain(b, loc, match.v, match.vSharding);
  Value q = arrange(b, loc, match.q, match.qLetters, qOrder);
  Value k = arrange(b, loc, match.k, match.kLetters, kOrder);
  Value v = arrange(b, loc, match.v, match.vLetters, vOrder);
  SmallVector<int64_t> shape(typeOf(q).getShape());
  shape.back() = typeOf(v).getShape().back();
  Terms terms = buildTerms(b, match, scores);
  const Visibility &visibility = match.function.visibility;
  FloatAttr softcap;
  if (match.terms && match.terms->softcap != 0)
    softcap = b.getF64FloatAttr(match.terms->softcap);
  IntegerAttr window;
  if (visibility.window)
    window = b.getI64IntegerAttr(*visibility.window);
  Value mixed =
      nn::AttentionOp::create(
          b, loc, typeOf(q).clone(shape), q, k, v, /*q_offset=*/Value(),
          /*k_offset=*/Value(), /*starts=*/Value(), terms.bias, terms.sinks,
          terms.biasDims, visibility.isCausal ? b.getUnitAttr() : UnitAttr(),
          window, b.getF64FloatAttr(match.function.scale), softcap,
          /*key_size=*/IntegerAttr(), nn::ZigzagAttr())
          .getResult();
  Value restored = restore(b, loc, mixed, order, match.resultLetters);
  Value merged = mergeHeads(b, loc, restored, last.getType());
  last.replaceAllUsesWith(constrain(b, loc, merged, match.resultSharding));
  remark::passed(loc, remark::RemarkOpts::name("Raised").category("import"))
      << remark::add("nn.attention")
      << remark::metric("error", match.function.error);
}

/// The matmul that computes the scores of a region; null if there is none.
static nn::EinsumOp findScores(const RowRegion &region) {
  auto scores = region.x.getDefiningOp<nn::EinsumOp>();
  bool isOwn = scores && scores.getScales().empty() &&
               llvm::all_of(region.x.getUsers(), [&](Operation *user) {
                 return llvm::is_contained(region.ops, user);
               });
  return isOwn ? scores : nn::EinsumOp();
}

/// Reads the letters of both matmuls, whose weights are the left or right
/// operand of `result`; false if they are not those of attention.
static bool readLetters(Match &match, bool isLeft, int64_t maskDim) {
  match.q = match.scores.getLhs();
  match.k = match.scores.getRhs();
  if (typeOf(match.q).getElementType() != typeOf(match.v).getElementType())
    return false;
  auto first = match.scores.getLetters();
  auto second = match.result.getLetters();
  match.qLetters = first.lhs.str();
  match.kLetters = first.rhs.str();
  // The last dimension of the scores belongs to the keys.
  if (StringRef(match.qLetters).contains(first.result.back())) {
    std::swap(match.q, match.k);
    std::swap(match.qLetters, match.kLetters);
  }
  StringRef weightLetters = isLeft ? second.lhs : second.rhs;
  match.vLetters =
      rename(isLeft ? second.rhs : second.lhs, weightLetters, first.result);
  match.resultLetters = rename(second.result, weightLetters, first.result);
  return !StringRef(match.resultLetters).contains(first.result.back()) &&
         match.resultLetters.size() == first.result.size() &&
         assignLetters(match, first.result, maskDim);
}

/// Matches scores that are scaled and masked by constants.
static bool matchMasked(Match &match, Value weights, bool isLeft) {
  std::vector<RowRegion> regions =
      findRowRegions(weights, /*allowsMasks=*/true);
  for (const RowRegion &region : llvm::reverse(regions)) {
    match.scores = findScores(region);
    if (!match.scores || !region.has<nn::SoftmaxOp, math::ExpOp>() ||
        !readLetters(match, isLeft, region.maskDim))
      continue;
    int64_t dim = match.qLetters.find(match.letters.dim);
    auto function = matchFunction(region, typeOf(match.q).getDimSize(dim));
    if (!function)
      continue;
    match.function = *function;
    match.kSharding = match.vSharding = match.resultSharding = {};
    for (Value mask : region.masks)
      if (dist::ConstraintOp constraint = findConstraint(mask))
        match.blocking = constraint;
    if (!match.blocking &&
        moveConstraints(match, region.ops, match.scores.getLetters().result))
      return true;
  }
  return false;
}

/// Matches scores with a bias, a softcap or sinks.
static bool matchTerms(Match &match, Value weights, bool isLeft) {
  match.terms = readScoreTerms(weights);
  if (!match.terms)
    return false;
  match.scores = match.terms->products;
  if (!readLetters(match, isLeft, /*maskDim=*/-1))
    return false;
  StringRef scores = match.scores.getLetters().result;
  // A mask is along the position, not along a head of a group.
  SmallVector<int64_t> ofQueries;
  for (int64_t dim : match.terms->getBiasDims())
    if (!StringRef(match.kLetters).contains(scores[dim]))
      ofQueries.push_back(dim);
  if (ofQueries.size() == 1 && !assignLetters(match, scores, ofQueries.front()))
    return false;
  for (int64_t dim : match.terms->sinksDims)
    if (scores[dim] != match.letters.group && scores[dim] != match.letters.head)
      return false;
  match.function = RowFunction();
  match.function.scale = match.terms->scale;
  if (auto visibility = findVisibility(match, scores)) {
    match.function.visibility = *visibility;
    match.terms->steps.clear();
  } else if (match.terms->replaces) {
    // A fully masked row has no gradient of its scores, as a bias has.
    return false;
  }
  match.kSharding = match.vSharding = match.resultSharding = {};
  return moveConstraints(match, match.terms->ops, scores);
}

/// Matches attention; its weights are the left or right operand of `result`.
static std::optional<Match> matchWeights(nn::EinsumOp result, bool isLeft) {
  Match match;
  match.result = result;
  Value weights = isLeft ? result.getLhs() : result.getRhs();
  match.v = isLeft ? result.getRhs() : result.getLhs();
  if (!weights.hasOneUse() ||
      typeOf(match.v).getElementType() != result.getType().getElementType())
    return std::nullopt;
  if (matchMasked(match, weights, isLeft) || matchTerms(match, weights, isLeft))
    return match;
  if (match.blocking)
    reportBlocked(match.blocking, "attention");
  return std::nullopt;
}

void tessera::raiseAttention(Block &block) {
  SmallVector<nn::EinsumOp> matmuls(block.getOps<nn::EinsumOp>());
  for (nn::EinsumOp result : matmuls) {
    if (!result.getScales().empty())
      continue;
    std::optional<Match> match = matchWeights(result, /*isLeft=*/true);
    if (!match)
      match = matchWeights(result, /*isLeft=*/false);
    if (match)
      rewrite(*match);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
