//===- NNInterfaces.td - Ops on the experts of tokens ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNINTERFACES_TD
#define TESSERA_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def RoutedOpInterface : OpInterface<"RoutedOpInterface"> {
  let cppNamespace = "::tessera::nn";
  let description = [{
    An op on tokens that go to some of many experts.
  }];
  let methods = [
    InterfaceMethod<[{
      The ids of each token's experts, [tokens..., choices].
    }], "::mlir::Value", "getIds", (ins)>,
    InterfaceMethod<[{
      The id of the first held expert; null for 0.
    }], "::mlir::Value", "getOffset", (ins)>,
    InterfaceMethod<[{
      The results by expert, [tokens..., experts, width], which are 0 where a
      token does not go to the expert.
    }], "::mlir::ResultRange", "getRowResults", (ins)>,
    InterfaceMethod<[{
      The number of all experts that ids choose among; none if the op does not
      say.
    }], "::std::optional<int64_t>", "getNumExperts", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{
      The operand by token, [tokens..., width], whose rows are read only of tokens
      that go to a held expert; null if there is none.
    }], "::mlir::OpOperand *", "getTokens", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return nullptr;">,
    InterfaceMethod<[{
      The result by token, [tokens..., width], that is 0 for tokens that go to no
      held expert; null if there is none.
    }], "::mlir::Value", "getTokenSum", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return {};">,
  ];
}

#endif // TESSERA_DIALECTS_NN_NNINTERFACES_TD
