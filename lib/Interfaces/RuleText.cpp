//===- RuleText.cpp - Sharding rules as text ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/RuleText.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string RuleText::print() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  rule.print(os);
  std::optional<ReductionKind> last;
  for (const auto &[kind, set] : partial) {
    if (last != kind)
      os << "; partial " << stringifyReduction(kind) << " in";
    last = kind;
    os << " {";
    llvm::interleaveComma(set.set_bits(), os);
    os << '}';
  }
  return text;
}

static std::optional<ReductionKind> parseReduction(StringRef word) {
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    if (word == stringifyReduction(kind))
      return kind;
  return std::nullopt;
}

namespace {
/// Reads a rule from left to right; all methods return false after an error.
class RuleParser {
public:
  explicit RuleParser(StringRef text) : whole(text), rest(text) {}

  llvm::Expected<RuleText> parse();

private:
  bool fail(const Twine &what);
  bool expect(StringRef token);
  bool parseTensors(SmallVectorImpl<TensorFactors> &tensors);
  bool parseDims(TensorFactors &dims);
  bool parseFactor(StringRef &name);
  bool parseSizes();
  bool parseKind(unsigned number, Factor &factor);
  bool parsePartial();
  bool parseSet(ReductionKind kind);
  bool parseInteger(int64_t &value);
  unsigned getFactor(StringRef name);

  void skipSpaces() { rest = rest.ltrim(" \n\t"); }
  bool consume(StringRef token) {
    skipSpaces();
    return rest.consume_front(token);
  }
  StringRef takeWord() {
    skipSpaces();
    StringRef word = rest.take_while(llvm::isAlpha);
    rest = rest.drop_front(word.size());
    return word;
  }

  StringRef whole, rest;
  RuleText out;
  SmallVector<StringRef> names;
  llvm::SmallBitVector hasSize;
  std::string error;
};
} // namespace

bool RuleParser::fail(const Twine &what) {
  skipSpaces();
  if (error.empty())
    error = ("expects " + what + " at column " +
             Twine(whole.size() - rest.size() + 1) + " but got '" +
             rest.take_front(12) + "'")
                .str();
  return false;
}

bool RuleParser::expect(StringRef token) {
  return consume(token) || fail("'" + token + "'");
}

/// Returns the number of a factor: the order in which names come first.
unsigned RuleParser::getFactor(StringRef name) {
  auto it = llvm::find(names, name);
  if (it != names.end())
    return it - names.begin();
  names.push_back(name);
  unsigned number = out.rule.addFactor(1);
  out.rule.factors[number].letter = name.size() == 1 ? name.front() : 0;
  return number;
}

/// Reads a letter, or f and a number.
bool RuleParser::parseFactor(StringRef &name) {
  skipSpaces();
  if (rest.empty() || !llvm::isAlpha(rest.front()))
    return false;
  size_t digits = rest.front() == 'f'
                      ? rest.drop_front().take_while(llvm::isDigit).size()
                      : 0;
  name = rest.take_front(1 + digits);
  rest = rest.drop_front(name.size());
  return true;
}

bool RuleParser::parseDims(TensorFactors &dims) {
  if (!expect("["))
    return false;
  if (consume("]"))
    return true;
  do {
    DimFactors factors;
    if (!consume("1")) {
      for (StringRef name; parseFactor(name);)
        factors.push_back(getFactor(name));
      if (factors.empty())
        return fail("a factor or '1'");
    }
    dims.push_back(factors);
  } while (consume(","));
  return expect("]");
}

bool RuleParser::parseTensors(SmallVectorImpl<TensorFactors> &tensors) {
  if (!expect("("))
    return false;
  if (consume(")"))
    return true;
  do {
    if (!parseDims(tensors.emplace_back()))
      return false;
  } while (consume(","));
  return expect(")");
}

bool RuleParser::parseInteger(int64_t &value) {
  skipSpaces();
  return !rest.consumeInteger(10, value) && value >= 0;
}

/// Reads the words after a factor's size.
bool RuleParser::parseKind(unsigned number, Factor &factor) {
  while (true) {
    StringRef before = rest;
    StringRef word = takeWord();
    if (word.empty())
      return true;
    FactorKind kind = FactorKind::Parallel;
    std::optional<ReductionKind> reduction = parseReduction(word);
    if (reduction)
      kind = FactorKind::Reduction;
    else if (word == "replicated")
      kind = FactorKind::Replicated;
    else {
      rest = before;
      return fail("sum, max, min or replicated");
    }
    if (factor.kind != FactorKind::Parallel) {
      rest = before;
      return fail("one kind of factor " + names[number]);
    }
    factor.kind = kind;
    factor.reduction = reduction.value_or(ReductionKind::Sum);
  }
}

bool RuleParser::parseSizes() {
  if (!expect("{"))
    return false;
  hasSize.resize(names.size());
  if (!consume("}")) {
    do {
      StringRef before = rest, name;
      auto it = parseFactor(name) ? llvm::find(names, name) : names.end();
      if (it == names.end()) {
        rest = before;
        return fail("a factor of a dimension");
      }
      unsigned number = it - names.begin();
      if (hasSize.test(number)) {
        rest = before;
        return fail("factor " + name + " once");
      }
      Factor &factor = out.rule.factors[number];
      if (!expect("=") || !(parseInteger(factor.size) || fail("a size")) ||
          !parseKind(number, factor))
        return false;
      hasSize.set(number);
    } while (consume(","));
    if (!expect("}"))
      return false;
  }
  for (auto [i, name] : llvm::enumerate(names))
    if (!hasSize.test(i))
      return fail("a size of factor " + name);
  return true;
}

