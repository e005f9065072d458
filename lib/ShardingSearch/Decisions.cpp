//===- Decisions.cpp - Recorded shardings ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ShardingSearch/Decisions.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "tessera/Propagation/ProblemBuilder.h"
#include "tessera/Support/Errors.h"
#include "tessera/Training/DecisionFile.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;

/// Characters of a text that an error quotes.
static constexpr size_t kMostQuoted = 200;

/// Attributes of ops and arguments, in the order of a file.
static constexpr llvm::StringLiteral kOpAttributes[] = {
    dist::DistDialect::kApartAttr, dist::DistDialect::kExactAttr,
    dist::DistDialect::kFactorsAttr, dist::DistDialect::kShardingsAttr};

namespace {

/// Decisions by key, each in the order of the program.
using Groups = std::map<std::string, SmallVector<std::string>>;

/// Visits the subjects of a file in program order.
class Subjects {
public:
  using OnOp = llvm::function_ref<LogicalResult(Operation *, std::string)>;
  using OnValue = llvm::function_ref<LogicalResult(FunctionOpInterface,
                                                   unsigned, std::string)>;

  using OnSum = llvm::function_ref<LogicalResult(OpResult, std::string)>;

  /// Visits ops, except ops whose results are sums.
  static LogicalResult forEachOp(ModuleOp module, OnOp visit);
  static LogicalResult forEachSum(ModuleOp module, OnSum visit);
  static LogicalResult forEachArgument(ModuleOp module, OnValue visit);
  static LogicalResult forEachResult(ModuleOp module, OnValue visit);
};

} // namespace

template <typename T> static std::string toText(const T &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << value;
  return text;
}

static std::string describeSource(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op->getName().getStringRef().str() : "argument";
}

/// `nn.einsum ([i,k],[k,j])->([i,j]) {i=8, ...}`.
static void printRule(Operation *op, llvm::raw_ostream &os) {
  os << op->getName() << ' ';
  getShardingRule(op).print(os);
}

/// Returns `nn.einsum ([i,k],[k,j])->([i,j]) {i=8, ...} : tensor<...> of
/// argument to arith.addf tensor<...>`. The kinds of users distinguish similar
/// ops.
static std::string getKey(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printRule(op, os);
  os << " : ";
  llvm::interleaveComma(op->getResultTypes(), os);
  os << " of ";
  llvm::interleaveComma(op->getOperands(), os,
                        [&](Value operand) { os << describeSource(operand); });
  std::set<std::string> users;
  for (Operation *user : op->getUsers()) {
    std::string name = user->getName().getStringRef().str();
    if (user->getNumResults() == 1)
      name += " " + toText(user->getResult(0).getType());
    // Skips groups: propagation removes them.
    if (!isa<dist::GroupOp>(user))
      users.insert(name);
  }
  os << " to ";
  llvm::interleaveComma(users, os);
  return text;
}

/// A name without its numbers.
static std::string getClass(StringRef name) {
  std::string text;
  for (char c : name)
    if (!llvm::isDigit(c))
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  return text;
}

/// The use of a constant with a single use: each use has a copy.
static std::string describeUse(Operation *op) {
  if (!op->hasOneUse())
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  Operation *user = *op->getUsers().begin();
  os << " for ";
  if (isa<ShardingRuleOpInterface>(user))
    printRule(user, os);
  else
    os << user->getName();
  return text;
}

static LogicalResult
forEachBlock(ModuleOp module,
             llvm::function_ref<LogicalResult(Block &)> visit) {
  for (auto func : module.getOps<FunctionOpInterface>())
    if (!func.isExternal())
      for (Block *block : dist::getBlocks(func))
        if (failed(visit(*block)))
          return failure();
  return success();
}

