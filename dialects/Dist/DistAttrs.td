//===- DistAttrs.td - Attributes and types of dist ---------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTATTRS_TD
#define TESSERA_DIALECTS_DIST_DISTATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::tessera::dist";
  let summary = "Meshes, shardings, and communication between devices";
  let description = [{
    `dist` says how tensors are sharded over a mesh of devices and holds the
    communication that follows. Shardings are discardable attributes:
    `dist.sharding` on function arguments and results, `dist.shardings` (one
    entry per result) on any op; so any dialect's ops can carry them.
    A partitioned function keeps `dist.sharding` and `dist.global_shape` (the
    true, unpadded shape) on each argument and result.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Sharding of a function argument or result.
    static constexpr ::llvm::StringLiteral kShardingAttr = "dist.sharding";
    /// Array of shardings of an op's results; a unit entry means none.
    static constexpr ::llvm::StringLiteral kShardingsAttr = "dist.shardings";
    /// True (unpadded) global shape of an argument or result.
    static constexpr ::llvm::StringLiteral kGlobalShapeAttr =
        "dist.global_shape";
    /// Marks a function that has been localized: its types are one device's.
    static constexpr ::llvm::StringLiteral kLocalAttr = "dist.local";
    /// The function on global types that a local function computes.
    static constexpr ::llvm::StringLiteral kReferenceAttr = "dist.reference";
    /// The sharding rule, a #dist.rule, of an op that has none in C++.
    static constexpr ::llvm::StringLiteral kRuleAttr = "dist.rule";
    /// Axes that each factor of an op (of its sharding rule, in order) has from
    /// seeds of an earlier priority or from a method of context parallelism: an
    /// array of #dist.axes. Other factors may not use them. Propagation keeps
    /// the attribute.
    static constexpr ::llvm::StringLiteral kFactorsAttr = "dist.factors";
    /// Axes, in addition to dist.factors, that make the op run with exactly the
    /// axes of its factors. Operands that are partial over the axes stay so,
    /// and the results are partial; if the list is empty, all operands are
    /// whole.
    static constexpr ::llvm::StringLiteral kExactAttr = "dist.exact";
    /// Numbers of operands that are resharded for this op alone, even if
    /// another op needs the same sharding: the resharded value is freed after
    /// the op.
    static constexpr ::llvm::StringLiteral kApartAttr = "dist.apart";
    /// Number of the result that replaces a function argument. Both share
    /// memory; the argument must not be read after the result is written.
    static constexpr ::llvm::StringLiteral kDonateAttr = "dist.donate";
    /// Marks an op that was built for gradients: all ops before the first such
    /// op in a block are forward ops.
    static constexpr ::llvm::StringLiteral kBackwardAttr = "dist.backward";
    /// Marks an op of the forward that is repeated in the backward: it is never
    /// merged with an equal op.
    static constexpr ::llvm::StringLiteral kRecomputeAttr = "dist.recompute";
    /// For an op of the forward that will be split into stages: an array<i64>
    /// of the pp rank that keeps its results, the lowest if several do, and the
    /// number of micro-batches that it keeps them for at once.
    static constexpr ::llvm::StringLiteral kHeldAttr = "dist.held";
    /// Coordinate of a local function of a pipeline program on the stage axis.
    static constexpr ::llvm::StringLiteral kPPRankAttr = "dist.pp_rank";
    /// Predicted share of a step, from 0 to 1, that the busiest pp rank waits,
    /// on such a function.
    static constexpr ::llvm::StringLiteral kBubbleAttr = "dist.bubble";
    /// Number, in the reference, of an argument or result of such a function;
    /// the other pp ranks have the rest.
    static constexpr ::llvm::StringLiteral kNumberAttr = "dist.number";
    /// The training plan of a module: #dist.plan.
    static constexpr ::llvm::StringLiteral kPlanAttr = "dist.plan";
    /// The way in which attention shares the devices along the sequence, on a
    /// module from phase plan to the end of phase train: a dictionary of
    /// `method`, a text of ContextMethod.h, and #dist.axes of `seq`, `batch`
    /// and `heads`.
    static constexpr ::llvm::StringLiteral kContextAttr = "dist.context";
    /// The axes of ops on experts, on a module from phase plan to the end of
    /// phase train: a dictionary of #dist.axes of `experts`, and of `batch`,
    /// `seq` and `ffn` outside of these.
    static constexpr ::llvm::StringLiteral kExpertsAttr = "dist.experts";
    /// Number, from 0, of an op on experts among those of the forward: its
    /// routing counts the loads of a layer.
    static constexpr ::llvm::StringLiteral kLayerAttr = "dist.layer";
    /// Axes over which ZeRO shards state, if not dp and cp: #dist.axes on a
    /// module, from phase plan to the end of phase train.
    static constexpr ::llvm::StringLiteral kStateAxesAttr = "dist.state_axes";
    /// Shardings that were decided for a program, on a module from phase plan
    /// until phase propagate takes them: the text of a decision file
    /// (ShardingSearch/Decisions.h).
    static constexpr ::llvm::StringLiteral kDecisionsAttr = "dist.decisions";
    /// The fewest and the most pairs of a query and a key on a device, on a
    /// local function: an array<i64>.
    static constexpr ::llvm::StringLiteral kPairsAttr = "dist.pairs";
    /// Axes of the ring around which an attention's keys and values go:
    /// #dist.axes.
    static constexpr ::llvm::StringLiteral kRingAttr = "dist.ring";
    /// Origins of the axes of a value's sharding: an array of strings, on ops,
    /// arguments and results.
    static constexpr ::llvm::StringLiteral kWhyAttr = "dist.why";
    /// The links under the axes of a mesh: for each axis an array of array<f64:
    /// devices, seconds of latency, bytes per second>, from the innermost level
    /// outwards.
    static constexpr ::llvm::StringLiteral kLinksAttr = "dist.links";
    /// The rates of a device, on the module (tessera/Cluster/LinksAttr.h).
    static constexpr ::llvm::StringLiteral kDeviceAttr = "dist.device";
    /// Limits on a function's communication: a dictionary of max_bytes and
    /// max_collectives, integers, and no_full_gather, a unit.
    static constexpr ::llvm::StringLiteral kBudgetAttr = "dist.budget";
    /// The expected collectives of a local function, from phase kernels on: an
    /// array of strings (tessera/CollectiveLists/CollectiveList.h).
    static constexpr ::llvm::StringLiteral kCollectivesAttr =
        "dist.collectives";
  }];
}

