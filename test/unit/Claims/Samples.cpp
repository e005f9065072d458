//===- Samples.cpp - Small instances of every op --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Samples.h"
#include "Claims.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

using Strings = std::vector<std::string>;

static std::string join(llvm::ArrayRef<std::string> list) {
  return llvm::join(list, ", ");
}

/// `%a0: T0, %a1: T1`.
static std::string getParameters(llvm::ArrayRef<std::string> types) {
  Strings list;
  for (auto [i, type] : llvm::enumerate(types))
    list.push_back("%a" + std::to_string(i) + ": " + type);
  return join(list);
}

/// `%a0, %a1`.
static std::string nameValues(size_t count, llvm::StringRef prefix = "%a") {
  Strings list;
  for (size_t i = 0; i < count; ++i)
    list.push_back((prefix + llvm::Twine(i)).str());
  return join(list);
}

static std::string getFunction(llvm::ArrayRef<std::string> operands,
                               llvm::ArrayRef<std::string> results,
                               const std::string &body) {
  std::string value = results.size() > 1 ? nameValues(results.size(), "%r#")
                                         : std::string("%r");
  return "func.func @f(" + getParameters(operands) + ") -> (" + join(results) +
         ") {\n" + body + "\n  return " + value + " : " + join(results) +
         "\n}\n";
}

std::string claims::getText(llvm::StringRef name,
                            llvm::ArrayRef<std::string> operands,
                            llvm::ArrayRef<std::string> results,
                            llvm::StringRef properties,
                            llvm::StringRef region) {
  std::string count =
      results.size() > 1 ? ":" + std::to_string(results.size()) : "";
  std::string body = "  %r" + count + " = \"" + name.str() + "\"(" +
                     nameValues(operands.size()) + ")";
  if (!properties.empty())
    body += " <{" + properties.str() + "}>";
  body +=
      region.str() + " : (" + join(operands) + ") -> (" + join(results) + ")";
  return getFunction(operands, results, body);
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

static const Strings &getElementTypes() {
  static const Strings types = {"f32", "bf16", "f8E4M3FN", "i1", "i8", "i32"};
  return types;
}

static std::string getTensor(const std::string &element) {
  return "tensor<2x3x" + element + ">";
}

/// Properties that comparisons need.
static std::string getProperties(MLIRContext &context, llvm::StringRef name) {
  auto info = RegisteredOperationName::lookup(name, &context);
  bool hasPredicate =
      info && llvm::any_of(info->getAttributeNames(), [](StringAttr attr) {
        return attr.getValue() == "predicate";
      });
  return hasPredicate ? "predicate = 2 : i64" : "";
}

/// Operand types to try: all equal, a choice with two equal ones, and a float
/// with an integer.
static std::vector<Strings> getOperandTypes() {
  std::vector<Strings> all;
  for (const std::string &type : getElementTypes()) {
    for (size_t arity = 1; arity <= 3; ++arity)
      all.push_back(Strings(arity, type));
    all.push_back({"i1", type, type});
    all.push_back({type, "i32"});
  }
  return all;
}

/// Text of the op with operand `constant` as a splat of `value`.
static std::string getTextWithConstant(llvm::StringRef name,
                                       const Strings &operands,
                                       const std::string &result,
                                       size_t constant,
                                       const std::string &value) {
  Strings arguments, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back(i == constant ? "%c"
                                  : "%a" + std::to_string(arguments.size()));
    if (i != constant)
      arguments.push_back(operands[i]);
  }
  std::string body = "  %c = arith.constant dense<" + value +
                     "> : " + operands[constant] + "\n  %r = \"" + name.str() +
                     "\"(" + join(names) + ") : (" + join(operands) + ") -> " +
                     result;
  return getFunction(arguments, {result}, body);
}

static void add(std::vector<Sample> &samples, MLIRContext &context,
                const std::string &text) {
  if (std::optional<Sample> sample = Sample::parse(context, text))
    if (isDefined(*sample))
      samples.push_back(std::move(*sample));
}

