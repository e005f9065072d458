//===- PinExperts.cpp - Applies expert parallelism to experts -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the axes of the factors of each op on experts in a module with
// `dist.experts`. Propagation keeps them, and InsertReshards moves the tokens.
// Rows of constants, which count choices, stay on the devices of their tokens.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_PINEXPERTSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// True if the op reads no weights, and constant rows of tokens: it depends on
/// the choices alone, which are where their tokens are.
bool countsChoices(nn::RoutedOpInterface op) {
  OpOperand *tokens = op.getTokens();
  return tokens && !op.getTokenSum() &&
         matchPattern(tokens->get(), m_Constant());
}

/// The axes of `dist.experts`.
struct ExpertAxes {
  AxisList experts, batch, seq, ffn;

  ExpertAxes(DictionaryAttr attr, const Mesh &mesh) {
    auto read = [&](StringRef name) {
      return attr.getAs<dist::AxesAttr>(name).toAxes(mesh);
    };
    experts = read("experts");
    batch = read("batch");
    seq = read("seq");
    ffn = read("ffn");
  }
  /// The axes of each factor of an op. Tokens are [batch, seq] or, with one
  /// dimension, sequences one after the other.
  std::vector<AxisList> ofFactors(const nn::ExpertFactors &numbers,
                                  size_t count) const {
    std::vector<AxisList> factors(count);
    if (numbers.tokens > 0)
      factors[0] = batch;
    if (numbers.tokens > 1)
      factors[1] = seq;
    else if (numbers.tokens == 1)
      factors[0].append(seq);
    factors[numbers.experts] = experts;
    if (numbers.ffn < count)
      factors[numbers.ffn] = ffn;
    return factors;
  }
};

struct PinExpertsPass : tessera::impl::PinExpertsPassBase<PinExpertsPass> {
  void runOnOperation() override {
    if (failed(pin()))
      signalPassFailure();
  }

  LogicalResult pin() {
    ModuleOp module = getOperation();
    auto attr =
        module->getAttrOfType<DictionaryAttr>(dist::DistDialect::kExpertsAttr);
    if (!attr)
      return success();
    FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
    if (failed(meshOp))
      return failure();
    Mesh mesh = meshOp->getMesh().toMesh();
    ExpertAxes axes(attr, mesh);
    bool isFound = false;
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal() && !func->hasAttr(dist::DistDialect::kLocalAttr))
        func.walk([&](nn::RoutedOpInterface op) {
          isFound = true;
          if (!countsChoices(op))
            pinOp(op,
                  axes.ofFactors(nn::ExpertFactors(op.getIds()),
                                 getShardingRule(op).factors.size()),
                  mesh);
        });
    module->removeAttr(dist::DistDialect::kExpertsAttr);
    if (isFound)
      return success();
    return module.emitError("strategy 'ep' expects a program with nn.experts "
                            "but got one without");
  }

  void pinOp(Operation *op, ArrayRef<AxisList> factors, const Mesh &mesh) {
    SmallVector<Attribute> pins;
    for (const AxisList &list : factors)
      pins.push_back(dist::AxesAttr::get(&getContext(), mesh, list));
    op->setAttr(dist::DistDialect::kFactorsAttr,
                ArrayAttr::get(&getContext(), pins));
  }
};

} // namespace
