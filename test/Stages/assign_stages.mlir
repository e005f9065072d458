// RUN: tessera-opt %s --dist-assign-stages | FileCheck %s
// RUN: tessera-opt %s --dist-assign-stages --dist-select-recompute="policy=auto=10000 limits=96,1000" | FileCheck %s --check-prefix=LIMITS
// RUN: tessera-opt %s --dist-assign-stages --dist-select-recompute="policy=auto=10000 limits=96,1000" --remarks-filter=training -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tessera-opt %s --dist-assign-stages --dist-select-recompute=policy=full | FileCheck %s --check-prefix=GONE

// Under 1F1B the first of two pp ranks keeps two micro-batches at once, the
// second keeps one. Neither keeps values that depend on parameters alone. The
// pass records the blocks of each stage.
// CHECK: stage_layers = "1,1"
// CHECK: arith.mulf %{{.*}}, %{{.*}} {dist.held = array<i64: 0, 2>}
// CHECK-NEXT: arith.negf %{{[a-z0-9]*}} : tensor<8xf32>
// CHECK-NEXT: math.exp %{{.*}} {dist.held = array<i64: 0, 2>}
// CHECK-NEXT: arith.mulf %{{.*}} {dist.held = array<i64: 0, 2>}
// CHECK: math.exp %{{.*}} {dist.held = array<i64: 1, 1>}
// CHECK-NOT: dist.held

// A value of 32 bytes counts twice on the first pp rank: 96 bytes have room for
// one, and the others are recomputed. The second pp rank has room for all.
// REMARK: keeps 0, 32 of 192, 32 bytes of the pp ranks for the backward and repeats 3 ops
// LIMITS-NOT: dist.held
// LIMITS: math.exp
// LIMITS: math.exp
// LIMITS-NOT: math.exp
// LIMITS: math.exp %{{.*}} {dist.recompute}
// LIMITS-NOT: math.exp
// GONE-NOT: dist.held
module attributes {dist.plan = #dist.plan<pp = 2, micro_batches = 4, stage_layers = "even">} {
dist.mesh @mesh ["pp"=2] stage "pp"
func.func @train_step(%x: tensor<4x8xf32>,
    %w0: tensor<8xf32> {nn.param = "blocks.0.w"},
    %w1: tensor<8xf32> {nn.param = "blocks.1.w"}) -> (tensor<8xf32>, tensor<8xf32>) attributes {dist.local} {
  %g:2 = dist.accumulate 4 (%x) : (tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%t: tensor<8xf32>):
    %a = arith.mulf %t, %w0 : tensor<8xf32>
    %n = arith.negf %w0 : tensor<8xf32>
    %b = math.exp %a : tensor<8xf32>
    %c = arith.mulf %b, %n : tensor<8xf32>
    %d = arith.mulf %c, %w1 : tensor<8xf32>
    %e = math.exp %d : tensor<8xf32>
    %dd = arith.mulf %e, %e {dist.backward} : tensor<8xf32>
    %dw1 = arith.mulf %dd, %c {dist.backward} : tensor<8xf32>
    %dc = arith.mulf %dd, %w1 {dist.backward} : tensor<8xf32>
    %db = arith.mulf %dc, %b {dist.backward} : tensor<8xf32>
    %da = arith.mulf %db, %a {dist.backward} : tensor<8xf32>
    %dw0 = arith.mulf %da, %t {dist.backward} : tensor<8xf32>
    dist.yield %dw0, %dw1 : tensor<8xf32>, tensor<8xf32>
  }
  return %g#0, %g#1 : tensor<8xf32>, tensor<8xf32>
}
}