std::vector<Sample> claims::findElementwise(MLIRContext &context,
                                            llvm::StringRef name) {
  std::vector<Sample> samples;
  std::string properties = getProperties(context, name);
  for (const Strings &elements : getOperandTypes()) {
    Strings operands;
    for (const std::string &element : elements)
      operands.push_back(getTensor(element));
    for (const std::string &element : getElementTypes()) {
      size_t before = samples.size();
      std::string result = getTensor(element);
      add(samples, context, getText(name, operands, {result}, properties));
      bool isValid = samples.size() > before;
      if (!isValid || operands.size() != 2 || !properties.empty())
        continue;
      for (size_t i = 0; i < 2; ++i) {
        bool isFloat = elements[i] == "f32" || elements[i] == "bf16";
        if (!isFloat && elements[i] != "i8")
          continue;
        for (const char *value : {"0", "2", "-3"})
          add(samples, context,
              getTextWithConstant(name, operands, result, i,
                                  value + std::string(isFloat ? ".0" : "")));
      }
    }
  }
  return samples;
}

//===----------------------------------------------------------------------===//
// Named linalg ops
//===----------------------------------------------------------------------===//

namespace {
/// Operands of a named op: the number of inputs, element types, ranks; rank -1
/// is a scalar.
struct NamedShape {
  Strings elements;
  std::vector<std::vector<int64_t>> shapes;
  std::string getType(size_t i) const {
    if (shapes[i].size() == 1 && shapes[i][0] < 0)
      return elements[i];
    std::string text = "tensor<";
    for (int64_t size : shapes[i])
      text += std::to_string(size) + "x";
    return text + elements[i] + ">";
  }
  std::string getText(llvm::StringRef name, bool zeroInit) const;
};
} // namespace

std::string NamedShape::getText(llvm::StringRef name, bool zeroInit) const {
  Strings types;
  for (size_t i = 0; i < elements.size(); ++i)
    types.push_back(getType(i));
  std::string init = types.back(), element = elements.back();
  std::string inputs = join(llvm::ArrayRef(types).drop_back());
  std::string body, out = "%a" + std::to_string(types.size() - 1);
  if (zeroInit) {
    std::string zero = element[0] == 'i' ? "0" : "0.0";
    body = "  %z = arith.constant " + zero + " : " + element +
           "\n  %e = tensor.empty() : " + init +
           "\n  %i = linalg.fill ins(%z : " + element + ") outs(%e : " + init +
           ") -> " + init + "\n";
    out = "%i";
  }
  body += "  %r = " + name.str() + " ins(" + nameValues(types.size() - 1) +
          " : " + inputs + ") outs(" + out + " : " + init + ") -> " + init;
  if (zeroInit)
    types.pop_back();
  return getFunction(types, {init}, body);
}

/// The shapes of an op for loop sizes of 2 and 3; `op` has size 1 everywhere.
static NamedShape getGrownShape(linalg::LinalgOp op, NamedShape shape) {
  SmallVector<int64_t> sizes;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    sizes.push_back(op.getNumLoops() > 4 ? 2 : 2 + i % 2);
  for (auto [map, dims] :
       llvm::zip_equal(op.getIndexingMapsArray(), shape.shapes))
    for (auto [expr, size] : llvm::zip(map.getResults(), dims)) {
      // Sizes are one more than the largest index.
      SmallVector<int64_t> last;
      for (int64_t loop : sizes)
        last.push_back(loop - 1);
      AffineMap one = AffineMap::get(map.getNumDims(), 0, expr);
      size = one.compose(last)[0] + 1;
    }
  return shape;
}

