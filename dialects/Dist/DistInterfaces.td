//===- DistInterfaces.td - Interfaces of communication ----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTINTERFACES_TD
#define TESSERA_DIALECTS_DIST_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::tessera::dist";
  let description = [{
    Communication within groups of devices: those that differ only in `axes`.
    A collective is in one of two forms. On *global* types it carries the
    shardings `from` and `to` and its types are equal; in the *local* form it
    carries neither and the types are one device's.
  }];
  let methods = [
    InterfaceMethod<"The axes that span a group, major to minor.",
      "::tessera::dist::AxesAttr", "getAxes", (ins)>,
    InterfaceMethod<"The mesh.", "::mlir::FlatSymbolRefAttr", "getMeshAttr",
      (ins)>,
    InterfaceMethod<"Sharding of the operand in the global form, or null.",
      "::tessera::dist::ShardingAttr", "getFromAttr", (ins)>,
    InterfaceMethod<"Sharding of the result in the global form, or null.",
      "::tessera::dist::ShardingAttr", "getToAttr", (ins)>,
    InterfaceMethod<[{
      The sharding that the op gives a value of sharding `from`. An error if the
      op cannot be applied to such a value.
    }], "::llvm::Expected<::tessera::Sharding>", "applyTo",
      (ins "const ::tessera::Mesh &":$mesh,
           "const ::tessera::Sharding &":$from)>,
    InterfaceMethod<[{
      Type of one device's result for one device's operand, given the number of
      devices of a group; null if the operand's shape does not allow the op.
    }], "::mlir::RankedTensorType", "getLocalResultType",
      (ins "::mlir::RankedTensorType":$operand, "int64_t":$groupSize)>,
    InterfaceMethod<"The kind of the op; none of one that moves no bytes.",
      "::std::optional<::tessera::CollectiveKind>", "getCollectiveKind",
      (ins)>,
    InterfaceMethod<[{
      The share of a collective of this kind that is sent, in (0, 1]: less than 1
      where the program's values decide what is; then the expected one.
    }], "double", "getShareSent", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return 1;">,
  ];
  let extraClassDeclaration = [{
    /// Bytes that one device receives, given its local operand type and the
    /// number of devices of a group (bandwidth-optimal algorithms); the expected
    /// ones where only a share is sent.
    int64_t getBytesReceived(::mlir::RankedTensorType operand,
                             int64_t groupSize);
  }];
}

def TransfersOpInterface : OpInterface<"TransfersOpInterface"> {
  let cppNamespace = "::tessera::dist";
  let description = [{
    An op that sends other pieces than the collectives of its region, which says
    only what it computes. `dist.ring_attention` has it where the passes of rings
    are registered (registerRingTransfers).
  }];
  let methods = [
    InterfaceMethod<"All transfers of one run, in order.",
      "::std::vector<::tessera::dist::Transfer>", "getTransfers", (ins)>,
  ];
}

#endif // TESSERA_DIALECTS_DIST_DISTINTERFACES_TD
