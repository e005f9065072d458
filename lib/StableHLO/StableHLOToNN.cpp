//===- StableHLOToNN.cpp - StableHLO to nn, arith, math, tensor -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the function of the graph and the names of its arguments and results.
// Converter converts the computation.
//
//===----------------------------------------------------------------------===//

#include "tessera/StableHLO/Passes.h"

#include "Converter.h"
#include "SourceNames.h"

#include "llvm/ADT/StringSet.h"

namespace tessera {
#define GEN_PASS_DEF_STABLEHLOTONNPASS
#include "tessera/StableHLO/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// Whether a function names the purpose of an argument or a result.
static bool isNamed(func::FuncOp function) {
  auto areNamed = [](std::optional<ArrayAttr> all) {
    return all && llvm::any_of(*all, [](Attribute attrs) {
             return llvm::any_of(
                 cast<DictionaryAttr>(attrs), [](NamedAttribute attr) {
                   StringRef name = attr.getName();
                   return name.starts_with("nn.") || name.starts_with("dist.");
                 });
           });
  };
  return areNamed(function.getArgAttrs()) || areNamed(function.getResAttrs());
}

/// Whether a module is StableHLO source: it has an op of an unregistered
/// dialect; or, if it computes nothing, its functions only pass on their
/// arguments and nothing is named.
static bool isSource(ModuleOp module) {
  bool computes = false, isGraph = false;
  auto found = module->walk([&](Operation *op) {
    if (!op->isRegistered())
      return WalkResult::interrupt();
    computes |= !isa<ModuleOp>(op) && !isa<func::FuncDialect>(op->getDialect());
    auto function = dyn_cast<func::FuncOp>(op);
    isGraph |= function && isNamed(function);
    return WalkResult::advance();
  });
  return found.wasInterrupted() || (!computes && !isGraph);
}

/// Erases ops that no result needs: loop conditions, wrapped indices.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// `main`, or the only public function.
static FailureOr<func::FuncOp> findEntry(ModuleOp module) {
  SmallVector<func::FuncOp> found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.getName() == "main" && !function.isExternal())
      return function;
    if (function.isPublic() && !function.isExternal())
      found.push_back(function);
  }
  if (found.size() == 1)
    return found.front();
  return module.emitError("expects a function @main or one public function "
                          "but got ")
         << found.size() << " public ones";
}

namespace {

class StableHLOToNNPass
    : public tessera::impl::StableHLOToNNPassBase<StableHLOToNNPass> {
public:
  using StableHLOToNNPassBase::StableHLOToNNPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<func::FuncOp>().empty()) {
      module.emitError("expects a module with a function but got one without");
      return signalPassFailure();
    }
    if (!isSource(module))
      return;
    FailureOr<func::FuncOp> source = findEntry(module);
    if (failed(source))
      return signalPassFailure();
    FailureOr<SourceMesh> found = readMesh(module);
    if (failed(found))
      return signalPassFailure();
    mesh = *found;
    if (failed(checkAttributes(*source)))
      return signalPassFailure();
    OwningOpRef<func::FuncOp> graph = convert(*source);
    if (!graph)
      return signalPassFailure();
    eraseDeadOps(graph->getBody().front());
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      op.erase();
    if (mesh.mesh) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      dist::MeshOp::create(builder, module.getLoc(), mesh.name, mesh.mesh);
    }
    module.push_back(graph.release());
    // Drops attributes of jax and XLA on the module.
    for (NamedAttribute attr : module->getDiscardableAttrs())
      if (StringRef name = attr.getName().getValue();
          name.starts_with("jax.") || name.starts_with("mhlo."))
        module->removeAttr(attr.getName());
  }

private:
  LogicalResult checkAttributes(func::FuncOp source);
  LogicalResult checkAttribute(func::FuncOp source, StringRef what,
                               NamedAttribute attr);
  OwningOpRef<func::FuncOp> convert(func::FuncOp source);
  LogicalResult nameArguments(func::FuncOp source, func::FuncOp graph,
                              const Converter &converter);
  void nameResults(func::FuncOp source, func::FuncOp graph);
  LogicalResult shard(func::FuncOp source, func::FuncOp graph);

  SourceMesh mesh;
};

} // namespace

