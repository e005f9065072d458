// RUN: tessera-opt %s --dist-check-pipelines -split-input-file -verify-diagnostics
// A run time of any number.
// RUN: sed 's/dist.number = [0-9]*/dist.number = 9223372036854775807/' %s | not tessera-opt --split-input-file --dist-check-pipelines -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGEST
// LARGEST: error: expects argument 9223372036854775807 of the program to have type

// Both pp ranks have the scalar result. If their computations are equal, it is
// proven once.

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @step(%t: tensor<2x4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = dist.accumulate 2 (%t) : (tensor<2x4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.yield %x : tensor<4xf32>
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
func.func @step_0(%t: tensor<2x4xf32> {dist.number = 0 : i64}, %s: tensor<f32> {dist.number = 1 : i64})
    -> (tensor<4xf32> {dist.number = 0 : i64}, tensor<f32> {dist.number = 1 : i64})
    attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "F0.0 sA0.0 F0.1 rG0.0 sA0.1 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> tensor<4xf32> {
    dist.task F 0 (%x = batch 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>) {
      dist.task_yield add [0](%g : tensor<4xf32>)
    }
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
func.func @step_1(%s: tensor<f32> {dist.number = 1 : i64}) -> (tensor<f32> {dist.number = 1 : i64})
    attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "rA0.0 F0.0 BW0.0 sG0.0 rA0.1 F0.1 BW0.1 sG0.1" : () -> () {
    dist.task F 0 (%x = recv 0 : tensor<4xf32>) {
      dist.task_yield keep(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%x = F 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The second pp rank computes it differently.

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @step(%t: tensor<2x4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = dist.accumulate 2 (%t) : (tensor<2x4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.yield %x : tensor<4xf32>
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
func.func @step_0(%t: tensor<2x4xf32> {dist.number = 0 : i64}, %s: tensor<f32> {dist.number = 1 : i64})
    -> (tensor<4xf32> {dist.number = 0 : i64}, tensor<f32> {dist.number = 1 : i64})
    attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "F0.0 sA0.0 F0.1 rG0.0 sA0.1 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> tensor<4xf32> {
    dist.task F 0 (%x = batch 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>) {
      dist.task_yield add [0](%g : tensor<4xf32>)
    }
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
func.func @step_1(%s: tensor<f32> {dist.number = 1 : i64}) -> (tensor<f32> {dist.number = 1 : i64})
    attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "rA0.0 F0.0 BW0.0 sG0.0 rA0.1 F0.1 BW0.1 sG0.1" : () -> () {
    dist.task F 0 (%x = recv 0 : tensor<4xf32>) {
      dist.task_yield keep(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%x = F 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
  }
  // expected-error @+1 {{not provable: arith.mulf: the reference has no such op on these values}}
  %1 = arith.mulf %s, %s : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The pp ranks declare it differently.

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @step(%t: tensor<2x4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = dist.accumulate 2 (%t) : (tensor<2x4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.yield %x : tensor<4xf32>
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
func.func @step_0(%t: tensor<2x4xf32> {dist.number = 0 : i64}, %s: tensor<f32> {dist.number = 1 : i64})
    -> (tensor<4xf32> {dist.number = 0 : i64}, tensor<f32> {dist.number = 1 : i64})
    attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "F0.0 sA0.0 F0.1 rG0.0 sA0.1 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> tensor<4xf32> {
    dist.task F 0 (%x = batch 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>) {
      dist.task_yield add [0](%g : tensor<4xf32>)
    }
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
// expected-error @+1 {{result 0 of pp rank 1: expects the sharding and the donation that it has on pp rank 0}}
func.func @step_1(%s: tensor<f32> {dist.number = 1 : i64}) -> (tensor<f32> {dist.number = 1 : i64, dist.sharding = #dist.sharding<@mesh, []>})
    attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "rA0.0 F0.0 BW0.0 sG0.0 rA0.1 F0.1 BW0.1 sG0.1" : () -> () {
    dist.task F 0 (%x = recv 0 : tensor<4xf32>) {
      dist.task_yield keep(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%x = F 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
  }
  %1 = arith.addf %s, %s : tensor<f32>
  return %1 : tensor<f32>
}