LogicalResult Subjects::forEachOp(ModuleOp module, OnOp visit) {
  return forEachBlock(module, [&](Block &block) -> LogicalResult {
    DenseSet<Operation *> constants;
    for (Operation &op : block) {
      if (!llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) ||
          isa<dist::AccumulateOp>(op))
        continue;
      bool isConstant = llvm::all_of(op.getOperands(), [&](Value operand) {
        return constants.contains(operand.getDefiningOp());
      });
      if (isConstant)
        constants.insert(&op);
      if (failed(
              visit(&op, getKey(&op) + (isConstant ? describeUse(&op) : ""))))
        return failure();
    }
    return success();
  });
}

LogicalResult Subjects::forEachSum(ModuleOp module, OnSum visit) {
  return forEachBlock(module, [&](Block &block) -> LogicalResult {
    for (auto accumulate : block.getOps<dist::AccumulateOp>())
      for (auto [result, term] : llvm::zip(accumulate.getResults(),
                                           accumulate.getYield().getValues())) {
        Operation *op = term.getDefiningOp();
        std::string key = toText(result.getType()) + " of " +
                          (op ? getKey(op) : std::string("argument"));
        if (isa<RankedTensorType>(result.getType()) &&
            failed(visit(cast<OpResult>(result), key)))
          return failure();
      }
    return success();
  });
}

/// Returns `blocks.#.wq `; empty for an argument without a name.
static std::string getNameClass(FunctionOpInterface func, unsigned argument) {
  for (StringRef attr : nn::NNDialect::kArgumentNames)
    if (auto text = func.getArgAttrOfType<StringAttr>(argument, attr))
      return getClass(text.getValue()) + " ";
  return "";
}

