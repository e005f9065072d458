// Attention with a bias, sinks and a softcap, and its gradients, sharded over each of
// their dimensions: a bias is sharded like queries and keys where it differs along
// them. Some of its numbers are the lowest ones, and some rows have no others.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @batch
// CHECK-COUNT-2: yes
func.func @batch(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %b: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %r: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
        tensor<2x6x4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<2x6xf32>
  %half = arith.constant dense<1.0> : tensor<2x6xf32>
  %rows = nn.broadcast %r dims [0] : tensor<2xf32> -> tensor<2x6xf32>
  %large = arith.maximumf %b, %rows : tensor<2x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<2x6xf32>
  %bias = arith.select %is, %low, %b : tensor<2x6xi1>, tensor<2x6xf32>
  %o, %l = nn.attention scale 0.5 %q, %k, %v bias %bias dims [0, 4] : tensor<2x6xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  return %o, %l : tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
}

// Three sequences on four ranks.
// CHECK-LABEL: @batch_of_one_row
// CHECK-COUNT-3: yes
func.func @batch_of_one_row(
    %q: tensor<3x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}, {}]>},
    %k: tensor<3x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>},
    %v: tensor<3x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>},
    %b: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %r: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %d: tensor<3x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}, {}]>})
    -> (tensor<3x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}, {}]>},
        tensor<3x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>},
        tensor<3x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<6xf32>
  %half = arith.constant dense<1.0> : tensor<6xf32>
  %rows = nn.broadcast %r dims [] : tensor<f32> -> tensor<6xf32>
  %large = arith.maximumf %b, %rows : tensor<6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<6xf32>
  %bias = arith.select %is, %low, %b : tensor<6xi1>, tensor<6xf32>
  %o, %l = nn.attention scale 0.5 softcap 2.0 %q, %k, %v bias %bias dims [4] : tensor<6xf32> sinks %s : tensor<4x2xf32> : tensor<3x6x4x2x4xf32>, tensor<3x6x4x4xf32>, tensor<3x6x4x3xf32> -> tensor<3x6x4x2x3xf32> stats tensor<3x6x4x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward scale 0.5 softcap 2.0 %d, %q, %k, %v, %o, %l bias %bias dims [4] : tensor<6xf32> : tensor<3x6x4x2x4xf32>, tensor<3x6x4x4xf32>, tensor<3x6x4x3xf32>, tensor<3x6x4x2x3xf32>, tensor<3x6x4x2x2xf32>
  return %dq, %dk, %dv : tensor<3x6x4x2x4xf32>, tensor<3x6x4x4xf32>, tensor<3x6x4x3xf32>
}

// Six queries on four ranks.
// CHECK-LABEL: @queries
// CHECK-COUNT-2: yes
func.func @queries(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %b: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %r: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
        tensor<2x6x4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<6x6xf32>
  %half = arith.constant dense<1.0> : tensor<6x6xf32>
  %rows = nn.broadcast %r dims [0] : tensor<6xf32> -> tensor<6x6xf32>
  %large = arith.maximumf %b, %rows : tensor<6x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<6x6xf32>
  %bias = arith.select %is, %low, %b : tensor<6x6xi1>, tensor<6x6xf32>
  %o, %l = nn.attention causal scale 0.5 %q, %k, %v bias %bias dims [1, 4] : tensor<6x6xf32> sinks %s : tensor<4x2xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  return %o, %l : tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
}

// Six keys on four ranks; the lowest number in whole rows.
// CHECK-LABEL: @keys
// CHECK-COUNT-2: yes
func.func @keys(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %b: tensor<2x6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>},
    %r: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
        tensor<2x6x4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<2x6x6xf32>
  %half = arith.constant dense<1.0> : tensor<2x6x6xf32>
  %rows = nn.broadcast %r dims [0, 1] : tensor<2x6xf32> -> tensor<2x6x6xf32>
  %large = arith.maximumf %b, %rows : tensor<2x6x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<2x6x6xf32>
  %bias = arith.select %is, %low, %b : tensor<2x6x6xi1>, tensor<2x6x6xf32>
  %o, %l = nn.attention scale 0.5 %q, %k, %v bias %bias dims [0, 1, 4] : tensor<2x6x6xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  return %o, %l : tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
}

// CHECK-LABEL: @keys_of_one_row
// CHECK-COUNT-3: yes
func.func @keys_of_one_row(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %k: tensor<2x7x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<2x7x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %b: tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %r: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %d: tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>})
    -> (tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
        tensor<2x7x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<2x7x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<7xf32>
  %half = arith.constant dense<1.0> : tensor<7xf32>
  %rows = nn.broadcast %r dims [] : tensor<f32> -> tensor<7xf32>
  %large = arith.maximumf %b, %rows : tensor<7xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<7xf32>
  %bias = arith.select %is, %low, %b : tensor<7xi1>, tensor<7xf32>
  %o, %l = nn.attention scale 0.5 %q, %k, %v bias %bias dims [4] : tensor<7xf32> sinks %s : tensor<4x2xf32> : tensor<2x6x4x2x4xf32>, tensor<2x7x4x4xf32>, tensor<2x7x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward scale 0.5 %d, %q, %k, %v, %o, %l bias %bias dims [4] : tensor<7xf32> : tensor<2x6x4x2x4xf32>, tensor<2x7x4x4xf32>, tensor<2x7x4x3xf32>, tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
  return %dq, %dk, %dv : tensor<2x6x4x2x4xf32>, tensor<2x7x4x4xf32>, tensor<2x7x4x3xf32>
}

