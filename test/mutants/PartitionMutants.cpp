//===- PartitionMutants.cpp - Are wrong programs found to be wrong? -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitions a program and changes one thing at a time in the result. The
// interpreter finds the changes that change the program's results;
// VerifyPartition must refute each of these, at the changed op or at a use of
// its value.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Registration/Registration.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;
namespace cl = llvm::cl;

static cl::OptionCategory category("tessera-mutants");
static cl::opt<std::string> input(cl::Positional, cl::cat(category),
                                  cl::desc("PROGRAM.mlir"), cl::Required);
static cl::opt<std::string> mesh("mesh", cl::cat(category),
                                 cl::desc("dp=2,tp=2"), cl::Required);
static cl::opt<std::string> strategy("strategy", cl::cat(category),
                                     cl::desc("dp,tp,sp"));
static cl::opt<unsigned> every("every", cl::cat(category), cl::init(1),
                               cl::desc("try only every n-th mutant"));
static cl::opt<unsigned> seeds("seeds", cl::cat(category), cl::init(3),
                               cl::desc("sets of data for each"));
enum class Changes { Moves, Ops };
static cl::opt<Changes>
    changes("changes", cl::cat(category), cl::init(Changes::Moves),
            cl::desc("what is changed"),
            cl::values(clEnumValN(Changes::Moves, "moves", "what communicates"),
                       clEnumValN(Changes::Ops, "ops", "all else")));
static cl::opt<bool> verbose("verbose", cl::cat(category),
                             cl::desc("a line for each mutant"));

namespace {

/// The number of mutants with each outcome.
struct Score {
  unsigned invalid = 0;
  /// Counts by the interpreter's and the analysis's verdict.
  unsigned refuted = 0, notProvable = 0, missed = 0;
  unsigned equalProven = 0, equalRefuted = 0, equalNotProvable = 0;
  unsigned rounding = 0;
  unsigned atOp = 0, atUse = 0, later = 0, elsewhere = 0;
};

class Mutants {
public:
  Mutants(func::FuncOp reference, func::FuncOp local)
      : reference(reference), local(local) {}

  /// Returns false if the unchanged program is not proven or cannot be run.
  bool prepare();
  void run();
  const Score &getScore() const { return score; }

private:
  enum class Effect { None, Rounding, Changed };

  void tryMutation(unsigned index, const Mutation &mutation);
  Effect getEffect(func::FuncOp mutant, unsigned steps);
  void countMutant(Operation *changed, Operation *named, const Twine &what);

  func::FuncOp reference, local;
  Mesh mesh;
  /// For each set of data: the inputs, and the results after one step and after
  /// two.
  std::vector<RankTensors> inputs;
  std::vector<RankTensors> expected[2];
  Score score;
};

} // namespace

bool Mutants::prepare() {
  FailureOr<Mesh> found = getMeshOf(local);
  if (failed(found))
    return false;
  mesh = *found;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    InputOptions options;
    options.seed = seed;
    FailureOr<RankTensors> in = makeInputs(reference, options);
    if (failed(in))
      return false;
    inputs.push_back(*in);
    for (unsigned steps : {1, 2}) {
      FailureOr<RankTensors> out =
          interpretGlobal(reference, *in, nullptr, steps);
      if (failed(out))
        return false;
      expected[steps - 1].push_back(*out);
    }
  }
  return succeeded(verifyPartition(local, mesh, reference).report()) &&
         getEffect(local, /*steps=*/2) != Effect::Changed;
}

/// Compares all outputs for all sets of data with the original's.
Mutants::Effect Mutants::getEffect(func::FuncOp mutant, unsigned steps) {
  Effect effect = Effect::None;
  for (auto [in, out] : llvm::zip_equal(inputs, expected[steps - 1])) {
    FailureOr<RankTensors> actual = interpretGlobal(mutant, in, nullptr, steps);
    if (failed(actual))
      return Effect::Changed;
    for (auto [a, b] : llvm::zip_equal(*actual, out)) {
      if (a->getShape() != b->getShape())
        return Effect::Changed;
      double difference = relativeDifference(*a, *b);
      if (difference > defaultTolerance(b->getElementType()))
        return Effect::Changed;
      if (difference > 0)
        effect = Effect::Rounding;
    }
  }
  return effect;
}

/// Counts the distance along uses from the changed op to the op that the error
/// names.
void Mutants::countMutant(Operation *changed, Operation *named,
                          const Twine &what) {
  // Ops inside of the changed op are changed as well.
  if (changed->isProperAncestor(named) && !isa<func::FuncOp>(changed))
    named = changed;
  // An op in a ring counts as the ring, which uses the values from outside.
  if (Operation *ring = named->getParentOp();
      isa<dist::RingAttentionOp>(ring) && !ring->isAncestor(changed))
    named = ring;
  llvm::DenseMap<Operation *, unsigned> distance{{changed, 0}};
  std::deque<Operation *> queue{changed};
  auto reach = [&](Operation *op, unsigned d) {
    if (distance.try_emplace(op, d).second)
      queue.push_back(op);
  };
  while (!queue.empty() && !distance.contains(named)) {
    Operation *op = queue.front();
    queue.pop_front();
    unsigned d = distance.lookup(op) + 1;
    for (Operation *user : op->getUsers())
      reach(user, d);
    // Values that a region yields are the results of its op.
    if (op->hasTrait<OpTrait::IsTerminator>() &&
        !isa<func::FuncOp>(op->getParentOp()))
      reach(op->getParentOp(), d - 1);
  }
  auto it = distance.find(named);
  if (it == distance.end()) {
    ++score.elsewhere;
    llvm::outs() << "named elsewhere: " << what << "\n";
    return;
  }
  ++(it->second == 0   ? score.atOp
     : it->second == 1 ? score.atUse
                       : score.later);
  if (verbose && it->second > 1)
    llvm::outs() << "named " << it->second << " uses later: " << what << "\n";
}

