//===- PipelineMutants.cpp - Are wrong pipelines found to be wrong? -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a pipeline program and changes one thing at a time: lists, the
// operands that tasks take, keep, send and add, exchanges, reductions. The
// interpreter finds the changes that change the program's results; none of
// these may be proven.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Stages/VerifyPipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("PROGRAM.mlir"),
                                  cl::Required);
static cl::opt<std::string> mesh("mesh", cl::desc("pp=2,dp=2"), cl::Required);
static cl::opt<std::string> strategy("strategy", cl::desc("pp,dp"),
                                     cl::Required);
static cl::opt<std::string> training("training",
                                     cl::desc("micro-batches=4,schedule=..."));
static cl::opt<unsigned> every("every", cl::init(1),
                               cl::desc("try only every n-th mutant"));
static cl::opt<bool> verbose("verbose", cl::desc("a line for each mutant"));

namespace {

/// One change at the op with a number, in the order of a walk of the module.
struct Mutation {
  std::string what;
  unsigned number;
  /// Returns false if the change cannot be applied.
  std::function<bool(Operation *)> apply;
};

class Mutations {
public:
  explicit Mutations(ModuleOp module) : module(module) {}
  std::vector<Mutation> get();

private:
  void add(const Twine &what, std::function<bool(Operation *)> apply) {
    list.push_back({(where + ": " + what).str(), number, std::move(apply)});
  }
  void addToPipeline(dist::PipelineOp pipeline);
  void addToTask(dist::TaskOp task);
  void addToExchange(dist::ExchangeOp exchange);

  ModuleOp module;
  std::vector<Mutation> list;
  std::string where;
  unsigned number = 0;
};

} // namespace

/// Applies `change` to the words of the list.
static bool
changeList(Operation *op,
           llvm::function_ref<void(std::vector<std::string> &)> change) {
  auto pipeline = cast<dist::PipelineOp>(op);
  SmallVector<StringRef> words;
  pipeline.getList().split(words, ' ');
  std::vector<std::string> actions(words.begin(), words.end());
  change(actions);
  std::string text = llvm::join(actions, " ");
  bool isChanged = text != pipeline.getList();
  pipeline.setList(text);
  return isChanged;
}

void Mutations::addToPipeline(dist::PipelineOp pipeline) {
  SmallVector<StringRef> words;
  pipeline.getList().split(words, ' ');
  for (size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i].str();
    add(name + " doubled", [i](Operation *op) {
      return changeList(op, [i](auto &actions) {
        actions.insert(actions.begin() + i, actions[i]);
      });
    });
    add(name + " dropped", [i](Operation *op) {
      return changeList(
          op, [i](auto &actions) { actions.erase(actions.begin() + i); });
    });
    for (size_t by : {1, 3})
      if (i + by < words.size())
        add(name + " moved by " + Twine(by), [i, by](Operation *op) {
          return changeList(op, [i, by](auto &actions) {
            std::rotate(actions.begin() + i, actions.begin() + i + 1,
                        actions.begin() + i + by + 1);
          });
        });
    add(name + " of another micro-batch", [i](Operation *op) {
      return changeList(op, [i](auto &actions) {
        std::string &action = actions[i];
        action = action.substr(0, action.find('.') + 1) +
                 (StringRef(action).ends_with(".0") ? "1" : "0");
      });
    });
  }
  for (unsigned i = 0; i < pipeline.getNumResults(); ++i)
    for (unsigned j = i + 1; j < pipeline.getNumResults(); ++j)
      if (pipeline.getResult(i).getType() == pipeline.getResult(j).getType()) {
        add("sums " + Twine(i) + " and " + Twine(j) + " exchanged",
            [i, j](Operation *op) {
              SmallVector<OpOperand *> uses;
              for (OpOperand &use : op->getResult(i).getUses())
                uses.push_back(&use);
              op->getResult(j).replaceAllUsesWith(op->getResult(i));
              for (OpOperand *use : uses)
                use->set(op->getResult(j));
              return true;
            });
        break;
      }
}

/// Sets the source of a task's argument.
static bool setSource(Operation *op, unsigned i, int64_t index) {
  auto task = cast<dist::TaskOp>(op);
  SmallVector<Attribute> sources(task.getSources().getValue());
  sources[i] = dist::SourceAttr::get(op->getContext(),
                                     task.getSource(i).getKind(), index);
  task.setSourcesAttr(ArrayAttr::get(op->getContext(), sources));
  return true;
}

