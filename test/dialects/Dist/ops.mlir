// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --emit-bytecode | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// CHECK: dist.mesh @mesh ["x"=2, "y"=4]
dist.mesh @mesh ["x"=2, "y"=4]
// CHECK: dist.mesh @staged ["pp"=4, "dp"=2] stage "pp"
dist.mesh @staged ["pp"=4, "dp"=2] stage "pp"

// CHECK-LABEL: func.func @shardings
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"y":(2)2}>
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{?}, {"x"}p0], unreduced={"y"} max>
// CHECK-SAME: -> (tensor<8x16xf32> {dist.global_shape = array<i64: 7, 16>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
func.func @shardings(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"y":(2)2}>},
    %b: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"x"}p0], unreduced={"y"} max>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>,
                          dist.global_shape = array<i64: 7, 16>}) {
  // CHECK: arith.addf %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>]}
  %0 = arith.addf %a, %b {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>]} : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @global_form
func.func @global_form(%a: tensor<8x16xf32>) {
  // CHECK: dist.constraint %{{.*}} <@mesh, [{"x", ?}, {}]> : tensor<8x16xf32>
  %0 = dist.constraint %a <@mesh, [{"x", ?}, {}]> : tensor<8x16xf32>
  // CHECK: dist.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> : tensor<8x16xf32>
  %1 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> : tensor<8x16xf32>
  // CHECK: dist.group %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8x16xf32>
  dist.group %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
  // CHECK: dist.to_partial <max> %{{.*}} over <{"x", "y":(2)2}> on @mesh : tensor<8x16xf32>
  %2 = dist.to_partial <max> %a over <{"x", "y":(2)2}> on @mesh : tensor<8x16xf32>
  // CHECK: dist.all_gather %{{.*}} dim 1 over <{"y"}> on @mesh from <@mesh, [{}, {"x", "y"}]> to <@mesh, [{}, {"x"}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %3 = dist.all_gather %a dim 1 over <{"y"}> on @mesh from <@mesh, [{}, {"x", "y"}]> to <@mesh, [{}, {"x"}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  // A gather of a sub-axis.
  %4 = dist.all_gather %a dim 1 over <{"y":(2)2}> on @mesh from <@mesh, [{}, {"y"}]> to <@mesh, [{}, {"y":(1)2}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %5 = dist.reduce_scatter <sum> %a dim 0 over <{"y"}> on @mesh from <@mesh, [{"x"}, {}], unreduced={"y"}> to <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %6 = dist.all_reduce <sum> %a over <{"y"}> on @mesh from <@mesh, [{"x"}, {}], unreduced={"y"}> to <@mesh, [{"x"}, {}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %7 = dist.all_to_all %a gather 0 split 1 over <{"y"}> on @mesh from <@mesh, [{"x", "y"}, {}]> to <@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %8 = dist.all_slice %a dim 1 over <{"y"}> on @mesh from <@mesh, [{}, {"x"}]> to <@mesh, [{}, {"x", "y"}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  // Device (x, y) has block y * 2 + x before and x * 4 + y after.
  %9 = dist.collective_permute %a targets [0, 2, 4, 6, 1, 3, 5, 7] over <{"x", "y"}> on @mesh from <@mesh, [{"y", "x"}, {}]> to <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %10 = dist.broadcast %a root 3 over <{"y"}> on @mesh from <@mesh, [{"x"}, {}]> to <@mesh, [{"x"}, {}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// CHECK-LABEL: func.func @local_form
func.func @local_form(%a: tensor<8x16xf32>) {
  // CHECK: dist.all_gather %{{.*}} dim 1 over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x64xf32>
  %0 = dist.all_gather %a dim 1 over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x64xf32>
  // CHECK: dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"x", "y"}> on @mesh : tensor<8x16xf32> -> tensor<1x16xf32>
  %1 = dist.reduce_scatter <sum> %a dim 0 over <{"x", "y"}> on @mesh : tensor<8x16xf32> -> tensor<1x16xf32>
  // CHECK: dist.all_reduce <min> %{{.*}} over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  %2 = dist.all_reduce <min> %a over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: dist.all_to_all %{{.*}} gather 0 split 1 over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<32x4xf32>
  %3 = dist.all_to_all %a gather 0 split 1 over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<32x4xf32>
  // CHECK: dist.collective_permute %{{.*}} targets [1, 0] over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  %4 = dist.collective_permute %a targets [1, 0] over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: dist.all_slice %{{.*}} dim 1 over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x8xf32>
  %5 = dist.all_slice %a dim 1 over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x8xf32>
  // CHECK: dist.broadcast %{{.*}} root 1 over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  %6 = dist.broadcast %a root 1 over <{"x"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: dist.send %{{.*}} along "pp" 0 to 1 tag 7 on @staged : tensor<8x16xf32>
  dist.send %a along "pp" 0 to 1 tag 7 on @staged : tensor<8x16xf32>
  // CHECK: dist.recv along "pp" 0 to 1 tag 7 on @staged : tensor<8x16xf32>
  %7 = dist.recv along "pp" 0 to 1 tag 7 on @staged : tensor<8x16xf32>
  // CHECK: dist.axis_offset <{"x", "y"}> size 16 on @mesh : index
  %8 = dist.axis_offset <{"x", "y"}> size 16 on @mesh : index
  // CHECK: %[[FUTURE:.*]] = dist.start %[[A:.*]] : tensor<8x16xf32> -> !dist.future<tensor<8x64xf32>> {
  // CHECK: dist.all_gather
  // CHECK: dist.yield %{{.*}} : tensor<8x64xf32>
  %9 = dist.start %a : tensor<8x16xf32> -> !dist.future<tensor<8x64xf32>> {
  ^bb0(%arg: tensor<8x16xf32>):
    %r = dist.all_gather %arg dim 1 over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x64xf32>
    dist.yield %r : tensor<8x64xf32>
  }
  // CHECK: dist.wait %[[FUTURE]], %[[A]] : !dist.future<tensor<8x64xf32>>, tensor<8x16xf32> -> tensor<8x64xf32>
  %10 = dist.wait %9, %a : !dist.future<tensor<8x64xf32>>, tensor<8x16xf32> -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @bucket
func.func @bucket(%a: tensor<8xf32>, %b: tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>) {
  // CHECK: %[[R:.*]]:2 = dist.bucket(%arg0, %arg1) : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<4x2xf32>):
  // CHECK: dist.yield %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<4x2xf32>
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<4x2xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <sum> %d over <{"y"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<4x2xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: @accumulate
func.func @accumulate(%tokens: tensor<4x2x8xi32>, %x: tensor<2x8x16xf32>) -> tensor<64x16xf32> {
  // CHECK: dist.accumulate 4 reduce_each(%{{.*}}) : (tensor<4x2x8xi32>) -> tensor<64x16xf32> {
  %sum = dist.accumulate 4 reduce_each (%tokens) : (tensor<4x2x8xi32>) -> tensor<64x16xf32> {
  ^bb0(%part: tensor<2x8xi32>):
    %g = nn.embedding_backward %x, %part
        : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
    // CHECK: dist.yield %{{.*}} : tensor<64x16xf32>
    dist.yield %g : tensor<64x16xf32>
  }
  return %sum : tensor<64x16xf32>
}

// CHECK-LABEL: @stack
func.func @stack(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  // CHECK: dist.accumulate 4(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %r:2 = dist.accumulate 4 (%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  ^bb0(%part: tensor<8xf32>):
    // CHECK: arith.negf %{{.*}} {dist.held = array<i64: 0, 4>}
    %y = arith.negf %part {dist.held = array<i64: 0, 4>} : tensor<8xf32>
    dist.yield %y, %y : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @collective_matmul
func.func @collective_matmul(%x: tensor<2x4x8xf32>, %w: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<2x4x8xf32> {
  // CHECK: dist.collective_matmul(%{{.*}}, %{{.*}}) : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32> {
  %h = dist.collective_matmul (%x, %w) : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32> {
  ^bb0(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>):
    %0 = dist.all_gather %a dim 1 over <{"x"}> on @mesh : tensor<2x4x8xf32> -> tensor<2x8x8xf32>
    %1 = nn.einsum "bsd,de->bse" %0, %b : tensor<2x8x8xf32>, tensor<8x6xf32> -> tensor<2x8x6xf32>
    dist.yield %1 : tensor<2x8x6xf32>
  }
  // CHECK: dist.collective_matmul(%{{.*}}, %{{.*}}) : (tensor<2x8x6xf32>, tensor<6x8xf32>) -> tensor<2x4x8xf32> {
  %r = dist.collective_matmul (%h, %v) : (tensor<2x8x6xf32>, tensor<6x8xf32>) -> tensor<2x4x8xf32> {
  ^bb0(%a: tensor<2x8x6xf32>, %b: tensor<6x8xf32>):
    %1 = nn.einsum "bse,ed->bsd" %a, %b : tensor<2x8x6xf32>, tensor<6x8xf32> -> tensor<2x8x8xf32>
    %2 = dist.reduce_scatter <sum> %1 dim 1 over <{"x"}> on @mesh : tensor<2x8x8xf32> -> tensor<2x4x8xf32>
    dist.yield %2 : tensor<2x4x8xf32>
  }
  // CHECK: dist.assemble %{{.*}}, %{{.*}} dim 1 over <{"x"}> on @mesh : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %g = dist.assemble %r, %x dim 1 over <{"x"}> on @mesh : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  return %r : tensor<2x4x8xf32>
}

// Default values are not printed.
// CHECK: module @planned attributes {dist.plan = #dist.plan<dp = 4, sp = true, zero = 2, zero2_reduce = last, micro_batches = 4, schedule = "zb-h1", stage_layers = "7,8", recompute = "auto=1000", precision = bf16, optimizer = sgd, lr = 0.12345678901234559, momentum = 9.000000e-01, groups = "*.gamma:decay=0;w?:lr=0.5">}
module @planned attributes {dist.plan = #dist.plan<precision = bf16, micro_batches = 4, dp = 4, sp = true, tp = 1, zero = 2, zero2_reduce = last,
    recompute = "auto=1000", optimizer = sgd, momentum = 0.9, beta1 = 0.9, lr = 0.1234567890123456, schedule = "zb-h1", stage_layers = "7,8",
    groups = "*.gamma:decay=0;w?:lr=0.5">} {}
// CHECK: module @defaults attributes {dist.plan = #dist.plan<>}
module @defaults attributes {dist.plan = #dist.plan<>} {}

// One pp rank's share of a pipeline of two stages.
// CHECK-LABEL: func.func @first_stage
// CHECK: dist.pipeline paths {{\[\[}}0, 1]] micro_batches 2 batch(%{{.*}}) list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
// CHECK:   dist.task F 0 (%[[X:.*]] = batch 0 : tensor<4xf32>) {
// CHECK:     dist.task_yield send(%{{.*}} : tensor<4xf32>) keep(%[[X]] : tensor<4xf32>) store [1](%{{.*}} : tensor<4xf32>)
// CHECK:   dist.task BW 0 (%{{.*}} = recv 0 : tensor<4xf32>, %{{.*}} = F 0 : tensor<4xf32>) {
// CHECK:     dist.task_yield add [0](%{{.*}} : tensor<4xf32>)
// CHECK: dist.exchange(%{{.*}}) from [0, 1] among [0, 1] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @first_stage(%t: tensor<2x4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  %r:2 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
    dist.task F 0 (%x = batch 0 : tensor<4xf32>) {
      %y = arith.mulf %x, %w : tensor<4xf32>
      dist.task_yield send(%y : tensor<4xf32>) keep(%x : tensor<4xf32>) store [1](%y : tensor<4xf32>)
    }
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>, %x = F 0 : tensor<4xf32>) {
      %dw = arith.mulf %g, %x : tensor<4xf32>
      dist.task_yield add [0](%dw : tensor<4xf32>)
    }
  }
  %e:2 = dist.exchange (%r#0) from [0, 1] among [0, 1] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %e#0, %r#1 : tensor<4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @ring_attention
func.func @ring_attention(%q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>, %g: tensor<2x4x2x2x8xf32>) -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) {
  // CHECK: dist.ring_attention(%{{.*}}, %{{.*}}) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>) {
  %o, %l = dist.ring_attention (%q, %k) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>) {
  ^bb0(%a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>):
    %p = dist.axis_offset <{"x"}> size 4 on @mesh : index
    %0 = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %1 = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %2, %3 = nn.attention causal scale 0.25 %a, %0, %1 q_offset %p : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x4x2x2x8xf32> stats tensor<2x4x2x2xf32>
    dist.yield %2, %3 : tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>
  }
  // CHECK: dist.ring_attention
  // CHECK: nn.attention_backward
  // CHECK-COUNT-2: dist.reduce_scatter <sum>
  %d:3 = dist.ring_attention (%g, %q, %k, %o, %l) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>) -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>) {
  ^bb0(%e: tensor<2x4x2x2x8xf32>, %a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>, %c: tensor<2x4x2x2x8xf32>, %s: tensor<2x4x2x2xf32>):
    %p = dist.axis_offset <{"x"}> size 4 on @mesh : index
    %0 = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %1 = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %dq, %dk, %dv = nn.attention_backward causal scale 0.25 %e, %a, %0, %1, %c, %s q_offset %p : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>
    %2 = dist.reduce_scatter <sum> %dk dim 1 over <{"x"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x4x2x8xf32>
    %3 = dist.reduce_scatter <sum> %dv dim 1 over <{"x"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x4x2x8xf32>
    dist.yield %dq, %2, %3 : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>
  }
  return %d#0, %d#1 : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>
}
