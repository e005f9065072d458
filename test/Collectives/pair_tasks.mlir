// An F and a BW that the list runs as a pair become one function. An
// elementwise op takes 3 us.
// RUN: tessera-opt %s --dist-pair-tasks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tessera-opt %s --dist-pair-tasks --dist-overlap-collectives=slack-bytes=4096 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=OVERLAP

dist.mesh @mesh ["tp"=2]

func.func private @step_F0(
    %x: tensor<16xf32> {rt.place = #rt.place<activation 0>},
    %y: tensor<16xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64},
    %k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>, dist.donate = 1 : i64})
    -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local, rt.task = #rt.task<0 0>} {
  %0 = math.exp %x : tensor<16xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %2 = math.sin %1 : tensor<16xf32>
  %3 = math.cos %2 : tensor<16xf32>
  return %2, %3 : tensor<16xf32>, tensor<16xf32>
}

func.func private @step_BW1(
    %g: tensor<16xf32> {rt.place = #rt.place<gradient 0>},
    %s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 1 : i64},
    %d: tensor<16xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64})
    -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local, rt.task = #rt.task<3 1>} {
  %0 = math.tanh %g : tensor<16xf32>
  %1 = math.log %0 : tensor<16xf32>
  %2 = math.sqrt %0 : tensor<16xf32>
  return %2, %1 : tensor<16xf32>, tensor<16xf32>
}

// The tasks stay: they also run alone. F's arguments and results come first.
// CHECK-LABEL: func.func private @step_F0(
// CHECK-LABEL: func.func private @step_BW1(
// CHECK-LABEL: func.func private @step_F0_BW1(
// CHECK-SAME: %[[X:.*]]: tensor<16xf32> {rt.place = #rt.place<activation 0>},
// CHECK-SAME: tensor<16xf32> {dist.donate = 0 : i64, rt.place = #rt.place<send 0>},
// CHECK-SAME: tensor<16xf32> {dist.donate = 1 : i64, rt.place = #rt.place<f_to_b 0>},
// CHECK-SAME: %[[G:.*]]: tensor<16xf32> {rt.beside, rt.place = #rt.place<gradient 0>},
// CHECK-SAME: tensor<16xf32> {dist.donate = 3 : i64, rt.beside, rt.place = #rt.place<sum 0>},
// CHECK-SAME: tensor<16xf32> {dist.donate = 2 : i64, rt.beside, rt.place = #rt.place<send 0>})
// CHECK-SAME: attributes {dist.local, rt.beside = #rt.task<3 1>, rt.task = #rt.task<0 0>}
// A third of each is done before the second op of each; the communication of F
// does not count as work.
// CHECK: %[[EXP:.*]] = math.exp %[[X]]
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[G]]
// CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce <sum> %[[EXP]]
// CHECK-NEXT: %[[SIN:.*]] = math.sin %[[SUM]]
// CHECK-NEXT: %[[LOG:.*]] = math.log %[[TANH]]
// CHECK-NEXT: %[[COS:.*]] = math.cos %[[SIN]]
// CHECK-NEXT: %[[SQRT:.*]] = math.sqrt %[[TANH]]
// CHECK-NEXT: return %[[SIN]], %[[COS]], %[[SQRT]], %[[LOG]]
// CHECK: tasks [@step_F0, @step_BW1, @step_F0_BW1]

