//===- ReadWork.cpp - Reads the work of a partitioned program -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks over the kernels of a function in program order. Each kernel becomes a
// record of the layer in its location.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/ReadWork.h"
#include "Kernels.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cost;

static DType typeOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isBF16())
    return DType::BF16;
  if (element.isF16())
    return DType::F16;
  if (auto floating = dyn_cast<FloatType>(element))
    return floating.getWidth() == 8 ? DType::FP8 : DType::F32;
  return element.getIntOrFloatBitWidth() <= 8 ? DType::I8 : DType::I32;
}

namespace {

class LayerReader {
public:
  LayerReader(func::FuncOp func, bool eager, bool keepGathered)
      : func(func), block(func.getBody().front()), eager(eager),
        keepGathered(keepGathered) {}
  /// Reads all of `block`, which may be inside the function, as one layer.
  LayerReader(func::FuncOp func, Block &block, StringRef name)
      : func(func), block(block), whole(name) {}

  std::vector<LayerWork> read() {
    layers.emplace_back();
    layers.back().name = whole.empty() ? "embedding" : whole.str();
    readParameters(func.getBody().front());
    if (&block != &func.getBody().front())
      readParameters(block);
    for (Kernel &kernel : groupKernels(block, /*fuse=*/!eager)) {
      bool gather = kernel.cost.kind == CostKind::Collective &&
                    isParameter(kernel.ops[0]->getOperand(0));
      if (!gather)
        enterLayer(getScope(kernel.ops.back()->getLoc()));
      readKernel(kernel);
    }
    for (LayerWork &layer : layers)
      finishLayer(layer);
    return std::move(layers);
  }

private:
  /// True for parameters, and values computed only from them.
  bool isParameter(Value value) const { return parameters.contains(value); }

  void readParameters(Block &within) {
    for (BlockArgument argument : func.getArguments())
      if (func.getArgAttr(argument.getArgNumber(), nn::NNDialect::kParamAttr))
        parameters.insert(argument);
    for (Operation &op : within)
      if (op.getNumOperands() && op.getNumResults() == 1 &&
          llvm::all_of(op.getOperands(), [&](Value operand) {
            return isParameter(operand) ||
                   !isa<RankedTensorType>(operand.getType());
          }))
        parameters.insert(op.getResult(0));
  }

  /// Starts a new layer by the scope: at the first op of a block, and after the
  /// last block.
  void enterLayer(StringRef scope) {
    if (!whole.empty())
      return;
    StringRef block = getModelBlock(scope);
    if (block.empty()) {
      if (!currentBlock.empty() && !scope.empty())
        open("head", "");
    } else if (block != currentBlock) {
      open("block", block);
    }
  }

  void open(StringRef name, StringRef block) {
    layers.emplace_back();
    layers.back().name = name.str();
    if (!block.empty())
      layerOf.try_emplace(block, layers.size() - 1);
    currentBlock = block;
    lastMatmul = nullptr;
    numMatmuls = 0;
  }

  LayerWork &layer() { return layers.back(); }

  void readKernel(Kernel &kernel) {
    switch (kernel.cost.kind) {
    case CostKind::None:
      return;
    case CostKind::Collective:
      return readCollective(cast<dist::CollectiveOpInterface>(kernel.ops[0]));
    case CostKind::Matmul:
      return readMatmul(kernel);
    case CostKind::Elementwise:
      if (isParameterOnly(kernel))
        return;
      if (isEpilogue(kernel))
        return addEpilogue(kernel);
      break;
    default:
      break;
    }
    OpWork op = makeOp(kernel);
    op.parameterSum = parameterSum(kernel);
    if (kernel.cost.kind == CostKind::Elementwise && isResidual(kernel))
      op.name = "residual";
    op.isGelu = isGelu(kernel);
    if (isa<nn::CrossEntropyOp>(kernel.ops[0]))
      op.name = "loss";
    if (isa<nn::AttentionBackwardOp>(kernel.ops[0]))
      op.pass = cost::Pass::BackwardInput;
    layer().add(std::move(op));
    noteOutput(kernel);
    save(kernel);
  }