// CHECK-LABEL: @heads
// CHECK-COUNT-2: yes
func.func @heads(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %b: tensor<4x2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}, {}]>},
    %r: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
        tensor<2x6x4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<4x2x6xf32>
  %half = arith.constant dense<1.0> : tensor<4x2x6xf32>
  %rows = nn.broadcast %r dims [0, 1] : tensor<4x2xf32> -> tensor<4x2x6xf32>
  %large = arith.maximumf %b, %rows : tensor<4x2x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<4x2x6xf32>
  %bias = arith.select %is, %low, %b : tensor<4x2x6xi1>, tensor<4x2x6xf32>
  %o, %l = nn.attention causal scale 0.5 softcap 3.0 %q, %k, %v bias %bias dims [2, 3, 4] : tensor<4x2x6xf32> sinks %s : tensor<4x2xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  return %o, %l : tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
}

// Three groups on four ranks.
// CHECK-LABEL: @uneven_groups
// CHECK-COUNT-3: yes
func.func @uneven_groups(
    %q: tensor<2x6x3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
    %k: tensor<2x6x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x6x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %b: tensor<3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %r: tensor<3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %s: tensor<3x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %d: tensor<2x6x3x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>})
    -> (tensor<2x6x3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
        tensor<2x6x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
        tensor<2x6x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<3x6xf32>
  %half = arith.constant dense<1.0> : tensor<3x6xf32>
  %rows = nn.broadcast %r dims [0] : tensor<3xf32> -> tensor<3x6xf32>
  %large = arith.maximumf %b, %rows : tensor<3x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<3x6xf32>
  %bias = arith.select %is, %low, %b : tensor<3x6xi1>, tensor<3x6xf32>
  %o, %l = nn.attention scale 0.5 %q, %k, %v bias %bias dims [2, 4] : tensor<3x6xf32> sinks %s : tensor<3x2xf32> : tensor<2x6x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x3xf32> -> tensor<2x6x3x2x3xf32> stats tensor<2x6x3x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward scale 0.5 %d, %q, %k, %v, %o, %l bias %bias dims [2, 4] : tensor<3x6xf32> : tensor<2x6x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x3xf32>, tensor<2x6x3x2x3xf32>, tensor<2x6x3x2x2xf32>
  return %dq, %dk, %dv : tensor<2x6x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x3xf32>
}

// CHECK-LABEL: @sequence
// CHECK-COUNT-3: yes
func.func @sequence(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %b: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %r: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %d: tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>})
    -> (tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
        tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
        tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<6x6xf32>
  %half = arith.constant dense<1.0> : tensor<6x6xf32>
  %rows = nn.broadcast %r dims [0] : tensor<6xf32> -> tensor<6x6xf32>
  %large = arith.maximumf %b, %rows : tensor<6x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<6x6xf32>
  %bias = arith.select %is, %low, %b : tensor<6x6xi1>, tensor<6x6xf32>
  %o, %l = nn.attention causal scale 0.5 softcap 2.0 %q, %k, %v bias %bias dims [1, 4] : tensor<6x6xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 softcap 2.0 %d, %q, %k, %v, %o, %l bias %bias dims [1, 4] : tensor<6x6xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>, tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
  return %dq, %dk, %dv : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>
}

// CHECK-LABEL: @all
// CHECK-COUNT-3: yes
func.func @all(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>},
    %b: tensor<2x6x4x2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>},
    %r: tensor<2x6x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %d: tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>})
    -> (tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>},
        tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>},
        tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<2x6x4x2x6xf32>
  %half = arith.constant dense<1.0> : tensor<2x6x4x2x6xf32>
  %rows = nn.broadcast %r dims [0, 1, 2, 3] : tensor<2x6x4x2xf32> -> tensor<2x6x4x2x6xf32>
  %large = arith.maximumf %b, %rows : tensor<2x6x4x2x6xf32>
  %is = arith.cmpf ogt, %large, %half : tensor<2x6x4x2x6xf32>
  %bias = arith.select %is, %low, %b : tensor<2x6x4x2x6xi1>, tensor<2x6x4x2x6xf32>
  %o, %l = nn.attention scale 0.5 softcap 4.0 %q, %k, %v bias %bias dims [0, 1, 2, 3, 4] : tensor<2x6x4x2x6xf32> sinks %s : tensor<4x2xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward scale 0.5 softcap 4.0 %d, %q, %k, %v, %o, %l bias %bias dims [0, 1, 2, 3, 4] : tensor<2x6x4x2x6xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>, tensor<2x6x4x2x3xf32>, tensor<2x6x4x2x2xf32>
  return %dq, %dk, %dv : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>
}

// CHECK-LABEL: @sinks_alone
// CHECK-COUNT-3: yes
func.func @sinks_alone(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {"y"}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %s: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %d: tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {"y"}, {}, {}]>})
    -> (tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {"y"}, {}, {}]>},
        tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
        tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %o, %l = nn.attention causal scale 0.5 %q, %k, %v sinks %s : tensor<4x2xf32> : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2xf32>
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 %d, %q, %k, %v, %o, %l : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>, tensor<2x6x4x2x3xf32>, tensor<2x6x4x2xf32>
  return %dq, %dk, %dv : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>
}

// CHECK-LABEL: @softcap_alone
// CHECK-COUNT-3: yes
func.func @softcap_alone(
    %q: tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>},
    %d: tensor<2x6x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>})
    -> (tensor<2x6x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
        tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>},
        tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) {
  %o, %l = nn.attention scale 0.5 softcap 1.0 %q, %k, %v : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x6x4x2x3xf32> stats tensor<2x6x4x2xf32>
  %dq, %dk, %dv = nn.attention_backward scale 0.5 softcap 1.0 %d, %q, %k, %v, %o, %l : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>, tensor<2x6x4x2x3xf32>, tensor<2x6x4x2xf32>
  return %dq, %dk, %dv : tensor<2x6x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32>
}