void Mutants::tryMutation(unsigned index, const Mutation &mutation) {
  auto module = local->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = module.clone();
  auto mutant = copy->lookupSymbol<func::FuncOp>(local.getName());
  Operation *target = nullptr;
  unsigned count = 0;
  mutant->walk([&](Operation *op) {
    if (count++ == index)
      target = op;
  });
  std::string what = (target->getName().getStringRef() + " #" + Twine(index) +
                      ": " + mutation.what)
                         .str();
  Operation *changed = mutation.apply(target);
  if (!changed || failed(mlir::verify(*copy))) {
    ++score.invalid;
    return;
  }
  Effect effect = getEffect(mutant, mutation.steps);
  PartitionVerdict verdict = verifyPartition(mutant, mesh, reference);
  bool proven = verdict.answer == PartitionAnswer::Proven;
  bool refuted = verdict.answer == PartitionAnswer::Refuted;
  if (verbose)
    llvm::outs() << (effect == Effect::Changed ? "changed " : "equal ")
                 << (proven    ? "proven"
                     : refuted ? "refuted"
                               : "not provable")
                 << ": " << what << (proven ? "" : ": " + verdict.why) << "\n";
  if (effect != Effect::Changed) {
    score.rounding += effect == Effect::Rounding;
    ++(proven    ? score.equalProven
       : refuted ? score.equalRefuted
                 : score.equalNotProvable);
    return;
  }
  ++(proven ? score.missed : refuted ? score.refuted : score.notProvable);
  if (!refuted && (proven || changes == Changes::Moves))
    llvm::outs() << (proven ? "MISSED: " : "not provable: ") << what
                 << (proven ? "" : ": " + verdict.why) << "\n";
  if (!proven)
    countMutant(changed, verdict.op, what + ": " + verdict.why);
}

void Mutants::run() {
  std::vector<std::pair<unsigned, Mutation>> all;
  unsigned count = 0;
  local->walk([&](Operation *op) {
    for (Mutation &mutation : changes == Changes::Moves ? getMutations(op, mesh)
                                                        : getOpMutations(op))
      all.push_back({count, std::move(mutation)});
    ++count;
  });
  for (size_t i = 0; i < all.size(); i += every)
    tryMutation(all[i].first, all[i].second);
}

static LogicalResult runPhases(ModuleOp module, Phase last) {
  PassManager passes(module->getContext(), ModuleOp::getOperationName());
  PipelineOptions options;
  auto fail = [&](llvm::Error error) {
    return module.emitError(llvm::toString(std::move(error)));
  };
  // The module's own mesh is used if none is given.
  if (!mesh.empty()) {
    llvm::Expected<Mesh> parsed = parseMesh(mesh);
    if (!parsed)
      return fail(parsed.takeError());
    options.layout.mesh = std::move(*parsed);
  }
  llvm::Expected<Strategy> parsed = parseStrategy(strategy);
  if (!parsed)
    return fail(parsed.takeError());
  options.layout.strategy = *parsed;
  buildPhasesUpTo(passes, last, options);
  return passes.run(module);
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Changes a partitioned program and asks who notices\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> original = parseSourceFile<ModuleOp>(input, &context);
  if (!original)
    return 1;
  OwningOpRef<ModuleOp> reference = original->clone();
  OwningOpRef<ModuleOp> local = original->clone();
  if (failed(runPhases(*reference, Phase::Propagate)) ||
      failed(runPhases(*local, Phase::Partition)))
    return 1;
  Score total;
  for (auto func : local->getOps<func::FuncOp>()) {
    if (!func->hasAttr(dist::DistDialect::kLocalAttr))
      continue;
    auto global = reference->lookupSymbol<func::FuncOp>(func.getName());
    Mutants mutants(global, func);
    if (!mutants.prepare()) {
      llvm::errs() << "the unchanged program is not proven or not right\n";
      return 1;
    }
    // Invalid mutants cause errors; they are counted.
    ScopedDiagnosticHandler silent(&context,
                                   [](Diagnostic &) { return success(); });
    mutants.run();
    total = mutants.getScore();
    llvm::outs() << llvm::formatv(
        "{{\"program\": \"{0}\", \"mesh\": \"{1}\", \"strategy\": \"{2}\", "
        "\"changed\": {3}, \"refuted\": {4}, \"not_provable\": {5}, "
        "\"missed\": {6}, \"at_op\": {7}, \"at_use\": {8}, \"later\": {9}, "
        "\"elsewhere\": {10}, \"equal_proven\": {11}, \"equal_refuted\": {12}, "
        "\"equal_not_provable\": {13}, \"rounding\": {14}, \"invalid\": "
        "{15}}\n",
        func.getName(), mesh.getValue(), strategy.getValue(),
        total.refuted + total.notProvable + total.missed, total.refuted,
        total.notProvable, total.missed, total.atOp, total.atUse, total.later,
        total.elsewhere, total.equalProven, total.equalRefuted,
        total.equalNotProvable, total.rounding, total.invalid);
    bool isVague = changes == Changes::Moves && total.notProvable != 0;
    if (total.missed || isVague || total.elsewhere)
      return 1;
  }
  return 0;
}
