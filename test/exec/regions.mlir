// Ops with regions: loops and branches run whole on every device and may use
// outside values; tensor.pad, tensor.generate and linalg.softmax are sharded.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=3]

// CHECK-LABEL: @while
// CHECK: yes
// CHECK: all_gather
// CHECK: partition proven
func.func @while(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.while (%x = %a, %i = %c0) : (tensor<4x8xf32>, index) -> (tensor<4x8xf32>, index) {
    %c = arith.cmpi slt, %i, %c4 : index
    scf.condition(%c) %x, %i : tensor<4x8xf32>, index
  } do {
  ^bb0(%x: tensor<4x8xf32>, %i: index):
    %y = math.tanh %x : tensor<4x8xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %y, %j : tensor<4x8xf32>, index
  }
  return %r#0 : tensor<4x8xf32>
}

// Tensors from outside of a loop and of a branch within it; their results are
// sharded again.
// CHECK-LABEL: @captured
// CHECK: yes
// CHECK: partition proven
func.func @captured(%a: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
                    %b: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = arith.mulf %a, %a : tensor<6x4xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %0) -> tensor<6x4xf32> {
    %odd = arith.cmpi eq, %i, %c1 : index
    %1 = scf.if %odd -> tensor<6x4xf32> {
      %2 = arith.addf %x, %b : tensor<6x4xf32>
      scf.yield %2 : tensor<6x4xf32>
    } else {
      %2 = arith.mulf %x, %0 : tensor<6x4xf32>
      scf.yield %2 : tensor<6x4xf32>
    }
    scf.yield %1 : tensor<6x4xf32>
  }
  %s = arith.addf %r, %0 : tensor<6x4xf32>
  return %s : tensor<6x4xf32>
}

