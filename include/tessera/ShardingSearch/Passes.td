//===- Passes.td - The search for shardings ----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGSEARCH_PASSES_TD
#define TESSERA_SHARDINGSEARCH_PASSES_TD

include "mlir/Pass/PassBase.td"

def SearchShardingsPass : Pass<"dist-search-shardings", "::mlir::ModuleOp"> {
  let summary = "finds the cheapest shardings of a program";
  let description = [{
    Chooses for each op what its factors are sharded over, and for each tensor
    its sharding, so that the time of kernels and of reshards between them is
    least (ShardingSearch.h), and writes that as closed seeds for
    `dist-propagate-shardings`: `dist.sharding`, `dist.shardings`, and
    `dist.factors` with `dist.exact` and `dist.apart`. Seeds and
    `dist.constraint`s that are there hold; `dist.decisions` are dropped. No name of an argument or a dimension
    is read. A remark
    `ShardingSearch` has the time, what no choice takes less than, and the gap
    between them; layers that are equal are one copy in the network that is
    solved (`solved` of `variables`). `SearchedSharding` says how each op runs,
    and what every other way takes more, at least.

    ```mlir
    dist.mesh @mesh ["a"=4]
    func.func @f(%x: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {} ]>},
                 %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
      %0 = nn.einsum "bk,kn->bn" %x, %w : ...
    ```
    becomes
    ```mlir
      %0 = nn.einsum "bk,kn->bn" %x, %w {dist.exact = #dist.axes<{}>,
          dist.factors = [#dist.axes<{"a"}>, #dist.axes<{}>, #dist.axes<{}>],
          dist.shardings = [#dist.sharding<@mesh, [{"a"}, {} ]>]} : ...
    ```
  }];
  let options = [
    Option<"dump", "dump", "std::string", "\"\"",
           "a file for the network in toulbar2's format">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes that a device may hold where the program holds most; 0: "
           "no limit">,
    Option<"foldLayers", "fold-layers", "bool", "true",
           "layers that are equal are solved as one">,
  ];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def ReplayDecisionsPass : Pass<"dist-replay-decisions", "::mlir::ModuleOp"> {
  let summary = "takes the decisions of a module in place of a search";
  let description = [{
    On a module with `dist.decisions`, the text of a decision file (Decisions.h),
    writes the shardings that the file has for its arguments, ops and results, as
    `dist-search-shardings` writes those that it finds, and drops the attribute. A
    file for another mesh, or for a program with other shapes, is an error. Any
    other module is left alone.

    ```mlir
    module attributes {dist.decisions = "{\"tessera\": \"decisions\", ...,
        \"arguments\": [{\"key\": \": tensor<64x16xf32>\", \"seen\": 1, \"attributes\":
        [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {} ]>\"] } ], ...}"} {
      dist.mesh @mesh ["a"=4]
      func.func @f(%x: tensor<64x16xf32>) {
    ```
    becomes
    ```mlir
    module {
      dist.mesh @mesh ["a"=4]
      func.func @f(%x: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {} ]>}) {
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

#endif // TESSERA_SHARDINGSEARCH_PASSES_TD
