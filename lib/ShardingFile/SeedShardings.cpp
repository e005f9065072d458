//===- SeedShardings.cpp - Seeds and checks from a sharding file ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileTensors.h"
#include "TensorView.h"
#include "dialects/Dist/Dist.h"
#include "tessera/ShardingFile/Passes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

/// The axes that a file gives an argument.
namespace {
struct GivenAxes {
  DimAxes axes;
  bool isPropagated = false;
};
} // namespace

static std::string printSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(sizes, os);
  os << "]";
  return text;
}

/// Prints axes of dimensions as #dist.sharding does.
static std::string printDims(const DimAxes &dims, const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(dims, os,
                        [&](const AxisList &axes) { mesh.print(os, axes); });
  os << "]";
  return text;
}

static llvm::Error checkShape(ArrayRef<int64_t> own, ArrayRef<int64_t> given) {
  if (own == given)
    return llvm::Error::success();
  return llvm::createStringError("shape: expects " + printSizes(own) +
                                 ", the program's, but got " +
                                 printSizes(given));
}

/// Finds the view of a parameter among those of its tensor.
static llvm::Expected<GivenAxes> readViews(const FileArgument &argument,
                                           const ShardedTensor &tensor) {
  const ShardedView &own = argument.view;
  auto found = llvm::find_if(tensor.views, [&](const ShardedView &view) {
    return view.name == own.name;
  });
  if (found == tensor.views.end())
    return llvm::createStringError("views: expects one of parameter '" +
                                   own.name + "' but got none");
  if (found->offset != own.offset || found->shape != own.shape ||
      found->strides != own.strides)
    return llvm::createStringError(
        "views: " + own.name + ": expects offset " + llvm::Twine(own.offset) +
        ", shape " + printSizes(own.shape) + " and strides " +
        printSizes(own.strides) + " but got " + llvm::Twine(found->offset) +
        ", " + printSizes(found->shape) + " and " + printSizes(found->strides));
  return GivenAxes{found->axes, found->isPropagated};
}

/// The axes of an argument; none if the file has not got it.
static llvm::Expected<std::optional<GivenAxes>>
readArgument(const FileArgument &argument, const ShardingFile &file) {
  if (!argument.isParameter) {
    auto input = file.inputs.find(argument.key);
    if (input == file.inputs.end())
      return std::nullopt;
    if (input->second.shape)
      if (llvm::Error error = checkShape(argument.shape, *input->second.shape))
        return std::move(error);
    if (input->second.axes.size() != argument.shape.size())
      return llvm::createStringError(
          "axes: expects axes for " + llvm::Twine(argument.shape.size()) +
          " dimensions but got " + llvm::Twine(input->second.axes.size()));
    return GivenAxes{input->second.axes, input->second.isPropagated};
  }
  auto tensor = file.tensors.find(argument.key);
  if (tensor == file.tensors.end())
    return std::nullopt;
  if (llvm::Error error = checkShape(argument.shape, tensor->second.shape))
    return std::move(error);
  if (!tensor->second.axes) {
    auto found = readViews(argument, tensor->second);
    if (!found)
      return found.takeError();
    return *found;
  }
  ShardedView view = argument.view;
  if (llvm::Error error = setViewAxes(view, tensor->second.shape,
                                      *tensor->second.axes, file.mesh))
    return std::move(error);
  return GivenAxes{view.axes, tensor->second.isPropagated};
}

/// Fails for names of the file that no argument has.
template <typename T>
static llvm::Error checkNames(const std::map<std::string, T> &entries,
                              ArrayRef<FileArgument> arguments,
                              bool isParameter, StringRef kind) {
  SmallVector<StringRef> known;
  for (const FileArgument &argument : arguments)
    if (argument.isParameter == isParameter)
      known.push_back(argument.key);
  llvm::sort(known);
  for (const auto &entry : entries)
    if (!llvm::binary_search(known, StringRef(entry.first)))
      return llvm::createStringError(kind + "s: expects " +
                                     (isParameter ? "a" : "an") + " " + kind +
                                     " of the program but got '" + entry.first +
                                     "'" + didYouMean(entry.first, known));
  return llvm::Error::success();
}

namespace {

/// The part that both passes have in common: the file and the arguments.
class FilePass : public OperationPass<ModuleOp> {
public:
  FilePass(TypeID id, std::shared_ptr<const GivenShardings> shardings)
      : OperationPass(id), shardings(std::move(shardings)) {}

protected:
  using Visit = llvm::function_ref<LogicalResult(const FileArgument &,
                                                 const GivenAxes &)>;

  LogicalResult fail(const llvm::Twine &place, llvm::Error error) {
    return getOperation().emitError(shardings->path)
           << ": " << place << llvm::toString(std::move(error));
  }

  static std::string getPlace(const FileArgument &argument) {
    return (argument.isParameter ? "tensors: " : "inputs: ") + argument.key +
           ": ";
  }

  /// Visits the arguments that the file has.
  LogicalResult forEachGiven(Visit visit) {
    const ShardingFile &file = shardings->file;
    FailureOr<std::vector<FileArgument>> arguments =
        listFileArguments(getOperation());
    if (failed(arguments))
      return failure();
    if (llvm::Error error =
            checkNames(file.tensors, *arguments, true, "tensor"))
      return fail("", std::move(error));
    if (llvm::Error error = checkNames(file.inputs, *arguments, false, "input"))
      return fail("", std::move(error));
    for (const FileArgument &argument : *arguments) {
      auto given = readArgument(argument, file);
      if (!given)
        return fail(getPlace(argument), given.takeError());
      if (*given && failed(visit(argument, **given)))
        return failure();
    }
    return success();
  }