// The reduction of F runs under the work of BW.
// OVERLAP-LABEL: func.func private @step_F0_BW1(
// OVERLAP: math.exp
// OVERLAP-NEXT: dist.start
// OVERLAP: math.tanh
// OVERLAP: dist.wait
// OVERLAP: math.sin
func.func @step(%s: tensor<16xf32>) -> tensor<16xf32> {
  %r = rt.pipeline paths [[0, 0]] micro_batches 2 list "F0.0|BW1.1 F0.1|BW1.0"
      tasks [@step_F0, @step_BW1] batch() captured() init(%s)
      : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// No work to overlap with: two calls, one after the other.
func.func private @step_F0() attributes {dist.local, rt.task = #rt.task<0 0>} {
  return
}
func.func private @step_BW0() attributes {dist.local, rt.task = #rt.task<3 0>} {
  return
}
// CHECK: tasks [@step_F0, @step_BW0] batch
func.func @apart() {
  rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1|BW0.0 BW0.1"
      tasks [@step_F0, @step_BW0] batch() captured() init() : () -> ()
  return
}

// -----

// Both add to one sum, so one runs after the other.
dist.mesh @mesh ["tp"=2]
func.func private @step_F0(%s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {dist.local, rt.task = #rt.task<0 0>} {
  %0 = dist.all_reduce <sum> %s over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @step_BW0(%s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {dist.local, rt.task = #rt.task<3 0>} {
  %0 = math.exp %s : tensor<16xf32>
  return %0 : tensor<16xf32>
}
// CHECK: tasks [@step_F0, @step_BW0] batch
func.func @one_sum(%s: tensor<16xf32>) -> tensor<16xf32> {
  %r = rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1|BW0.0 BW0.1"
      tasks [@step_F0, @step_BW0] batch() captured() init(%s)
      : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

func.func private @step_F0() attributes {dist.local, rt.task = #rt.task<0 0>} {
  return
}
func.func @list() {
  // expected-error @+1 {{expects actions such as F0.3, BW0.3, sA0.3 or F0.3|BW1.2 but got 'F'}}
  rt.pipeline paths [[0]] micro_batches 1 list "F"
      tasks [@step_F0] batch() captured() init() : () -> ()
  return
}

// -----

// Both would communicate when half of their work is done, and hide nothing; so one is ahead.
dist.mesh @mesh ["tp"=2]
func.func private @step_F0(
    %x: tensor<262144xf32> {rt.place = #rt.place<activation 0>},
    %y: tensor<262144xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64})
    -> tensor<262144xf32> attributes {dist.local, rt.task = #rt.task<0 0>} {
  %0 = math.exp %x : tensor<262144xf32>
  %1 = math.exp %0 : tensor<262144xf32>
  %2 = math.exp %1 : tensor<262144xf32>
  %3 = math.exp %2 : tensor<262144xf32>
  %4 = dist.all_reduce <sum> %3 over <{"tp"}> on @mesh : tensor<262144xf32> -> tensor<262144xf32>
  %5 = math.sin %4 : tensor<262144xf32>
  %6 = math.sin %5 : tensor<262144xf32>
  %7 = math.sin %6 : tensor<262144xf32>
  %8 = math.sin %7 : tensor<262144xf32>
  return %8 : tensor<262144xf32>
}
func.func private @step_BW1(
    %g: tensor<262144xf32> {rt.place = #rt.place<gradient 0>},
    %d: tensor<262144xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64})
    -> tensor<262144xf32> attributes {dist.local, rt.task = #rt.task<3 1>} {
  %0 = math.tanh %g : tensor<262144xf32>
  %1 = math.tanh %0 : tensor<262144xf32>
  %2 = math.tanh %1 : tensor<262144xf32>
  %3 = math.tanh %2 : tensor<262144xf32>
  %4 = dist.all_reduce <sum> %3 over <{"tp"}> on @mesh : tensor<262144xf32> -> tensor<262144xf32>
  %5 = math.cos %4 : tensor<262144xf32>
  %6 = math.cos %5 : tensor<262144xf32>
  %7 = math.cos %6 : tensor<262144xf32>
  %8 = math.cos %7 : tensor<262144xf32>
  return %8 : tensor<262144xf32>
}
// CHECK-LABEL: func.func private @step_F0_BW1(
// CHECK: dist.all_reduce
// CHECK-NEXT: math.sin
// CHECK: math.tanh
// CHECK: math.tanh
// CHECK: dist.all_reduce
// CHECK-NEXT: math.cos
func.func @staggered() {
  rt.pipeline paths [[0, 0]] micro_batches 2 list "F0.0|BW1.1 F0.1|BW1.0"
      tasks [@step_F0, @step_BW1] batch() captured() init() : () -> ()
  return
}