  static OpClass getOpClass(CostKind kind) {
    switch (kind) {
    case CostKind::None:
    case CostKind::Elementwise:
    case CostKind::Collective:
      return OpClass::Elementwise;
    case CostKind::RowReduction:
      return OpClass::RowReduction;
    case CostKind::Matmul:
    case CostKind::GroupedMatmul:
      return OpClass::Matmul;
    case CostKind::Attention:
      return OpClass::Attention;
    case CostKind::Embedding:
      return OpClass::Embedding;
    case CostKind::Optimizer:
      return OpClass::Optimizer;
    }
    llvm_unreachable("a CostKind");
  }

  OpWork makeOp(const Kernel &kernel) {
    OpWork op;
    op.kind = getOpClass(kernel.cost.kind);
    op.flops = kernel.cost.flops;
    op.linear = kernel.cost.linear;
    op.matmul = {kernel.cost.batch, kernel.cost.m, kernel.cost.n,
                 kernel.cost.k};
    op.attentionCore = kernel.cost.kind == CostKind::Attention;
    op.name = kernel.ops.back()->getName().getStringRef().str();
    for (Value value : kernel.reads)
      op.bytesRead += readBytes(value);
    if (kernel.cost.bytesRead >= 0)
      op.bytesRead = kernel.cost.bytesRead;
    for (Value value : kernel.writes)
      op.bytesWritten += getTensorBytes(value.getType());
    if (kernel.cost.bytesWritten >= 0)
      op.bytesWritten = kernel.cost.bytesWritten;
    Value first = kernel.reads.empty() ? kernel.ops[0]->getResult(0)
                                       : kernel.reads.front();
    op.dtype = typeOf(first.getType());
    return op;
  }

  /// Returns the bytes that a reader of a value moves: a broadcast value is
  /// read once.
  static double readBytes(Value value) {
    if (auto repeated = value.getDefiningOp<nn::BroadcastOp>())
      return getTensorBytes(repeated.getX().getType());
    Operation *op = value.getDefiningOp();
    return op && op->hasTrait<OpTrait::ConstantLike>()
               ? 0
               : getTensorBytes(value.getType());
  }

  /// True for work on parameters alone, and for broadcasts.
  bool isParameterOnly(const Kernel &kernel) {
    return llvm::all_of(kernel.writes, [&](Value value) {
      return isParameter(value) || value.getDefiningOp<nn::BroadcastOp>();
    });
  }

  /// True for linear work on one matmul's result and at least one parameter.
  bool isEpilogue(const Kernel &kernel) {
    Value matmul;
    bool readsParameter = false;
    for (Value value : kernel.reads) {
      if (isParameter(value)) {
        readsParameter = true;
        continue;
      }
      Operation *producer = value.getDefiningOp();
      if (matmul || !producer || getOpCost(producer).kind != CostKind::Matmul)
        return false;
      matmul = value;
    }
    return matmul && readsParameter && kernel.cost.linear &&
           kernel.writes.size() == 1;
  }

  /// The matmul's kernel computes it; the gradient of its bias has to be
  /// summed.
  void addEpilogue(const Kernel &kernel) {
    if (!layer().ops.empty())
      layer().ops.back().parameterSum += parameterSum(kernel);
  }

  /// Returns the bytes that the gradients of a kernel's vector parameters read,
  /// see OpWork::parameterSum.
  double parameterSum(const Kernel &kernel) const {
    bool isNorm = kernel.cost.kind == CostKind::RowReduction;
    if (!isNorm && kernel.cost.kind != CostKind::Elementwise)
      return 0;
    double parameters = 0, most = 0;
    for (Value value : kernel.reads) {
      double bytes = getTensorBytes(value.getType());
      (isParameter(value) ? parameters : most) =
          std::max(isParameter(value) ? parameters : most, bytes);
    }
    if (parameters == 0)
      return 0;
    return isNorm ? 2 * most : most;
  }