  std::shared_ptr<const GivenShardings> shardings;
};

class SeedShardingsPass : public FilePass {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SeedShardingsPass)

  SeedShardingsPass(std::shared_ptr<const GivenShardings> shardings,
                    bool hasStages)
      : FilePass(TypeID::get<SeedShardingsPass>(), std::move(shardings)),
        hasStages(hasStages) {}
  StringRef getName() const override { return "SeedShardingsPass"; }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<SeedShardingsPass>(shardings, hasStages);
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<dist::DistDialect>();
  }
  void runOnOperation() override {
    if (failed(seed()))
      signalPassFailure();
  }

private:
  LogicalResult seed();
  FailureOr<dist::MeshOp> getMesh();

  bool hasStages;
};

class CheckShardingsPass : public FilePass {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckShardingsPass)

  explicit CheckShardingsPass(std::shared_ptr<const GivenShardings> shardings)
      : FilePass(TypeID::get<CheckShardingsPass>(), std::move(shardings)) {}
  StringRef getName() const override { return "CheckShardingsPass"; }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<CheckShardingsPass>(shardings);
  }
  void runOnOperation() override {
    if (failed(check()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult check();
};

} // namespace

/// The module's mesh, or a new one.
FailureOr<dist::MeshOp> SeedShardingsPass::getMesh() {
  ModuleOp module = getOperation();
  const ShardingFile &file = shardings->file;
  if (!module.getOps<dist::MeshOp>().empty()) {
    FailureOr<dist::MeshOp> own = dist::getOnlyMesh(module);
    if (failed(own))
      return failure();
    Mesh plain = own->getMesh().toMesh();
    if (plain.names != file.mesh.names || plain.sizes != file.mesh.sizes) {
      InFlightDiagnostic error = module.emitError(shardings->path);
      error << ": mesh: expects the mesh of the program, " << own->getMesh()
            << ", but got " << print(file.mesh);
      return error;
    }
    return *own;
  }
  Mesh mesh = file.mesh;
  if (hasStages)
    mesh.stageAxis = mesh.find("pp");
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  return dist::MeshOp::create(builder, module.getLoc(), "mesh",
                              dist::MeshAttr::get(module.getContext(), mesh));
}

/// Fails if the axis of stages shards a tensor.
static llvm::Error checkStages(const GivenAxes &given, const Mesh &mesh) {
  for (const AxisList &axes : given.axes)
    for (const AxisRef &axis : axes)
      if (mesh.stageAxis == axis.axis)
        return llvm::createStringError(
            "axes: expects none of pipeline stages but got '" +
            mesh.names[axis.axis] + "'");
  return llvm::Error::success();
}

LogicalResult SeedShardingsPass::seed() {
  ModuleOp module = getOperation();
  if (module->hasAttr(dist::DistDialect::kPlanAttr))
    return module.emitError(shardings->path)
           << ": expects a program of phase input but got one with "
           << dist::DistDialect::kPlanAttr;
  FailureOr<dist::MeshOp> meshOp = getMesh();
  if (failed(meshOp))
    return failure();
  Mesh mesh = meshOp->getMesh().toMesh();
  auto symbol = FlatSymbolRefAttr::get(meshOp->getSymNameAttr());
  bool isDecided =
      shardings->hasOwnStrategy && !shardings->file.decisions.empty();
  SmallVector<std::pair<BlockArgument, dist::ShardingAttr>> seeds;
  auto add = [&](const FileArgument &argument,
                 const GivenAxes &given) -> LogicalResult {
    if (llvm::Error error = checkStages(given, mesh))
      return fail(getPlace(argument), std::move(error));
    if (isDecided || (shardings->hasOwnStrategy && given.isPropagated) ||
        dist::getSharding(argument.argument))
      return success();
    Sharding sharding = Sharding::replicatedOf(given.axes.size());
    for (auto [dim, axes] : llvm::zip_equal(sharding.dims, given.axes))
      dim.axes = axes;
    seeds.emplace_back(argument.argument,
                       dist::ShardingAttr::get(symbol, mesh, sharding));
    return success();
  };
  if (failed(forEachGiven(add)))
    return failure();
  for (auto [argument, sharding] : seeds)
    dist::setSharding(argument, sharding);
  return success();
}

LogicalResult CheckShardingsPass::check() {
  ModuleOp module = getOperation();
  FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
  if (failed(meshOp))
    return failure();
  Mesh mesh = meshOp->getMesh().toMesh();
  return forEachGiven([&](const FileArgument &argument,
                          const GivenAxes &given) -> LogicalResult {
    // A forward program does not say whether it stores parameters sharded.
    DimAxes own = getAxesInUse(argument, mesh, /*isGathered=*/false);
    if (given.axes == own ||
        given.axes == getAxesInUse(argument, mesh, /*isGathered=*/true))
      return success();
    return getOperation().emitError(shardings->path)
           << ": " << getPlace(argument) << "expects " << printDims(own, mesh)
           << ", which the program has after "
           << (shardings->file.decisions.empty() ? "propagation"
                                                 : "\"decisions\"")
           << ", but got " << printDims(given.axes, mesh);
  });
}

std::unique_ptr<Pass> tessera::createSeedShardingsPass(
    std::shared_ptr<const GivenShardings> shardings, bool hasStages) {
  return std::make_unique<SeedShardingsPass>(std::move(shardings), hasStages);
}

std::unique_ptr<Pass> tessera::createCheckShardingsPass(
    std::shared_ptr<const GivenShardings> shardings) {
  return std::make_unique<CheckShardingsPass>(std::move(shardings));
}