static dist::TaskYieldOp getYield(Operation *op) {
  return cast<dist::TaskOp>(op).getYield();
}

/// The axis of data parallelism, over which sums are reduced.
static std::optional<AxisRef> findDataAxis(const Mesh &mesh) {
  if (std::optional<unsigned> axis = mesh.find("dp");
      axis && mesh.sizes[*axis] > 1)
    return mesh.fullAxis(*axis);
  return std::nullopt;
}

/// Reduces an added value in the task.
static bool reduceEach(Operation *op, unsigned i) {
  FailureOr<dist::MeshOp> meshOp =
      dist::getOnlyMesh(op->getParentOfType<ModuleOp>());
  Mesh plain = meshOp->getMesh().toMesh();
  std::optional<AxisRef> axis = findDataAxis(plain);
  dist::TaskYieldOp yield = getYield(op);
  Value value = yield.getAdds()[i];
  if (!axis)
    return false;
  OpBuilder b(yield);
  auto reduced = dist::AllReduceOp::create(
      b, op->getLoc(), value.getType(), value,
      dist::ReductionKindAttr::get(op->getContext(), dist::ReductionKind::Sum),
      dist::AxesAttr::get(op->getContext(), plain, {*axis}),
      FlatSymbolRefAttr::get(meshOp->getSymNameAttr()), dist::ShardingAttr(),
      dist::ShardingAttr());
  yield.getAddsMutable()[i].set(reduced);
  return true;
}

void Mutations::addToTask(dist::TaskOp task) {
  Block &body = task.getBody().front();
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    for (unsigned j = i + 1; j < body.getNumArguments(); ++j) {
      dist::SourceAttr a = task.getSource(i), b = task.getSource(j);
      if (body.getArgument(i).getType() != body.getArgument(j).getType())
        continue;
      std::string names =
          "arguments " + std::to_string(i) + " and " + std::to_string(j);
      if (a.getKind() == b.getKind()) {
        int64_t first = a.getIndex(), second = b.getIndex();
        add(names + " exchanged", [i, j, first, second](Operation *op) {
          return setSource(op, i, second) && setSource(op, j, first);
        });
        add(names + " equal",
            [j, first](Operation *op) { return setSource(op, j, first); });
      } else {
        add(names + " one", [i, j](Operation *op) {
          Block &block = cast<dist::TaskOp>(op).getBody().front();
          block.getArgument(j).replaceAllUsesWith(block.getArgument(i));
          return true;
        });
      }
    }
  dist::TaskYieldOp yield = task.getYield();
  auto exchangePairs = [&](StringRef what, OperandRange values) {
    unsigned first = values.empty() ? 0 : values.getBeginOperandIndex();
    for (unsigned i = 0; i < values.size(); ++i)
      for (unsigned j = i + 1; j < values.size(); ++j)
        if (values[i].getType() == values[j].getType() &&
            values[i] != values[j]) {
          add(what + " " + Twine(i) + " and " + Twine(j) + " exchanged",
              [=](Operation *op) {
                Operation *end = getYield(op);
                Value a = end->getOperand(first + i);
                end->setOperand(first + i, end->getOperand(first + j));
                end->setOperand(first + j, a);
                return true;
              });
          break;
        }
  };
  exchangePairs("sends", yield.getSends());
  exchangePairs("keeps", yield.getKeeps());
  exchangePairs("adds", yield.getAdds());
  for (unsigned i = 0; i < yield.getAdds().size(); ++i) {
    std::string name = "add " + std::to_string(i);
    add(name + " doubled", [i](Operation *op) {
      dist::TaskYieldOp end = getYield(op);
      SmallVector<int64_t> to(end.getAddTo());
      to.push_back(to[i]);
      end.getAddsMutable().append(end.getAdds()[i]);
      end.setAddTo(to);
      return true;
    });
    add(name + " dropped", [i](Operation *op) {
      dist::TaskYieldOp end = getYield(op);
      SmallVector<int64_t> to(end.getAddTo());
      to.erase(to.begin() + i);
      end.getAddsMutable().erase(i);
      end.setAddTo(to);
      return true;
    });
    add(name + " reduced each time",
        [i](Operation *op) { return reduceEach(op, i); });
  }
}

