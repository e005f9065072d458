//===- ViewParameters.cpp - Splits parameters into their views ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter becomes one parameter per view if all its uses are views that
// together cover each element once. Otherwise it stays whole, with its slices.
//
//===----------------------------------------------------------------------===//

#include "ParameterViews.h"

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Raise/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_VIEWPARAMETERSPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// A view of a parameter and the values that equal it.
struct ViewUse {
  View view;
  SmallVector<Value> values;
};

/// Collects the views that a parameter's uses read.
class UseFinder {
public:
  /// False if an op uses the parameter in another way than a view.
  bool find(Value value, const View &view);

  SmallVector<ViewUse, 4> uses;

private:
  void add(Value value, const View &view);
};

class ViewParametersPass
    : public tessera::impl::ViewParametersPassBase<ViewParametersPass> {
public:
  void runOnOperation() override;

private:
  void divide(unsigned number);
  void replace(unsigned number, ArrayRef<ViewUse> uses);
};

} // namespace

void UseFinder::add(Value value, const View &view) {
  for (ViewUse &use : uses)
    if (use.view == view) {
      use.values.push_back(value);
      return;
    }
  uses.push_back({view, {value}});
}

bool UseFinder::find(Value value, const View &view) {
  bool isUsed = false;
  for (Operation *user : value.getUsers()) {
    std::optional<View> next = applyOp(user, view);
    if (!next) {
      isUsed = true;
    } else if (!find(user->getResult(0), *next)) {
      return false;
    }
  }
  if (isUsed)
    add(value, view);
  return true;
}

/// The view of a file's tensor that equals a view of a parameter.
static nn::SourceAttr composeSource(nn::SourceAttr source, StringRef name,
                                    ArrayRef<int64_t> shape, const View &view,
                                    MLIRContext *context) {
  if (!source)
    return nn::SourceAttr::get(context, name, shape, view.offset, view.strides);
  View identity = makeIdentity(shape);
  // Strides of the parameter's dimensions in the file; a stride of the view is
  // a multiple of one of them.
  auto toFile = [&](int64_t distance) {
    int64_t result = 0;
    for (auto [step, stride] :
         llvm::zip_equal(identity.strides, source.getStrides())) {
      result += distance / step * stride;
      distance %= step;
    }
    return result;
  };
  SmallVector<int64_t> strides;
  for (int64_t stride : view.strides)
    strides.push_back(toFile(stride));
  return nn::SourceAttr::get(context, source.getTensor(), source.getShape(),
                             source.getOffset() + toFile(view.offset), strides);
}

/// The sharding of a view of an argument; null if the argument has none.
static dist::ShardingAttr makeSharding(func::FuncOp function, unsigned number,
                                       const View &view) {
  auto whole = function.getArgAttrOfType<dist::ShardingAttr>(
      number, dist::DistDialect::kShardingAttr);
  dist::MeshOp mesh =
      whole ? dist::lookupMesh(function, whole.getMesh()) : dist::MeshOp();
  if (!mesh)
    return {};
  Mesh plain = mesh.getMesh().toMesh();
  auto type = cast<RankedTensorType>(function.getArgument(number).getType());
  bool isWhole = false;
  Sharding sharding =
      shardView(whole.toSharding(plain), type.getShape(), view, isWhole);
  if (!isWhole)
    remark::missed(
        function.getArgument(number).getLoc(),
        remark::RemarkOpts::name("ShardingOfView").category("import"))
        << remark::add("{0}", function
                                  .getArgAttrOfType<StringAttr>(
                                      number, nn::NNDialect::kParamAttr)
                                  .getValue());
  return dist::ShardingAttr::get(whole.getMesh(), plain, sharding);
}

/// Replaces argument `number` by one argument per view.
void ViewParametersPass::replace(unsigned number, ArrayRef<ViewUse> uses) {
  func::FuncOp function = getOperation();
  BlockArgument whole = function.getArgument(number);
  auto type = cast<RankedTensorType>(whole.getType());
  auto name =
      function.getArgAttrOfType<StringAttr>(number, nn::NNDialect::kParamAttr);
  auto source = function.getArgAttrOfType<nn::SourceAttr>(
      number, nn::NNDialect::kSourceAttr);
  DictionaryAttr attrs = function.getArgAttrDict(number);
  Builder builder(&getContext());
  for (size_t i = 0; i < uses.size(); ++i) {
    const View &view = uses[i].view;
    NamedAttrList list(attrs);
    list.erase(nn::NNDialect::kDimsAttr);
    std::string own = name.str();
    if (uses.size() > 1)
      own += "." + std::to_string(i);
    list.set(nn::NNDialect::kParamAttr, builder.getStringAttr(own));
    list.set(nn::NNDialect::kSourceAttr,
             composeSource(source, name, type.getShape(), view, &getContext()));
    if (dist::ShardingAttr sharding = makeSharding(function, number, view))
      list.set(dist::DistDialect::kShardingAttr, sharding);
    unsigned at = number + 1 + i;
    (void)function.insertArgument(at, type.clone(view.shape),
                                  list.getDictionary(&getContext()),
                                  whole.getLoc());
    for (Value value : uses[i].values)
      value.replaceUsesWithIf(function.getArgument(at),
                              [&](OpOperand &operand) {
                                return !applyOp(operand.getOwner(), view);
                              });
  }
  SmallVector<Operation *> views(whole.getUsers());
  for (size_t i = 0; i < views.size(); ++i)
    llvm::append_range(views, views[i]->getUsers());
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      view->erase();
  (void)function.eraseArgument(number);
}

void ViewParametersPass::divide(unsigned number) {
  BlockArgument argument = getOperation().getArgument(number);
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || !getOperation().getArgAttr(number, nn::NNDialect::kParamAttr))
    return;
  View identity = makeIdentity(type.getShape());
  UseFinder finder;
  if (!finder.find(argument, identity) || finder.uses.empty())
    return;
  if (finder.uses.size() == 1 && finder.uses[0].view == identity)
    return;
  llvm::sort(finder.uses, [](const ViewUse &a, const ViewUse &b) {
    return std::tie(a.view.offset, a.view.shape, a.view.strides) <
           std::tie(b.view.offset, b.view.shape, b.view.strides);
  });
  SmallVector<View> views;
  for (const ViewUse &use : finder.uses)
    views.push_back(use.view);
  if (tile(views, type.getNumElements()))
    replace(number, finder.uses);
}

void ViewParametersPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!function.getBody().hasOneBlock() ||
      !SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    return;
  RewritePatternSet patterns(&getContext());
  populateMoveViews(patterns);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, &getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, &getContext());
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return signalPassFailure();
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    divide(i);
}