/// Tries ranks of the tensors among the operands, all sizes 1.
static std::optional<NamedShape> findShape(MLIRContext &context,
                                           llvm::StringRef name,
                                           const Strings &elements,
                                           llvm::ArrayRef<bool> isTensor) {
  constexpr int kMaxRank = 6;
  SmallVector<unsigned> tensors;
  for (auto [i, tensor] : llvm::enumerate(isTensor))
    if (tensor)
      tensors.push_back(i);
  auto tryRanks = [&](ArrayRef<int> ranks) -> std::optional<NamedShape> {
    NamedShape shape{elements, {}};
    shape.shapes.assign(elements.size(), {-1});
    for (auto [i, rank] : llvm::zip_equal(tensors, ranks))
      shape.shapes[i].assign(rank, 1);
    auto sample = Sample::parse(context, shape.getText(name, false));
    if (!sample)
      return std::nullopt;
    auto op = cast<linalg::LinalgOp>(sample->getOp().getOperation());
    return getGrownShape(op, shape);
  };
  // An op that accepts any rank gets rank 2.
  SmallVector<int> ranks(tensors.size(), 2);
  if (auto shape = tryRanks(ranks))
    return shape;
  llvm::fill(ranks, 0);
  while (true) {
    if (auto shape = tryRanks(ranks))
      return shape;
    int i = static_cast<int>(ranks.size()) - 1;
    for (; i >= 0 && ++ranks[i] > kMaxRank; --i)
      ranks[i] = 0;
    if (i < 0)
      return std::nullopt;
  }
}

