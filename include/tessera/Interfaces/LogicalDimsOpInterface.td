//===- LogicalDimsOpInterface.td - Dimensions by name ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_TD
#define TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def LogicalDimsOpInterface : OpInterface<"LogicalDimsOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that knows what dimensions of its operands are: attention knows the
    sequence and the heads. Dimensions of graphs that have no names get theirs
    from such ops. An op without this interface knows none.
  }];
  let methods = [
    InterfaceMethod<[{
      Calls `name` with an operand, one of its dimensions and the name of that,
      as `nn.dims` has it ("batch", "seq", "vocab").
    }], "void", "nameDims", (ins "::tessera::DimNamer":$name)>,
  ];
}

#endif // TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_TD