/// Accepts attributes that do not change results, and attributes of nn and
/// dist, which are kept; fails for others.
LogicalResult StableHLOToNNPass::checkAttribute(func::FuncOp source,
                                                StringRef what,
                                                NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  StringRef dialect = name.split('.').first;
  bool isKnown = dialect == "jax" || dialect == "nn" || dialect == "dist" ||
                 name == "tf.aliasing_output" || name == "mhlo.layout_mode" ||
                 name == kSdySharding || name == kTiles;
  if (isKnown)
    return success();
  return source.emitError("expects ")
         << what << " without " << name << ", which has no meaning in nn";
}

LogicalResult StableHLOToNNPass::checkAttributes(func::FuncOp source) {
  auto checkAll = [&](std::optional<ArrayAttr> all, StringRef what) {
    for (auto [i, attrs] :
         llvm::enumerate(all.value_or(ArrayAttr()) ? all->getValue()
                                                   : ArrayRef<Attribute>()))
      for (NamedAttribute attr : cast<DictionaryAttr>(attrs))
        if (failed(checkAttribute(source, (what + " " + Twine(i)).str(), attr)))
          return failure();
    return success();
  };
  return success(succeeded(checkAll(source.getArgAttrs(), "argument")) &&
                 succeeded(checkAll(source.getResAttrs(), "result")));
}

/// The types of the graph's arguments or results: without signs.
static SmallVector<Type> withoutSigns(TypeRange types) {
  return llvm::map_to_vector(types, withoutSign);
}

/// Marks arguments and results whose integers are unsigned in files.
static void markUnsigned(func::FuncOp source, func::FuncOp graph) {
  auto unit = UnitAttr::get(source.getContext());
  for (auto [i, type] : llvm::enumerate(source.getArgumentTypes()))
    if (hasUnsigned(type))
      graph.setArgAttr(i, nn::NNDialect::kUnsignedAttr, unit);
  for (auto [i, type] : llvm::enumerate(source.getResultTypes()))
    if (hasUnsigned(type))
      graph.setResultAttr(i, nn::NNDialect::kUnsignedAttr, unit);
}

/// The graph of a function, outside of a module; null after an error.
OwningOpRef<func::FuncOp> StableHLOToNNPass::convert(func::FuncOp source) {
  OwningOpRef<func::FuncOp> graph = func::FuncOp::create(
      source.getLoc(), "forward",
      FunctionType::get(&getContext(), withoutSigns(source.getArgumentTypes()),
                        withoutSigns(source.getResultTypes())));
  Block *entry = graph->addEntryBlock();
  OpBuilder builder(entry, entry->begin());
  for (auto [from, to] :
       llvm::zip_equal(source.getArguments(), entry->getArguments())) {
    if (failed(checkType(source, from.getType(), "an argument")))
      return nullptr;
    to.setLoc(from.getLoc());
  }
  Converter converter(getOperation(), mesh, builder);
  SmallVector<Value> results;
  if (failed(converter.convertBody(source, source.getBody(),
                                   entry->getArguments(), results)))
    return nullptr;
  for (Type type : source.getResultTypes())
    if (failed(checkType(source, type, "a result")))
      return nullptr;
  if (TypeRange(results) != TypeRange(graph->getResultTypes())) {
    source.emitOpError("expects to return values of its type");
    return nullptr;
  }
  func::ReturnOp::create(builder, source.getLoc(), results);
  if (failed(nameArguments(source, *graph, converter)))
    return nullptr;
  nameResults(source, *graph);
  markUnsigned(source, *graph);
  if (failed(shard(source, *graph)))
    return nullptr;
  return graph;
}