void Mutations::addToExchange(dist::ExchangeOp exchange) {
  ArrayRef<int64_t> from = exchange.getFrom(), among = exchange.getAmong();
  for (unsigned i = 0; i < from.size(); ++i) {
    for (int64_t other : among)
      if (other != from[i])
        add("value " + Twine(i) + " of pp rank " + Twine(other),
            [i, other](Operation *op) {
              auto here = cast<dist::ExchangeOp>(op);
              SmallVector<int64_t> ranks(here.getFrom());
              ranks[i] = other;
              // All members of a bucket must agree.
              auto module = op->getParentOfType<ModuleOp>();
              ArrayRef<int64_t> old = here.getFrom();
              SmallVector<dist::ExchangeOp> same;
              module.walk([&](dist::ExchangeOp member) {
                if (member.getFrom() == old &&
                    member.getAmong() == here.getAmong())
                  same.push_back(member);
              });
              for (dist::ExchangeOp member : same)
                member.setFrom(ranks);
              return true;
            });
    for (unsigned j = i + 1; j < from.size(); ++j)
      if (exchange.getResult(i).getType() == exchange.getResult(j).getType()) {
        add("value " + Twine(j) + " in place of " + Twine(i),
            [i, j](Operation *op) {
              op->getResult(i).replaceAllUsesWith(op->getResult(j));
              return true;
            });
        break;
      }
  }
  for (unsigned i = 0; i < exchange.getInputs().size(); ++i) {
    Value mine = exchange.getInputs()[i];
    for (unsigned j = 0; j < from.size(); ++j)
      if (exchange.getResult(j).getType() == mine.getType())
        add("own value " + Twine(i) + " in place of " + Twine(j),
            [i, j](Operation *op) {
              op->getResult(j).replaceAllUsesWith(op->getOperand(i));
              return true;
            });
  }
}

std::vector<Mutation> Mutations::get() {
  unsigned count = 0;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    number = count++;
    auto function = op->getParentOfType<func::FuncOp>();
    if (!function || !isPipelineFunction(function))
      return;
    where = (function.getName() + ", " + op->getName().getStringRef()).str();
    if (auto pipeline = dyn_cast<dist::PipelineOp>(op))
      addToPipeline(pipeline);
    if (auto task = dyn_cast<dist::TaskOp>(op)) {
      where += (" " + dist::stringifyTaskKind(task.getKind()) + " " +
                Twine(task.getChunk()))
                   .str();
      addToTask(task);
    }
    if (auto exchange = dyn_cast<dist::ExchangeOp>(op))
      addToExchange(exchange);
  });
  return std::move(list);
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

namespace {

/// The number of mutants with each outcome: with other results, with the same
/// results, and invalid ones.
struct Score {
  unsigned changed = 0, refuted = 0, notProvable = 0, missed = 0;
  unsigned equal = 0, equalProven = 0, stuck = 0, invalid = 0;
};

class Judge {
public:
  Judge(func::FuncOp reference, ModuleOp module)
      : reference(reference), module(module) {}

  /// Returns false if the unchanged program is not proven or not correct.
  bool prepare();
  void judge(const Mutation &mutation);

  Score score;

private:
  static func::FuncOp getFirst(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      if (isPipelineFunction(function))
        return function;
    return {};
  }
  /// True if all results equal the original's; none if the mutant cannot be
  /// run.
  std::optional<bool> isEqual(ModuleOp mutant);
  LogicalResult prove(ModuleOp mutant);

  func::FuncOp reference;
  ModuleOp module;
  std::vector<RankTensors> inputs, expected;
};

} // namespace

std::optional<bool> Judge::isEqual(ModuleOp mutant) {
  constexpr int64_t kSteps = 2;
  for (auto [in, out] : llvm::zip_equal(inputs, expected)) {
    FailureOr<RankTensors> actual =
        interpretGlobal(getFirst(mutant), in, nullptr, kSteps);
    if (failed(actual))
      return std::nullopt;
    for (auto [a, b] : llvm::zip_equal(*actual, out))
      if (a->getShape() != b->getShape() ||
          relativeDifference(*a, *b) > defaultTolerance(b->getElementType()))
        return false;
  }
  return true;
}