  /// True for an add on the residual stream, which the importer marks.
  bool isResidual(const Kernel &kernel) {
    return layer().name == "block" &&
           llvm::any_of(kernel.ops, [](Operation *op) {
             return op->hasAttr(nn::NNDialect::kDimsAttr);
           });
  }

  /// True for GELU by tanh, with or without a bias before it.
  bool isGelu(const Kernel &kernel) const {
    auto gelu = dyn_cast<nn::GeluOp>(kernel.ops.back());
    if (!gelu || gelu.getKind() != nn::GeluKind::Tanh)
      return false;
    return llvm::all_of(llvm::drop_end(kernel.ops),
                        [](Operation *op) { return getOpCost(op).linear; });
  }

  void readMatmul(const Kernel &kernel) {
    OpWork op = makeOp(kernel);
    Operation *einsum = kernel.ops[0];
    Value left = einsum->getOperand(0), right = einsum->getOperand(1);
    op.weight = op.matmul.batch == 1 && isParameter(right);
    if (op.weight)
      countMatmul(kernel, op);
    save(kernel);
    noteOutput(kernel);
    // Merges a neighbour with the same left operand: one matmul with more
    // columns.
    if (op.weight && lastMatmul == left && lastLayer == layers.size()) {
      OpWork &wide = layer().ops[lastIndex];
      if (wide.matmul.k == op.matmul.k && wide.matmul.m == op.matmul.m) {
        wide.matmul.n += op.matmul.n;
        wide.flops += op.flops;
        wide.bytesRead += getTensorBytes(right.getType());
        wide.bytesWritten += op.bytesWritten;
        wide.secondColumns += op.secondColumns;
        return;
      }
    }
    lastMatmul = op.weight ? left : Value();
    lastIndex = layer().ops.size();
    lastLayer = layers.size();
    layer().add(std::move(op));
  }

  /// Under Recompute::Matmuls, every second matmul with a parameter is computed
  /// again, and the results of the others are kept. A compiler, which sees the
  /// backward pass, keeps only those that it needs.
  void countMatmul(const Kernel &kernel, OpWork &op) {
    if (++numMatmuls % 2 == 0) {
      op.secondColumns = op.matmul.n;
      return;
    }
    if (eager || llvm::any_of(kernel.writes, [&](Value value) {
          return isNeededInLayer(value);
        }))
      keepResults(kernel);
  }