LogicalResult StableHLOToNNPass::nameArguments(func::FuncOp source,
                                               func::FuncOp graph,
                                               const Converter &converter) {
  SmallVector<std::string> spelled;
  for (auto [i, argument] : llvm::enumerate(source.getArguments()))
    spelled.push_back(getSpelling(argument.getLoc(), i));
  llvm::StringSet<> isInput;
  for (const std::string &name : inputs)
    isInput.insert(name);
  SmallVector<std::string> names = makeNames(spelled);
  Builder builder(&getContext());
  for (auto [i, argument] : llvm::enumerate(graph.getArguments())) {
    if (DictionaryAttr attrs = source.getArgAttrDict(i))
      for (NamedAttribute attr : attrs)
        if (attr.getName().getValue().starts_with("nn.") ||
            attr.getName().getValue().starts_with("dist."))
          graph.setArgAttr(i, attr.getName(), attr.getValue());
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(argument.getType()));
    bool asInput = isInput.erase(names[i]) || !isFloat;
    bool isNamed = graph.getArgAttr(i, nn::NNDialect::kParamAttr) ||
                   graph.getArgAttr(i, nn::NNDialect::kInputAttr);
    if (!isNamed)
      graph.setArgAttr(
          i, asInput ? nn::NNDialect::kInputAttr : nn::NNDialect::kParamAttr,
          builder.getStringAttr(names[i]));
    auto vocabulary = converter.vocabularies.find(argument);
    if (vocabulary != converter.vocabularies.end())
      graph.setArgAttr(i, nn::NNDialect::kVocabAttr,
                       builder.getI64IntegerAttr(vocabulary->second));
  }
  if (isInput.empty())
    return success();
  return source.emitError("expects an argument for each of inputs but has none "
                          "named ")
         << isInput.begin()->getKey();
}

/// Copies the source's shardings to arguments and results.
LogicalResult StableHLOToNNPass::shard(func::FuncOp source,
                                       func::FuncOp graph) {
  auto shardAll = [&](TypeRange types, StringRef what, auto getAttrs,
                      auto setSharding) {
    for (auto [i, type] : llvm::enumerate(types)) {
      DictionaryAttr attrs = getAttrs(i);
      Attribute attr = attrs ? attrs.get(kSdySharding) : Attribute();
      if (!attr && attrs && mesh.mesh)
        attr = attrs.get(kTiles);
      if (!attr)
        continue;
      auto sharding = readSharding(source, attr, mesh,
                                   cast<RankedTensorType>(type).getRank(),
                                   "that of " + what + " " + Twine(i));
      if (failed(sharding))
        return failure();
      setSharding(i, *sharding);
    }
    return success();
  };
  StringRef name = dist::DistDialect::kShardingAttr;
  return success(succeeded(shardAll(
                     graph.getArgumentTypes(), "argument",
                     [&](unsigned i) { return source.getArgAttrDict(i); },
                     [&](unsigned i, Attribute attr) {
                       graph.setArgAttr(i, name, attr);
                     })) &&
                 succeeded(shardAll(
                     graph.getResultTypes(), "result",
                     [&](unsigned i) { return source.getResultAttrDict(i); },
                     [&](unsigned i, Attribute attr) {
                       graph.setResultAttr(i, name, attr);
                     })));
}

void StableHLOToNNPass::nameResults(func::FuncOp source, func::FuncOp graph) {
  SmallVector<std::string> spelled;
  for (unsigned i = 0, e = graph.getNumResults(); i < e; ++i) {
    auto info = source.getResultAttrOfType<StringAttr>(i, "jax.result_info");
    spelled.push_back(info && !info.empty() ? info.str() : "result");
  }
  SmallVector<std::string> names = makeNames(spelled);
  auto only = graph.getNumResults() == 1
                  ? cast<RankedTensorType>(graph.getResultTypes()[0])
                  : RankedTensorType();
  if (only && only.getRank() == 0 && isa<FloatType>(only.getElementType()))
    names[0] = "loss";
  for (auto [i, name] : llvm::enumerate(names))
    graph.setResultAttr(i, nn::NNDialect::kOutputAttr,
                        StringAttr::get(&getContext(), name));
}