def Dist_ReductionKind : I32EnumAttr<"ReductionKind", "what combines partial values", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_ReductionAttr : EnumAttr<Dist_Dialect, Dist_ReductionKind, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Dist_RuleAttr : AttrDef<Dist_Dialect, "Rule"> {
  let mnemonic = "rule";
  let summary = "a sharding rule: `<\"([i,j],[j,k])->([i,k]) {i=8, j=16 sum, k=4}\">`";
  let description = [{
    The text that `dist-print-sharding-rules` prints. (C1) it is a rule.
  }];
  let parameters = (ins StringRefParameter<>:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::tessera::RuleText parse() const;
  }];
}

def Dist_MeshAxisAttr : AttrDef<Dist_Dialect, "MeshAxis"> {
  let mnemonic = "axis";
  let summary = "a named axis of a mesh with its size";
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Dist_MeshAttr : AttrDef<Dist_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the axes of a mesh, major to minor";
  let description = [{
    `["dp"=2, "tp"=4]`; `stage "pp"` after the list marks the axis of pipeline
    stages, which no sharding may use.
    (C1) no axis name is repeated; (C2) each size is at least 1; (C3) the stage
    axis is one of the axes.
  }];
  let parameters = (ins ArrayRefParameter<"::tessera::dist::MeshAxisAttr">:$axes,
                        OptionalParameter<"::mlir::StringAttr">:$stage);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The mesh as a plain value.
    ::tessera::Mesh toMesh() const;
    static MeshAttr get(::mlir::MLIRContext *context, const ::tessera::Mesh &mesh);
  }];
}