bool RuleParser::parseSet(ReductionKind kind) {
  llvm::SmallBitVector set(out.rule.operands.size());
  do {
    int64_t operand = 0;
    StringRef before = rest;
    if (!parseInteger(operand) || operand >= int64_t(set.size())) {
      rest = before;
      return fail("the number of an operand");
    }
    set.set(operand);
  } while (consume(","));
  out.partial.push_back({kind, set});
  return expect("}");
}

/// Reads `; partial sum in {0} {1}`.
bool RuleParser::parsePartial() {
  while (consume(";")) {
    if (!expect("partial"))
      return false;
    StringRef before = rest;
    std::optional<ReductionKind> kind = parseReduction(takeWord());
    if (!kind) {
      rest = before;
      return fail("sum, max or min");
    }
    if (!expect("in") || !expect("{") || !parseSet(*kind))
      return false;
    while (consume("{"))
      if (!parseSet(*kind))
        return false;
  }
  skipSpaces();
  return rest.empty() || fail("the end");
}

llvm::Expected<RuleText> RuleParser::parse() {
  if (parseTensors(out.rule.operands) && expect("->") &&
      parseTensors(out.rule.results) && parseSizes() && parsePartial())
    return std::move(out);
  return llvm::createStringError(error);
}

llvm::Expected<RuleText> tessera::parseRuleText(StringRef text) {
  return RuleParser(text).parse();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static llvm::Error checkTensor(const ShardingRule &rule,
                               const TensorFactors &dims, Type type,
                               const Twine &name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t rank = tensor ? tensor.getRank() : 0;
  if (int64_t(dims.size()) != rank)
    return llvm::createStringError(name + ": expects " + Twine(rank) +
                                   " dimensions but got " + Twine(dims.size()));
  for (auto [i, factors] : llvm::enumerate(dims)) {
    int64_t size = 1;
    bool overflows = false;
    for (unsigned factor : factors)
      overflows |= llvm::MulOverflow(size, rule.factors[factor].size, size);
    if (overflows)
      return llvm::createStringError(
          name + ": expects factors of size " + Twine(tensor.getDimSize(i)) +
          " in dimension " + Twine(i) + " but got more than 2^63");
    if (!factors.empty() && size != tensor.getDimSize(i))
      return llvm::createStringError(
          name + ": expects factors of size " + Twine(tensor.getDimSize(i)) +
          " in dimension " + Twine(i) + " but got " + Twine(size));
  }
  return llvm::Error::success();
}

static llvm::Error checkTensors(const ShardingRule &rule,
                                ArrayRef<TensorFactors> tensors,
                                TypeRange types, StringRef name) {
  if (tensors.size() != types.size())
    return llvm::createStringError("expects " + Twine(types.size()) + " " +
                                   name + "s but got " + Twine(tensors.size()));
  for (auto [i, type] : llvm::enumerate(types))
    if (llvm::Error error =
            checkTensor(rule, tensors[i], type, name + " " + Twine(i)))
      return error;
  return llvm::Error::success();
}

llvm::Error tessera::checkRule(const ShardingRule &rule, TypeRange operands,
                               TypeRange results) {
  if (llvm::Error error =
          checkTensors(rule, rule.operands, operands, "operand"))
    return error;
  return checkTensors(rule, rule.results, results, "result");
}

namespace {
/// Solves the sizes of factors from the sizes of dimensions.
class FactorSolver {
public:
  explicit FactorSolver(ShardingRule &rule)
      : rule(rule), sizes(rule.factors.size(), -1) {}

  void add(ArrayRef<TensorFactors> tensors, TypeRange types) {
    for (auto [dims, type] : llvm::zip(tensors, types))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        for (auto [factors, size] : llvm::zip(dims, tensor.getShape()))
          if (!factors.empty())
            equations.push_back({factors, size});
  }
  bool solve();

private:
  struct Equation {
    ArrayRef<unsigned> factors;
    int64_t size;
  };
  bool setAll(const Equation &equation);

  ShardingRule &rule;
  SmallVector<int64_t> sizes;
  SmallVector<Equation> equations;
};
} // namespace

/// Gives the unknown factors of a dimension what the known ones leave: minor
/// ones their old sizes while these divide it, the major one the rest.
bool FactorSolver::setAll(const Equation &equation) {
  int64_t left = equation.size;
  SmallVector<unsigned> unknown;
  for (unsigned factor : equation.factors) {
    if (sizes[factor] < 0) {
      unknown.push_back(factor);
    } else if (sizes[factor] == 0 || left % sizes[factor]) {
      return equation.size == 0;
    } else {
      left /= sizes[factor];
    }
  }
  while (unknown.size() > 1) {
    unsigned minor = unknown.pop_back_val();
    int64_t old = rule.factors[minor].size;
    sizes[minor] = old > 0 && left % old == 0 ? old : left;
    left = sizes[minor] ? left / sizes[minor] : 0;
  }
  if (unknown.empty())
    return left == 1 || equation.size == 0;
  sizes[unknown.front()] = left;
  return true;
}

bool FactorSolver::solve() {
  // Dimensions of one factor say its size.
  for (const Equation &equation : equations)
    if (equation.factors.size() == 1)
      sizes[equation.factors.front()] = equation.size;
  for (const Equation &equation : equations)
    if (!setAll(equation))
      return false;
  for (auto [factor, size] : llvm::zip_equal(rule.factors, sizes))
    if (size >= 0)
      factor.size = size;
  return true;
}

bool tessera::resizeRule(ShardingRule &rule, TypeRange operands,
                         TypeRange results) {
  FactorSolver solver(rule);
  solver.add(rule.operands, operands);
  solver.add(rule.results, results);
  if (!solver.solve())
    return false;
  llvm::Error error = checkRule(rule, operands, results);
  bool fits = !error;
  llvm::consumeError(std::move(error));
  return fits;
}