  /// True if a nonlinear op of the same layer reads the value, also through
  /// linear ops. The result of a layer is kept as the next one's input.
  bool isNeededInLayer(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      StringRef block = getModelBlock(getScope(user->getLoc()));
      if (block.empty() || block != currentBlock)
        return false;
      OpCost cost = getOpCost(user);
      if (!cost.linear && cost.kind != CostKind::Collective)
        return true;
      return llvm::any_of(user->getResults(), [&](Value result) {
        return isNeededInLayer(result);
      });
    });
  }

  void keepResults(const Kernel &kernel) {
    for (Value value : kernel.writes)
      layer().keptResults.push_back(
          {kernel.ops.back()->getName().getStringRef().str(),
           getTensorBytes(value.getType())});
  }

  void readCollective(dist::CollectiveOpInterface op) {
    Value input = op->getOperand(0), result = op->getResult(0);
    std::optional<CollectiveKind> kind = op.getCollectiveKind();
    if (!kind)
      return;
    CommWork comm;
    comm.kind = *kind;
    comm.bytes = std::max(getTensorBytes(input.getType()),
                          getTensorBytes(result.getType()));
    for (dist::AxisRefAttr axis : op.getAxes().getRefs())
      if (std::optional<PlanAxis> known = parsePlanAxis(axis.getName()))
        comm.axes.push_back(*known);
    comm.name = op->getName().getStringRef().str();
    comm.parameter = isParameter(input);
    if (!comm.parameter)
      return layer().add(std::move(comm));
    // The gather comes before its use, whose layer may not have started.
    enterLayer(getScope(firstUse(result)->getLoc()));
    gathered(layer(), comm).bytes += comm.bytes;
  }

  static Operation *firstUse(Value value) {
    Operation *first = nullptr;
    for (Operation *user : value.getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    return first ? first : value.getDefiningOp();
  }

  /// Returns the only gather of a layer's parameters.
  static CommWork &gathered(LayerWork &layer, const CommWork &like) {
    for (CommWork &comm : layer.comms)
      if (comm.parameter)
        return comm;
    CommWork comm = like;
    comm.bytes = 0;
    comm.overlappable = true;
    comm.name = "parameters";
    layer.add(comm);
    return layer.comms.back();
  }

  /// Saves the values from the forward that the backward of a kernel needs.
  void save(const Kernel &kernel) {
    auto keep = [&](Value value) {
      // A gathered activation is gathered again.
      if (auto gather = value.getDefiningOp<dist::AllGatherOp>();
          gather && !keepGathered)
        value = gather->getOperand(0);
      if (isParameter(value) || !saved.insert(value).second ||
          isa<nn::IotaOp>(kernel.ops[0]))
        return;
      double bytes = getTensorBytes(value.getType());
      if (bytes > 0)
        layer().saved.push_back(
            {kernel.ops.back()->getName().getStringRef().str(), bytes});
    };
    if (kernel.cost.linear)
      return;
    for (Value value : kernel.reads)
      keep(value);
    if (kernel.cost.kind != CostKind::Attention)
      return;
    for (Value value : kernel.writes)
      keep(value);
    keepResults(kernel);
  }

  void noteOutput(const Kernel &kernel) {
    for (Value value : kernel.writes) {
      double bytes = getTensorBytes(value.getType());
      if (isResidual(kernel) || layer().name == "embedding")
        layer().outputBytes = bytes;
      layer().workspaceBytes = std::max(layer().workspaceBytes, bytes);
    }
  }

  /// Returns the number of the layer that a parameter is in; none if the layer
  /// was not read.
  std::optional<size_t> findLayer(StringRef parameter) const {
    if (StringRef block = getModelBlock(parameter); !block.empty()) {
      auto found = layerOf.find(block);
      if (found == layerOf.end())
        return std::nullopt;
      return found->second;
    }
    if (!parameter.starts_with("ln_f") && parameter != "lm_head")
      return 0;
    if (layers.back().name != "head")
      return std::nullopt;
    return layers.size() - 1;
  }

  /// Adds each parameter to the layer in its name.
  void finishLayer(LayerWork &layer) {
    size_t index = &layer - layers.data();
    for (BlockArgument argument : func.getArguments()) {
      auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    nn::NNDialect::kParamAttr);
      if (!name)
        continue;
      if (findLayer(name.getValue()) == index)
        layer.parameters.push_back(
            {name.str(), getTensorElements(fullType(argument)), 1});
    }
  }

  /// Returns the type of a parameter at its use: gathered over the data axes.
  Type fullType(BlockArgument argument) {
    for (Operation *user : argument.getUsers())
      if (isa<dist::AllGatherOp>(user))
        return user->getResult(0).getType();
    return argument.getType();
  }

  func::FuncOp func;
  Block &block;
  bool eager = false, keepGathered = false;
  StringRef whole;
  std::vector<LayerWork> layers;
  /// The model's block that `layer()` is; empty for the others.
  StringRef currentBlock;
  /// The layer in which a block begins.
  llvm::StringMap<size_t> layerOf;
  llvm::DenseSet<Value> parameters, saved;
  Value lastMatmul;
  size_t lastIndex = 0, lastLayer = 0;
  /// The number of matmuls with a parameter in this layer so far.
  size_t numMatmuls = 0;
};

} // namespace

std::vector<LayerWork> tessera::readForwardWork(func::FuncOp func, bool eager,
                                                bool keepGathered) {
  return LayerReader(func, eager, keepGathered).read();
}

std::optional<LayerWork> tessera::readStepWork(func::FuncOp func) {
  Block *body = nullptr;
  func.walk([&](dist::AccumulateOp op) { body = &op->getRegion(0).front(); });
  if (!body)
    return std::nullopt;
  return LayerReader(func, *body, "step").read().front();
}