// A partial value that a branch uses is reduced before it; a call in it is
// inlined, and a constraint there has no effect.
// CHECK-LABEL: @partial
// CHECK: yes
// CHECK: partition proven
func.func private @half(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x6xf32> {
  %h = arith.constant dense<0.5> : tensor<4x6xf32>
  %0 = arith.mulf %x, %h : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func @partial(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                   %w: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %c: i1) -> tensor<4x6xf32> {
  %0 = nn.einsum "ij,jk->ik" %a, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %1 = scf.if %c -> tensor<4x6xf32> {
    %2 = func.call @half(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = dist.constraint %2 <@mesh, [{"x"}, {}]> : tensor<4x6xf32>
    scf.yield %3 : tensor<4x6xf32>
  } else {
    scf.yield %0 : tensor<4x6xf32>
  }
  return %1 : tensor<4x6xf32>
}

// A scalar of a branch, and one that is extracted from a tensor.
// CHECK-LABEL: @scalars
// CHECK: yes
// CHECK: partition proven
func.func @scalars(%a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, %s: f32) -> tensor<6x8xf32> {
  %c1 = arith.constant 1 : index
  %v = tensor.extract %a[%c1, %c1] : tensor<6x8xf32>
  %big = arith.cmpf ogt, %v, %s : f32
  %f = scf.if %big -> f32 {
    %0 = tensor.extract %a[%c1, %c1] : tensor<6x8xf32>
    scf.yield %0 : f32
  } else {
    %0 = arith.mulf %s, %v : f32
    scf.yield %0 : f32
  }
  %b = tensor.splat %f : tensor<6x8xf32>
  %r = arith.mulf %a, %b : tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// Scalars alone.
// CHECK-LABEL: @fill
// CHECK: yes
// CHECK: no collectives
// CHECK: partition proven
func.func @fill(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %s: f32, %n: index) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %h = arith.mulf %s, %s : f32
  %t = math.tanh %h : f32
  %m = arith.addi %n, %n : index
  %i = arith.index_cast %m : index to i32
  %f = arith.sitofp %i : i32 to f32
  %u = arith.addf %t, %f : f32
  %e = tensor.empty() : tensor<4xf32>
  %b = linalg.fill ins(%u : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = arith.mulf %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The dimension that is not padded stays sharded.
// CHECK-LABEL: @pad
// CHECK: yes
// CHECK-NEXT: no collectives
// CHECK: partition proven
func.func @pad(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %z = arith.constant 0.25 : f32
  %r = tensor.pad %a low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x8xf32> to tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// The padded one is gathered; the padding value depends on positions of the
// other, which is uneven.
// CHECK-LABEL: @pad_positions
// CHECK: yes
// CHECK: partition proven
func.func @pad_positions(%a: tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %r = tensor.pad %a low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    %n = arith.index_cast %j : index to i32
    %v = arith.sitofp %n : i32 to f32
    tensor.yield %v : f32
  } : tensor<4x7xf32> to tensor<6x7xf32>
  return %r : tensor<6x7xf32>
}

// A sum passes a pad with zeros, but no other pad.
// CHECK-LABEL: @pad_partial
// CHECK: yes
// CHECK: partition proven
func.func @pad_partial(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6xf32>, tensor<6xf32>) {
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s = nn.reduce <sum> %a dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %0 = tensor.pad %s low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<4xf32> to tensor<6xf32>
  %1 = tensor.pad %s low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<6xf32>
}

// Each device generates its own shard.
// CHECK-LABEL: @generate
// CHECK: yes
// CHECK-NEXT: no collectives
// CHECK: partition proven
func.func @generate(%a: tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %k = arith.muli %i, %j : index
    %n = arith.index_cast %k : index to i32
    %v = arith.sitofp %n : i32 to f32
    tensor.yield %v : f32
  } : tensor<4x7xf32>
  %r = arith.mulf %a, %0 : tensor<4x7xf32>
  return %r : tensor<4x7xf32>
}

// A region may read any element of a tensor.
// CHECK-LABEL: @generate_captured
// CHECK: yes
// CHECK: all_gather
// CHECK: partition proven
func.func @generate_captured(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %r = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %a[%j, %i] : tensor<4x8xf32>
    tensor.yield %v : f32
  } : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A lookup in the body of a generic: the ids are sharded, the table is whole.
// CHECK-LABEL: @lookup
// CHECK: yes
// CHECK: all_gather
// CHECK: partition proven
func.func @lookup(%t: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
                  %x: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %c15 = arith.constant 15 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : tensor<16xf32>) {
  ^bb0(%a: f32):
    %i = linalg.index 0 : index
    %k = arith.subi %c15, %i : index
    %v = tensor.extract %t[%k] : tensor<16xf32>
    %s = arith.addf %v, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// CHECK-LABEL: @softmax
// CHECK: yes
// CHECK: all_reduce
// CHECK: partition proven
func.func @softmax(%a: tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %e = tensor.empty() : tensor<4x7xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  return %r : tensor<4x7xf32>
}

// CHECK-LABEL: @softmax_rows
// CHECK: yes
// CHECK-NEXT: no collectives
// CHECK: partition proven
func.func @softmax_rows(%a: tensor<5x8xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<5x8xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %e = tensor.empty() : tensor<5x8xbf16>
  %r = linalg.softmax dimension(1) ins(%a : tensor<5x8xbf16>) outs(%e : tensor<5x8xbf16>) -> tensor<5x8xbf16>
  return %r : tensor<5x8xbf16>
}

// No rule: replicated.
// CHECK-LABEL: @pack
// CHECK: yes
// CHECK: all_gather
// CHECK: partition proven
func.func @pack(%a: tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x7xf32> {
  %z = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x2x2x2xf32>
  %p = linalg.pack %a padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2]
      into %e : tensor<4x7xf32> -> tensor<4x2x2x2xf32>
  %d = tensor.empty() : tensor<4x7xf32>
  %r = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2]
      into %d : tensor<4x2x2x2xf32> -> tensor<4x7xf32>
  %s = arith.addf %r, %a : tensor<4x7xf32>
  return %s : tensor<4x7xf32>
}

// A branch on another one's result, and the same with one value less.
// CHECK-LABEL: @branches_in_a_row
// CHECK: yes
// CHECK: partition proven
func.func @branches_in_a_row(%a: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: i1) -> tensor<6xi32> {
  %0 = scf.if %c -> tensor<6xi32> {
    %one = arith.constant dense<1> : tensor<6xi32>
    scf.yield %one : tensor<6xi32>
  } else {
    scf.yield %a : tensor<6xi32>
  }
  %1 = scf.if %c -> tensor<6xi32> {
    scf.yield %a : tensor<6xi32>
  } else {
    scf.yield %0 : tensor<6xi32>
  }
  %2, %3 = scf.if %c -> (tensor<6xi32>, tensor<6xi32>) {
    scf.yield %a, %1 : tensor<6xi32>, tensor<6xi32>
  } else {
    scf.yield %0, %1 : tensor<6xi32>, tensor<6xi32>
  }
  return %3 : tensor<6xi32>
}