LogicalResult Judge::prove(ModuleOp mutant) {
  FailureOr<PipelineProgram> program = readPipelineProgram(getFirst(mutant));
  if (failed(program))
    return failure();
  return verifyPipeline(*program, reference);
}

bool Judge::prepare() {
  for (unsigned seed = 0; seed < 2; ++seed) {
    InputOptions options;
    options.seed = seed;
    FailureOr<RankTensors> in = makeInputs(reference, options);
    if (failed(in))
      return false;
    FailureOr<RankTensors> out =
        interpretGlobal(reference, *in, nullptr, /*steps=*/2);
    if (failed(out))
      return false;
    inputs.push_back(*in);
    expected.push_back(*out);
  }
  return isEqual(module) == true && succeeded(prove(module));
}

void Judge::judge(const Mutation &mutation) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Operation *target = nullptr;
  unsigned count = 0;
  copy->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (count++ == mutation.number)
      target = op;
  });
  // Diagnostics of a mutant are kept for its line.
  std::string why;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    if (why.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      why = d.str();
    return success();
  });
  if (!mutation.apply(target) || failed(mlir::verify(*copy))) {
    ++score.invalid;
    return;
  }
  why.clear();
  bool isProven = succeeded(prove(*copy));
  std::string reason = why;
  std::optional<bool> equal = isEqual(*copy);
  bool isVague = reason.find("not provable") != std::string::npos;
  const char *verdict = isProven  ? "proven"
                        : isVague ? "not provable"
                                  : "refuted";
  const char *effect = !equal ? "stuck" : *equal ? "equal" : "changed";
  if (!equal) {
    // The check rejects it, so it is not run.
    ++score.stuck;
    score.missed += isProven;
  } else if (*equal) {
    ++score.equal;
    score.equalProven += isProven;
  } else {
    ++score.changed;
    ++(isProven ? score.missed : isVague ? score.notProvable : score.refuted);
  }
  bool isMissed = isProven && equal != true;
  if (verbose || isMissed)
    llvm::outs() << (isMissed ? "MISSED: " : "") << effect << ", " << verdict
                 << ": " << mutation.what << (reason.empty() ? "" : ": ")
                 << reason << "\n";
}

static LogicalResult runPhases(ModuleOp module, Phase last) {
  PassManager passes(module->getContext(), ModuleOp::getOperationName());
  PipelineOptions options;
  auto fail = [&](llvm::Error error) {
    return module.emitError(llvm::toString(std::move(error)));
  };
  llvm::Expected<Mesh> plain = parseMesh(mesh);
  if (!plain)
    return fail(plain.takeError());
  options.layout.mesh = std::move(*plain);
  llvm::Expected<Strategy> parsed = parseStrategy(strategy);
  if (!parsed)
    return fail(parsed.takeError());
  options.layout.strategy = *parsed;
  if (llvm::Error error = options.layout.plan.parse(training))
    return fail(std::move(error));
  buildPhasesUpTo(passes, last, options);
  return passes.run(module);
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(
      argc, argv, "Changes a pipeline program and asks who notices\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> original = parseSourceFile<ModuleOp>(input, &context);
  if (!original)
    return 1;
  OwningOpRef<ModuleOp> reference = original->clone();
  if (failed(runPhases(*reference, Phase::Propagate)) ||
      failed(runPhases(*original, Phase::Partition)))
    return 1;
  func::FuncOp global;
  for (auto function : reference->getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      global = function;
  Judge judge(global, *original);
  if (!judge.prepare()) {
    llvm::errs() << "the unchanged program is not proven or not right\n";
    return 1;
  }
  std::vector<Mutation> all = Mutations(*original).get();
  for (size_t i = 0; i < all.size(); i += every)
    judge.judge(all[i]);
  const Score &score = judge.score;
  llvm::outs() << llvm::formatv(
      "{{\"mesh\": \"{0}\", \"strategy\": \"{1}\", \"training\": \"{2}\", "
      "\"changed\": {3}, \"refuted\": {4}, \"not_provable\": {5}, "
      "\"missed\": {6}, \"equal\": {7}, \"equal_proven\": {8}, "
      "\"stuck\": {9}, \"invalid\": {10}}\n",
      mesh.getValue(), strategy.getValue(), training.getValue(), score.changed,
      score.refuted, score.notProvable, score.missed, score.equal,
      score.equalProven, score.stuck, score.invalid);
  return score.missed != 0;
}
