// Ops that are not registered are partitioned by their rules as text, with padding
// and with several factors in a dimension, and are themselves again afterwards. The
// answer names the rules that it rests on; read again, the program is proven again.
//
// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-partitioner --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=proof 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tessera-opt %s --allow-unregistered-dialect --tessera-partitioner --split-input-file | tessera-opt --allow-unregistered-dialect --split-input-file --dist-verify-partition -o %t
// RUN: tessera-opt %s --allow-unregistered-dialect --split-input-file --tessera-input --tessera-propagate --tessera-partition | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @matmul
// CHECK: %[[PART:.*]] = "my.matmul"(%arg0, %arg1) {dist.rule = #dist.rule<"([i,j],[j,k])->([i,k]) {i=4, j=8 sum, k=4}; partial sum in {0} {1}">} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK: dist.all_reduce <sum> %[[PART]] over <{"tp"}>
// REMARK: @matmul is proven, given the rules of my.matmul ({{.*}}rule_text.mlir:[[@LINE+4]])
func.func @matmul(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                  %w: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x4xf32> {
  // Each line of a rule is one text.
  %y = "my.matmul"(%x, %w) {dist.rule = #dist.rule<"([i,j],[j,k])->([i,k]) {i=8, j=16 sum, k=4}; partial sum in {0} {1}">} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Seven rows on two devices are padded to eight.
// CHECK-LABEL: func.func @padded
// CHECK: "my.scale"(%{{.*}}, %{{.*}}) {dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=4, j=64}">} : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
func.func @padded(%x: tensor<7x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}, %s: tensor<7xf32>) -> tensor<7x64xf32> {
  %y = "my.scale"(%x, %s) {dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=7, j=64}">} : (tensor<7x64xf32>, tensor<7xf32>) -> tensor<7x64xf32>
  return %y : tensor<7x64xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Heads and their elements are one dimension of the result.
// CHECK-LABEL: func.func @merge
// CHECK: "my.merge"(%arg0) {dist.rule = #dist.rule<"([i,j,k])->([i,jk]) {i=4, j=2, k=16}">} : (tensor<4x2x16xf32>) -> tensor<4x32xf32>
func.func @merge(%x: tensor<8x4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) -> tensor<8x64xf32> {
  %y = "my.merge"(%x) {dist.rule = #dist.rule<"([i,j,k])->([i,jk]) {i=8, j=4, k=16}">} : (tensor<8x4x16xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

dist.mesh @mesh ["tp"=2]

// Nothing says that the sum ignores zeros: five elements stay whole.
// CHECK-LABEL: func.func @five
// CHECK: "my.sumexp"({{.*}}) {dist.rule = #dist.rule<"([i,j])->([i]) {i=4, j=5 sum}">} : (tensor<4x5xf32>) -> tensor<4xf32>
func.func @five(%x: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
  %y = "my.sumexp"(%x) {dist.rule = #dist.rule<"([i,j])->([i]) {i=4, j=5 sum}">} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