LogicalResult Subjects::forEachArgument(ModuleOp module, OnValue visit) {
  for (auto func : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (failed(visit(func, i,
                       getNameClass(func, i) + ": " +
                           toText(func.getArgumentTypes()[i]))))
        return failure();
  return success();
}

/// A result that replaces an argument has the argument's name.
LogicalResult Subjects::forEachResult(ModuleOp module, OnValue visit) {
  for (auto func : module.getOps<FunctionOpInterface>()) {
    std::vector<std::string> names(func.getNumResults());
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      auto donated =
          func.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
      if (donated && donated.getValue().ult(names.size()))
        names[donated.getInt()] = getNameClass(func, i) + ": ";
    }
    for (auto [i, name] : llvm::enumerate(names))
      if (failed(visit(func, i, name + toText(func.getResultTypes()[i]))))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string getOpDecision(Operation *op) {
  SmallVector<NamedAttribute> attrs;
  for (StringRef name : kOpAttributes)
    if (Attribute attr = op->getDiscardableAttr(name))
      attrs.push_back({StringAttr::get(op->getContext(), name), attr});
  return toText(DictionaryAttr::get(op->getContext(), attrs));
}

static std::string getDecision(dist::ShardingAttr sharding) {
  return sharding ? toText(Attribute(sharding)) : "";
}

static Array toJson(const Groups &groups) {
  Array all;
  for (const auto &[key, decisions] : groups) {
    Array texts;
    bool isOne = llvm::all_equal(decisions);
    for (const std::string &text : ArrayRef<std::string>(decisions).take_front(
             isOne ? 1 : decisions.size()))
      texts.push_back(text);
    all.push_back(Object{{"key", key},
                         {"seen", static_cast<int64_t>(decisions.size())},
                         {"attributes", std::move(texts)}});
  }
  return all;
}

static std::string describeMesh(ModuleOp module) {
  for (auto mesh : module.getOps<dist::MeshOp>())
    return toText(Attribute(mesh.getMesh()));
  return "";
}

static Strategy getSearched() {
  Strategy strategy;
  strategy.isSearched = true;
  return strategy;
}

/// The entries of a file for a module.
static Object getDecisions(ModuleOp module, const Strategy &strategy) {
  Groups ops, sums, arguments, results;
  (void)Subjects::forEachOp(module, [&](Operation *op, std::string key) {
    ops[key].push_back(getOpDecision(op));
    return success();
  });
  (void)Subjects::forEachArgument(
      module, [&](FunctionOpInterface func, unsigned i, std::string key) {
        arguments[key].push_back(
            getDecision(func.getArgAttrOfType<dist::ShardingAttr>(
                i, dist::DistDialect::kShardingAttr)));
        return success();
      });
  (void)Subjects::forEachResult(
      module, [&](FunctionOpInterface func, unsigned i, std::string key) {
        results[key].push_back(getDecision(dist::getResultSharding(func, i)));
        return success();
      });
  (void)Subjects::forEachSum(module, [&](OpResult sum, std::string key) {
    sums[key].push_back(getDecision(dist::getSharding(sum)));
    return success();
  });
  Object file = makeDecisionFile(strategy);
  file["mesh"] = describeMesh(module);
  file["arguments"] = toJson(arguments);
  file["ops"] = toJson(ops);
  file["results"] = toJson(results);
  file["sums"] = toJson(sums);
  return file;
}

static void writeFile(Object file, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 1);
  json.value(std::move(file));
  os << "\n";
}

void tessera::printDecisions(ModuleOp module, const FoundShardings &found,
                             llvm::raw_ostream &os) {
  Object file = getDecisions(module, getSearched());
  file["us"] = double(found.cost) * 1e-6;
  file["us_at_least"] = double(found.bound) * 1e-6;
  writeFile(std::move(file), os);
}

void tessera::printDecisions(ModuleOp module, const Strategy &strategy,
                             llvm::raw_ostream &os) {
  writeFile(getDecisions(module, strategy), os);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads the decisions of one list of a file.
static llvm::Expected<Groups> readGroups(const Object &file, StringRef name) {
  Groups groups;
  const Array *list = file.getArray(name);
  if (!list)
    return llvm::createStringError("expects a list \"" + name +
                                   "\" in a decision file");
  for (const llvm::json::Value &entry : *list) {
    const Object *object = entry.getAsObject();
    const Array *texts = object ? object->getArray("attributes") : nullptr;
    auto key = object ? object->getString("key") : std::nullopt;
    if (!key || !texts || texts->empty())
      return llvm::createStringError("expects a key and attributes in each "
                                     "entry of \"" +
                                     name + "\"");
    SmallVector<std::string> &decisions = groups[key->str()];
    for (const llvm::json::Value &text : *texts) {
      auto string = text.getAsString();
      if (!string)
        return llvm::createStringError("expects attributes as text in \"" +
                                       name + "\"");
      decisions.push_back(string->str());
    }
  }
  return groups;
}

namespace {

/// Hands out decisions in program order.
class Replay {
public:
  Replay(ModuleOp module, Groups groups, bool isPartial)
      : module(module), groups(groups), isPartial(isPartial) {}

  /// The next decision for a key; a single one serves all. If there is none: an
  /// empty string if `isPartial`, else an error.
  FailureOr<std::string> take(Location loc, StringRef key);
  /// The same as an attribute; null if there is none.
  FailureOr<Attribute> takeAttribute(Location loc, StringRef key);

private:
  ModuleOp module;
  Groups groups;
  bool isPartial;
  llvm::StringMap<unsigned> taken;
};

} // namespace

/// Quotes a text or its first characters.
static std::string quote(StringRef text) {
  if (text.size() <= kMostQuoted)
    return ("'" + text + "'").str();
  return ("'" + text.take_front(kMostQuoted) + "...'").str();
}

/// The key with the longest prefix in common.
static std::string findNearest(const Groups &groups, StringRef key) {
  std::string nearest = "none";
  size_t most = 0;
  for (const auto &[other, decisions] : groups) {
    size_t same = 0;
    while (same < std::min(other.size(), key.size()) &&
           other[same] == key[same])
      ++same;
    if (same > most) {
      most = same;
      nearest = other;
    }
  }
  return nearest;
}

FailureOr<std::string> Replay::take(Location loc, StringRef key) {
  auto it = groups.find(key.str());
  if (it == groups.end() && isPartial)
    return std::string();
  if (it == groups.end())
    return emitError(loc) << "decisions: expects one for " << quote(key)
                          << " but got " << quote(findNearest(groups, key));
  unsigned at = taken[key]++;
  if (it->second.size() == 1)
    return it->second.front();
  if (at >= it->second.size() && isPartial)
    return std::string();
  if (at >= it->second.size())
    return emitError(loc) << "decisions: expects " << it->second.size()
                          << " of " << quote(key) << " but got more";
  return it->second[at];
}

/// MLIR's parser recurses for each bracket and is quadratic in a number's
/// digits. Shardings have few of both.
static bool isParsable(StringRef text) {
  constexpr int kMostBrackets = 64, kMostDigits = 64;
  int depth = 0, digits = 0;
  for (char c : text) {
    depth += StringRef("[({<").contains(c) - StringRef("])}>").contains(c);
    digits = llvm::isDigit(c) ? digits + 1 : 0;
    if (depth > kMostBrackets || digits > kMostDigits)
      return false;
  }
  return true;
}

FailureOr<Attribute> Replay::takeAttribute(Location loc, StringRef key) {
  FailureOr<std::string> text = take(loc, key);
  if (failed(text))
    return failure();
  if (text->empty())
    return Attribute();
  Attribute attr;
  {
    ScopedDiagnosticHandler silence(module.getContext(),
                                    [](Diagnostic &) { return success(); });
    if (isParsable(*text))
      attr = parseAttribute(*text, module.getContext());
  }
  if (!attr)
    return emitError(loc) << "decisions: expects an attribute but got "
                          << quote(*text);
  return attr;
}

/// Sets the attributes of an op that a decision has.
static LogicalResult decideOp(Replay &replay, Operation *op, StringRef key) {
  FailureOr<Attribute> attr = replay.takeAttribute(op->getLoc(), key);
  if (failed(attr))
    return failure();
  if (!*attr)
    return success();
  auto attrs = dyn_cast<DictionaryAttr>(*attr);
  if (!attrs)
    return op->emitError("decisions: expects a dictionary but got ") << *attr;
  for (NamedAttribute entry : attrs) {
    if (!llvm::is_contained(kOpAttributes, entry.getName().getValue()))
      return op->emitError("decisions: expects shardings and factors but got ")
             << entry.getName();
    op->setDiscardableAttr(entry.getName(), entry.getValue());
  }
  if (auto constraint = dyn_cast<dist::ConstraintOp>(op))
    if (dist::ShardingAttr sharding = dist::getSharding(constraint.getResult()))
      constraint.setShardingAttr(sharding);
  return success();
}

static FailureOr<dist::ShardingAttr> takeSharding(Replay &replay, Location loc,
                                                  StringRef key) {
  FailureOr<Attribute> attr = replay.takeAttribute(loc, key);
  if (failed(attr))
    return failure();
  auto sharding = dyn_cast_or_null<dist::ShardingAttr>(*attr);
  if (*attr && !sharding)
    return emitError(loc) << "decisions: expects a sharding but got " << *attr;
  return sharding;
}

LogicalResult tessera::replayDecisions(ModuleOp module, StringRef text,
                                       bool isPartial) {
  auto fail = [&](llvm::Error error) -> LogicalResult {
    return module.emitError("decisions: ") << llvm::toString(std::move(error));
  };
  auto file = readDecisionFile(text);
  if (!file)
    return fail(file.takeError());
  std::string mesh = describeMesh(module);
  StringRef decided = file->getString("mesh").value_or("none");
  if (decided != mesh)
    return module.emitError("decisions: expects the mesh ")
           << mesh << " but got " << decided;
  auto ops = readGroups(*file, "ops");
  if (!ops)
    return fail(ops.takeError());
  auto arguments = readGroups(*file, "arguments");
  if (!arguments)
    return fail(arguments.takeError());
  auto results = readGroups(*file, "results");
  if (!results)
    return fail(results.takeError());
  auto sums = readGroups(*file, "sums");
  if (!sums)
    return fail(sums.takeError());
  ConstantCopies copies;
  copies.split(module);
  Replay opReplay(module, *ops, isPartial),
      argumentReplay(module, *arguments, isPartial),
      resultReplay(module, *results, isPartial),
      sumReplay(module, *sums, isPartial);
  auto decideArgument = [&](FunctionOpInterface func, unsigned i,
                            std::string key) -> LogicalResult {
    auto sharding = takeSharding(argumentReplay, func.getLoc(), key);
    if (succeeded(sharding) && *sharding)
      func.setArgAttr(i, dist::DistDialect::kShardingAttr, *sharding);
    return sharding;
  };
  auto decideResult = [&](FunctionOpInterface func, unsigned i,
                          std::string key) -> LogicalResult {
    auto sharding = takeSharding(resultReplay, func.getLoc(), key);
    if (succeeded(sharding) && *sharding)
      dist::setResultSharding(func, i, *sharding);
    return sharding;
  };
  auto decideSum = [&](OpResult sum, std::string key) -> LogicalResult {
    auto sharding = takeSharding(sumReplay, sum.getLoc(), key);
    if (succeeded(sharding) && *sharding)
      dist::setSharding(sum, *sharding);
    return sharding;
  };
  if (failed(Subjects::forEachArgument(module, decideArgument)) ||
      failed(Subjects::forEachResult(module, decideResult)) ||
      failed(Subjects::forEachOp(module,
                                 [&](Operation *op, std::string key) {
                                   return decideOp(opReplay, op, key);
                                 })) ||
      failed(Subjects::forEachSum(module, decideSum)))
    return failure();
  // A search keeps the copies; propagation, the other source of files, does
  // not.
  if (file->getString("strategy") != StringRef(print(getSearched())))
    copies.merge();
  return mlir::verify(module);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static void printDecisions(StringRef name, const Groups &groups, StringRef key,
                           llvm::raw_ostream &os) {
  os << "    " << name << ": ";
  auto it = groups.find(key.str());
  if (it == groups.end())
    os << "none";
  else
    llvm::interleave(it->second, os, " | ");
  os << "\n";
}

/// The keys of two lists whose decisions differ.
static void compareGroups(StringRef name, const Groups &first,
                          const Groups &second, llvm::raw_ostream &os) {
  std::map<std::string, bool> differs;
  for (const auto &[key, decisions] : first) {
    auto other = second.find(key);
    differs[key] = other == second.end() || other->second != decisions;
  }
  for (const auto &[key, decisions] : second)
    differs.try_emplace(key, true);
  size_t count =
      llvm::count_if(differs, [](auto &entry) { return entry.second; });
  os << name << ": " << count << " of " << differs.size() << " differ\n";
  for (const auto &[key, isOther] : differs)
    if (isOther) {
      os << "  " << (key.empty() ? "''" : key) << "\n";
      printDecisions("first", first, key, os);
      printDecisions("second", second, key, os);
    }
}

llvm::Error tessera::compareDecisions(const Object &first, const Object &second,
                                      llvm::raw_ostream &os) {
  if (llvm::Error error = checkDecisionFile(first))
    return prefixError("the first: ", std::move(error));
  if (llvm::Error error = checkDecisionFile(second))
    return prefixError("the second: ", std::move(error));
  for (StringRef name : {"mesh", "strategy", "us", "us_at_least"}) {
    const llvm::json::Value *mine = first.get(name), *other = second.get(name);
    if (mine && other && *mine != *other)
      os << name << ": " << *mine << " and " << *other << "\n";
  }
  for (StringRef name : {"arguments", "ops", "results", "sums"}) {
    auto mine = readGroups(first, name);
    if (!mine)
      return prefixError("the first: ", mine.takeError());
    auto other = readGroups(second, name);
    if (!other)
      return prefixError("the second: ", other.takeError());
    compareGroups(name, *mine, *other, os);
  }
  return llvm::Error::success();
}
