// RUN: tessera-opt %s --rt-plan-pipeline -split-input-file -verify-diagnostics

// A list entry without a function.
func.func private @step_F0() attributes {rt.task = #rt.task<0 0>} {
  return
}
func.func @step(%t: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{'rt.pipeline' op expects task functions for BW0.0 of its list}}
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0 BW0.0"
      tasks [@step_F0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}

// -----

// expected-error @+1 {{expects one of 1 chunks but got 7}}
func.func private @step_F0() attributes {rt.task = #rt.task<0 7>} {
  return
}
func.func @step(%t: tensor<16xf32>) -> tensor<16xf32> {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0"
      tasks [@step_F0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}

// -----

// An argument of a BW that the function does not run.
// expected-error @+1 {{argument 0: expects a function with rt.beside}}
func.func private @step_F0(%k: tensor<16xf32> {rt.beside, rt.place = #rt.place<captured 0>})
    attributes {rt.task = #rt.task<0 0>} {
  return
}
func.func @step(%t: tensor<16xf32>) -> tensor<16xf32> {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0"
      tasks [@step_F0] batch() captured(%t) init() : (tensor<16xf32>) -> ()
  return %t : tensor<16xf32>
}

// -----

// No task keeps value 1 for the backward.
func.func private @step_F0(%k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<0 0>} {
  %0 = tensor.empty() : tensor<16xf32>
  return %0 : tensor<16xf32>
}
// expected-error @+1 {{argument 0: expects a place that a task writes but got #rt.place<f_to_b 1>}}
func.func private @step_BW0(%k: tensor<16xf32> {rt.place = #rt.place<f_to_b 1>}) attributes {rt.task = #rt.task<3 0>} {
  return
}
func.func @step(%t: tensor<16xf32>) -> tensor<16xf32> {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0 BW0.0"
      tasks [@step_F0, @step_BW0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}

// -----

// The only value that F writes has a large index; nothing is allocated for it.
func.func private @step_F0(%k: tensor<16xf32> {rt.place = #rt.place<f_to_b 4294967296>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<0 0>} {
  %0 = tensor.empty() : tensor<16xf32>
  return %0 : tensor<16xf32>
}
// expected-error @+1 {{argument 0: expects a place that a task writes but got #rt.place<f_to_b 0>}}
func.func private @step_BW0(%k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>}) attributes {rt.task = #rt.task<3 0>} {
  return
}
func.func @step(%t: tensor<16xf32>) -> tensor<16xf32> {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0 BW0.0"
      tasks [@step_F0, @step_BW0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}
