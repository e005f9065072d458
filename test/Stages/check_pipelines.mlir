// RUN: tessera-opt %s --dist-check-pipelines -split-input-file -verify-diagnostics

// Two stages; the second receives the first one's sends.
dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"
func.func @first(%t: tensor<2x4xf32> {dist.number = 0 : i64}) -> (tensor<4xf32> {dist.number = 0 : i64})
    attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "F0.0 sA0.0 F0.1 rG0.0 sA0.1 BW0.0 rG0.1 BW0.1" : (tensor<2x4xf32>) -> tensor<4xf32> {
    dist.task F 0 (%x = batch 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>) {
      dist.task_yield add [0](%g : tensor<4xf32>)
    }
  }
  return %0 : tensor<4xf32>
}
func.func @second() attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "rA0.0 F0.0 BW0.0 sG0.0 rA0.1 F0.1 BW0.1 sG0.1" : () -> () {
    dist.task F 0 (%x = recv 0 : tensor<4xf32>) {
      dist.task_yield keep(%x : tensor<4xf32>)
    }
    dist.task BW 0 (%x = F 0 : tensor<4xf32>) {
      dist.task_yield send(%x : tensor<4xf32>)
    }
  }
  return
}

// -----

// expected-error @+1 {{expects a mesh with a stage axis for a function with dist.pp_rank but got @mesh without one}}
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} { return }
dist.mesh @mesh ["pp"=2, "dp"=2]

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
// expected-error @+1 {{expects a function of one block for each of 2 pp ranks but got none for 1}}
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} { return }

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
// expected-error @+1 {{expects a dist.pp_rank below 2, the size of the stage axis, but got 2}}
func.func @f() attributes {dist.local, dist.pp_rank = 2 : i64, dist.reference = @step} { return }

// -----

dist.mesh @mesh ["pp"=1] stage "pp"
// expected-error @+1 {{expects one dist.pipeline in the body of @f but got 0}}
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} { return }

// -----

dist.mesh @mesh ["pp"=1] stage "pp"
// expected-error @+1 {{expects a dist.number of its own on argument 0 of @f but got}}
func.func @f(%x: tensor<2xf32>) attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  dist.pipeline paths [[0]] micro_batches 1 batch() list "F0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}

// -----

dist.mesh @mesh ["pp"=1] stage "pp"
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  // expected-error @+1 {{expects actions such as F0.3, BW0.3, sA0.3 or F0.3|BW1.2 but got 'X0.0'}}
  dist.pipeline paths [[0]] micro_batches 1 batch() list "F0.0 X0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}

// -----

dist.mesh @mesh ["pp"=1] stage "pp"
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  // expected-error @+1 {{list: }}
  dist.pipeline paths [[0]] micro_batches 1 batch() list "F0.0 F0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}

// -----

dist.mesh @mesh ["pp"=1] stage "pp"
func.func @f() attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  // expected-error @+1 {{pp rank 0: expects a task B 0 to be in its list but it is not}}
  dist.pipeline paths [[0]] micro_batches 1 batch() list "F0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task B 0 () { dist.task_yield }
    dist.task W 0 () { dist.task_yield }
  }
  return
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @first(%x: tensor<4xf32> {dist.number = 0 : i64}) attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "F0.0 sA0.0 rG0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield send(%x : tensor<4xf32>) }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}
func.func @second() attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "rA0.0 F0.0 BW0.0 sG0.0" : () -> () {
    // expected-error @+1 {{stage 1: expects recv 0 of type 'tensor<4xf32>', which the neighbouring stage sends, but got 'tensor<5xf32>'}}
    dist.task F 0 (%x = recv 0 : tensor<5xf32>) { dist.task_yield keep(%x : tensor<5xf32>) }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @first(%x: tensor<4xf32> {dist.number = 0 : i64}) attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "F0.0 sA0.0 rG0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield send(%x : tensor<4xf32>) }
    // expected-error @+1 {{stage 0: expects to receive one of 0 values that the neighbouring stage sends but got recv 0}}
    dist.task BW 0 (%g = recv 0 : tensor<4xf32>) { dist.task_yield }
  }
  return
}
func.func @second() attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "rA0.0 F0.0 BW0.0 sG0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}

// -----

// One rank exchanges before the pipeline, the other one after it.
dist.mesh @mesh ["pp"=2] stage "pp"
func.func @first(%x: tensor<f32> {dist.number = 0 : i64}) attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  // expected-error @+1 {{expects pp ranks to come to the same exchanges in one order, but pp rank 0 waits here for others}}
  %0 = dist.exchange (%x) from [0] among [0, 1] : (tensor<f32>) -> tensor<f32>
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "F0.0 sA0.0 rG0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  return
}
func.func @second() attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "rA0.0 F0.0 BW0.0 sG0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  %0 = dist.exchange () from [0] among [0, 1] : () -> tensor<f32>
  return
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @first(%x: tensor<f32> {dist.number = 0 : i64}) attributes {dist.local, dist.pp_rank = 0 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "F0.0 sA0.0 rG0.0 BW0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  // expected-error @+1 {{pp rank 0: expects 1 operands, as often as 'from' names it, but got 2}}
  %0 = dist.exchange (%x, %x) from [0] among [0, 1] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}
func.func @second() attributes {dist.local, dist.pp_rank = 1 : i64, dist.reference = @step} {
  dist.pipeline paths [[0, 1]] micro_batches 1 batch() list "rA0.0 F0.0 BW0.0 sG0.0" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield }
  }
  %0 = dist.exchange () from [0] among [0, 1] : () -> tensor<f32>
  return
}