std::vector<Sample> claims::findNamedLinalg(MLIRContext &context,
                                            llvm::StringRef name) {
  // Patterns of inputs and the output; scalars are after or before the tensors.
  static const std::pair<std::vector<bool>, std::vector<Strings>> kPatterns[] =
      {{{true, true}, {{"f32", "f32"}, {"i32", "i32"}}},
       {{false, true}, {{"f32", "f32"}}},
       {{true, true, true},
        {{"f32", "f32", "f32"},
         {"i32", "i32", "i32"},
         {"i8", "i8", "i32"},
         {"i1", "i1", "i1"}}},
       {{true, true, true, true}, {{"i1", "f32", "f32", "f32"}}},
       {{true, true, false, false, true}, {{"i8", "i8", "i32", "i32", "i32"}}},
       {{false, false, false, true}, {{"f64", "f64", "i32", "f32"}}}};
  std::vector<Sample> samples;
  for (auto &[isTensor, types] : kPatterns) {
    std::optional<NamedShape> shape;
    SmallVector<bool> tensors(isTensor.begin(), isTensor.end());
    for (const Strings &elements : types) {
      if (!shape)
        shape = findShape(context, name, elements, tensors);
      if (!shape)
        continue;
      NamedShape other = *shape;
      other.elements = elements;
      for (bool zeroInit : {false, true})
        add(samples, context, other.getText(name, zeroInit));
    }
    if (!samples.empty())
      break;
  }
  return samples;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace {
/// An element type, the initial values of its reductions and the ops that
/// reduce it.
struct BodyType {
  const char *element;
  std::vector<const char *> inits, combiners;
};
} // namespace

static std::string getApplied(llvm::StringRef name, size_t arity,
                              const char *first, const std::string &type) {
  Strings operands(arity, "%y"), types(arity, type);
  operands.front() = first;
  return "\"" + name.str() + "\"(" + join(operands) + ") : (" + join(types) +
         ") -> " + type;
}

/// A reduction of rows; with an empty `init` it is an argument.
static std::string getReduction(const BodyType &type, const std::string &body,
                                const std::string &init) {
  std::string t = type.element, out = "tensor<2x" + t + ">", prologue;
  Strings arguments = {getTensor(t), getTensor(t)};
  std::string from = "%a2";
  if (init.empty()) {
    arguments.push_back(out);
  } else {
    from = "%i";
    prologue = llvm::formatv("  %c = arith.constant {0} : {1}\n"
                             "  %e = tensor.empty() : {2}\n"
                             "  %i = linalg.fill ins(%c : {1}) outs(%e : {2}) "
                             "-> {2}\n",
                             init, t, out);
  }
  std::string op = llvm::formatv(
      "  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, "
      "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], "
      "iterator_types = [\"parallel\", \"reduction\"]} "
      "ins(%a0, %a1 : {0}, {0}) outs({1} : {2}) {{\n"
      "  ^bb0(%x: {3}, %y: {3}, %o: {3}):\n{4}  linalg.yield %s : {3}\n"
      "  } -> {2}",
      getTensor(t), from, out, t, body);
  return getFunction(arguments, {out}, prologue + op);
}

/// An op on each element, with the init unused.
static std::string getMap(const BodyType &type, const std::string &body) {
  std::string t = type.element, tensor = getTensor(t);
  std::string op = llvm::formatv(
      "  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, "
      "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], "
      "iterator_types = [\"parallel\", \"parallel\"]} "
      "ins(%a0, %a1 : {0}, tensor<2x{1}>) outs(%a2 : {0}) {{\n"
      "  ^bb0(%x: {1}, %y: {1}, %o: {1}):\n{2}  linalg.yield %s : {1}\n"
      "  } -> {0}",
      tensor, t, body);
  return getFunction({tensor, "tensor<2x" + t + ">", tensor}, {tensor}, op);
}

/// A prefix reduction, with its running value and the elements as results.
static std::string getPrefix(const BodyType &type, llvm::StringRef name) {
  std::string t = type.element, out = "tensor<2x" + t + ">";
  std::string op = llvm::formatv(
      "  %r:2 = linalg.generic {{indexing_maps = "
      "[affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, "
      "affine_map<(i, j) -> (i)>], iterator_types = [\"parallel\", "
      "\"reduction\"]} ins(%a0 : {0}) outs(%a1, %a2 : {1}, {1}) {{\n"
      "  ^bb0(%x: {2}, %o: {2}, %q: {2}):\n"
      "  %p = \"{3}\"(%o, %x) : ({2}, {2}) -> {2}\n"
      "  %s = \"{3}\"(%q, %p) : ({2}, {2}) -> {2}\n"
      "  linalg.yield %p, %s : {2}, {2}\n  } -> ({1}, {1})",
      getTensor(t), out, t, name);
  return getFunction({getTensor(t), out, out}, {out, out}, op);
}

std::vector<Sample> claims::findBodies(MLIRContext &context,
                                       llvm::StringRef name) {
  static const BodyType kTypes[] = {
      {"f32",
       {"", "0.0", "0xFF800000", "0x7F800000"},
       {"arith.addf", "arith.maximumf", "arith.maxnumf"}},
      {"i8", {"", "0", "-128", "127"}, {"arith.addi", "arith.maxsi"}},
      {"i1", {"", "false", "true"}, {"arith.addi", "arith.ori"}}};
  std::vector<Sample> samples;
  for (const BodyType &type : kTypes)
    for (size_t arity = 1; arity <= 2; ++arity) {
      std::string map =
          "  %s = " + getApplied(name, arity, "%x", type.element) + "\n";
      size_t before = samples.size();
      add(samples, context, getMap(type, map));
      if (samples.size() == before)
        continue;
      if (arity == 2) {
        std::string square =
            "  %z = " + getApplied(name, 2, "%x", type.element) +
            "\n  %s = \"" + name.str() + "\"(%z, %z) : (" + type.element +
            ", " + type.element + ") -> " + type.element + "\n";
        add(samples, context, getMap(type, square));
        add(samples, context, getPrefix(type, name));
      }
      for (const char *init : type.inits) {
        if (arity == 2)
          for (const char *operands : {"%o, %x", "%x, %o"})
            add(samples, context,
                getReduction(type,
                             llvm::formatv("  %s = \"{0}\"({1}) : ({2}, {2}) "
                                           "-> {2}\n",
                                           name, operands, type.element),
                             init));
        for (const char *combiner : type.combiners)
          add(samples, context,
              getReduction(
                  type,
                  llvm::formatv("  %p = {0}\n  %s = \"{1}\"(%o, %p) "
                                ": ({2}, {2}) -> {2}\n",
                                getApplied(name, arity, "%x", type.element),
                                combiner, type.element),
                  init));
      }
    }
  return samples;
}