def Dist_AxisRefAttr : AttrDef<Dist_Dialect, "AxisRef"> {
  let mnemonic = "axis_ref";
  let summary = "a mesh axis `\"x\"` or a part of it `\"x\":(m)k`";
  let description = [{
    The sub-axis of size k that has m groups on its major side. A size of 0 means
    the full axis.
    (C1) m >= 1 and k >= 2 in a sub-axis.
  }];
  let parameters = (ins StringRefParameter<>:$name,
                        DefaultValuedParameter<"int64_t", "1">:$preSize,
                        DefaultValuedParameter<"int64_t", "0">:$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_AxesAttr : AttrDef<Dist_Dialect, "Axes"> {
  let mnemonic = "axes";
  let summary = "axes in major-to-minor order: `{\"x\", \"y\":(1)2}`";
  let parameters = (ins ArrayRefParameter<"::tessera::dist::AxisRefAttr">:$refs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The axes as plain values; every name must be in the mesh.
    ::tessera::AxisList toAxes(const ::tessera::Mesh &mesh) const;
    static AxesAttr get(::mlir::MLIRContext *context, const ::tessera::Mesh &mesh,
                        ::llvm::ArrayRef<::tessera::AxisRef> axes);
  }];
}

def Dist_DimShardingAttr : AttrDef<Dist_Dialect, "DimSharding"> {
  let mnemonic = "dim";
  let summary = "axes that one dimension is sharded over, open or closed";
  let description = [{
    `{"x"}` is closed, `{"x", ?}` open: propagation may add axes after. `p1`
    after the braces is the priority of the seed; lower wins.
    (C1) no priority on a closed dimension without axes.
  }];
  let parameters = (ins ArrayRefParameter<"::tessera::dist::AxisRefAttr">:$axes,
                        "bool":$open,
                        DefaultValuedParameter<"int64_t", "-1">:$priority);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "how a tensor is sharded over a mesh";
  let description = [{
    `#dist.sharding<@mesh, [{"dp"}, {"tp", ?} ], replicated={"ep"},
    unreduced={"x"}>`: one entry a dimension. `replicated` axes may not shard
    the tensor further; over `unreduced` axes each device holds a partial
    value, combined by a sum unless a kind is given: `unreduced={"x"} max`.
    (C1) no axis, nor an overlapping sub-axis, is used twice; (C2) adjacent
    sub-axes of one axis in one dimension are written as one.
    Checked where the sharding is attached: (C3) the mesh and its axes exist;
    (C4) the sub-axes divide their axis; (C5) the rank is the tensor's; (C6) no
    stage axis is used.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"::tessera::dist::DimShardingAttr">:$dims,
                        ArrayRefParameter<"::tessera::dist::AxisRefAttr">:$replicated,
                        ArrayRefParameter<"::tessera::dist::AxisRefAttr">:$unreduced,
                        "::tessera::dist::ReductionKind":$reduction);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The sharding as a plain value; the attribute must be valid for `mesh`.
    ::tessera::Sharding toSharding(const ::tessera::Mesh &mesh) const;
    static ShardingAttr get(::mlir::FlatSymbolRefAttr symbol,
                            const ::tessera::Mesh &mesh,
                            const ::tessera::Sharding &sharding);
    /// Checks C3 to C6 for a value of `type` at `op`, from where the mesh is
    /// looked up.
    ::llvm::LogicalResult
    verifyFor(::mlir::Operation *op, ::mlir::Type type,
              ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

def Dist_FutureType : TypeDef<Dist_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "the result of a collective that has been started";
  let parameters = (ins "::mlir::RankedTensorType":$result);
  let assemblyFormat = "`<` $result `>`";
}

#endif // TESSERA_DIALECTS_DIST_DISTATTRS_TD
