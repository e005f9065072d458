// Refuted programs, with the op, and programs that are not decided.
// RUN: tessera-opt %s --dist-verify-partition --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// A reduction is missing.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @missing(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{verify-partition: deviates: func.return: result 0 is to be reduced over {"x"} but its sharding says {}}}
  return %0 : tensor<4xf32>
}

// -----

// The reduction occurs twice.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @doubled(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"x"}: it would be reduced once more}}
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Over other axes of the same size.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @other_axes(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"y"}, only over {"x"}: it would be reduced once more}}
  %1 = dist.all_reduce <sum> %0 over <{"y"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A reduction of another kind.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @max(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <max> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @other_kind(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @max} {
  %0 = nn.reduce <max> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: dist.all_reduce: the value is to be reduced by max, not by sum}}
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A sum moves past an op that is not linear; the note has the reference's op.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp_of_sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  // expected-note @below {{the reference computes it here}}
  %1 = math.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @late(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @exp_of_sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: math.exp: operand 0 is still to be reduced over {"x"} by sum, which the op does not commute with on these operands}}
  %1 = math.exp %0 : tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A whole value is added to a partial one.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @residual(%x: tensor<8x4xf32>, %r: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  // expected-note @below {{the reference computes it here}}
  %1 = arith.addf %0, %r : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @added_on_each(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %r: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @residual} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: arith.addf: operand 0 is still to be reduced over {"x"} by sum}}
  %1 = arith.addf %0, %r : tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// The blocks of two operands differ.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @add(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = arith.addf %a, %b : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func @other_blocks(%a: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {dist.local, dist.reference = @add} {
  // expected-error @below {{deviates: arith.addf: operand 1 does not fit operand 0: in dimension 0 device 1 holds block 1 of 2 but needs block 0}}
  %0 = arith.addf %a, %b : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Both dimensions of a product are sharded over one axis.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @matmul(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>) -> tensor<8x8xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @diagonal(%a: tensor<4x2xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %b: tensor<2x4xf32> {dist.global_shape = array<i64: 4, 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x8xf32> {dist.global_shape = array<i64: 8, 8>, dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) attributes {dist.local, dist.reference = @matmul} {
  %0 = dist.all_gather %b dim 1 over <{"y"}> on @mesh : tensor<2x4xf32> -> tensor<2x8xf32>
  %1 = dist.collective_permute %0 targets [0, 2, 1, 3] over <{"x", "y"}> on @mesh : tensor<2x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{deviates: nn.einsum: operand 1 does not fit operand 0}}
  %2 = nn.einsum "ik,kj->ij" %a, %1 : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  %3 = dist.all_reduce <sum> %2 over <{"x"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Gathered in the wrong order of axes.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @id(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %x : tensor<8x4xf32>
}
func.func @order(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @id} {
  // expected-error @below {{deviates: dist.all_gather: the value has other blocks of dimension 0 in the groups along {"y", "x"} than consecutive ones in order}}
  %0 = dist.all_gather %x dim 0 over <{"y", "x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A slice of a value that is partial over the same axis.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @slice_of_partial(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: dist.all_slice: the value is still to be reduced over {"x"}, but its parts are cut differently over {"x"}}}
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// A permute to wrong devices is found at the use of its value.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @id(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %x : tensor<8x4xf32>
}
func.func @permute(%x: tensor<4x2xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x2xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) attributes {dist.local, dist.reference = @id} {
  %0 = dist.collective_permute %x targets [0, 3, 1, 2] over <{"x", "y"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  // expected-error @below {{deviates: func.return: result 0, dimension 0: device 2 holds block 1 of 2 but needs block 0}}
  return %0 : tensor<4x2xf32>
}

// -----

// Every device looks up rows from the first one.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @lookup(%t: tensor<64x4xf32>, %ids: tensor<2x8xi32>) -> tensor<2x8x4xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = nn.embedding %t, %ids : tensor<64x4xf32>, tensor<2x8xi32> -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}
func.func @no_offset(%t: tensor<32x4xf32> {dist.global_shape = array<i64: 64, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %ids: tensor<2x8xi32> {dist.global_shape = array<i64: 2, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x8x4xf32> {dist.global_shape = array<i64: 2, 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>}) attributes {dist.local, dist.reference = @lookup} {
  // expected-error @below {{deviates: nn.embedding: the op counts positions from 0, but the devices hold different blocks of the dimension}}
  %0 = nn.embedding %t, %ids : tensor<32x4xf32>, tensor<2x8xi32> -> tensor<2x8x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<2x8x4xf32> -> tensor<2x8x4xf32>
  return %1 : tensor<2x8x4xf32>
}

// -----

// The offset is for other axes.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @rope(%q: tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = nn.rope %q dim 1 theta 1.0e4 : tensor<2x16x4x8xf32>
  return %0 : tensor<2x16x4x8xf32>
}
func.func @other_offset(%q: tensor<2x8x4x8xf32> {dist.global_shape = array<i64: 2, 16, 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<2x8x4x8xf32> {dist.global_shape = array<i64: 2, 16, 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) attributes {dist.local, dist.reference = @rope} {
  %o = dist.axis_offset <{"x"}> size 8 on @mesh : index
  // expected-error @below {{deviates: nn.rope: device 1 counts from position 0 but its block begins at 8}}
  %0 = nn.rope %q dim 1 theta 1.0e4 offset %o : tensor<2x8x4x8xf32>
  return %0 : tensor<2x8x4x8xf32>
}

// -----

// exp(0) is in the padding that is summed.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @rows(%x: tensor<7x4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<7x4xf32>
  // expected-note @below {{the reference computes it here}}
  %1 = nn.reduce <sum> %0 dims [0] : tensor<7x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @no_mask(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 7, 4>, dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @rows} {
  %0 = math.exp %x : tensor<2x4xf32>
  // expected-error @below {{deviates: nn.reduce: operand 0 is reduced with its padding, 8 elements for 7, which is not known to be neutral in a sum}}
  %1 = nn.reduce <sum> %0 dims [0] : tensor<2x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"x", "y"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// The mask removes a true row.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @rows(%x: tensor<7x4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<7x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<7x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @mask(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 7, 4>, dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @rows} {
  %o = dist.axis_offset <{"x", "y"}> size 2 on @mesh : index
  %0 = math.exp %x : tensor<2x4xf32>
  // expected-error @below {{deviates: nn.mask_padding: it masks from element 6 on but the true size is 7}}
  %1 = nn.mask_padding %0 dim 0 size 6 value 0.0 : f32 offset %o : tensor<2x4xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<2x4xf32> -> tensor<4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"x", "y"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// The init of a reduction is added on each device.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @init(%x: tensor<16x4xf32>, %i: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the reference computes it here}}
  %r = linalg.reduce { arith.addf } ins(%x : tensor<16x4xf32>) outs(%i : tensor<4xf32>) dimensions = [0]
  return %r : tensor<4xf32>
}
func.func @init_twice(%x: tensor<8x4xf32> {dist.global_shape = array<i64: 16, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @init} {
  // expected-error @below {{deviates: linalg.reduce: operand 1, which the reduction starts with, would count once on each device along {"x"}}}
  %1 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%i : tensor<4xf32>) dimensions = [0]
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// The divisor of a mean is the number of a device's rows.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @mean(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<0.125> : tensor<4xf32>
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = arith.mulf %0, %c : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @local_mean(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @mean} {
  %c = arith.constant dense<0.25> : tensor<4xf32>
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: arith.mulf: operand 1 is a constant that the reference does not use so}}
  %1 = arith.mulf %0, %c : tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// An op with an internal reduction on a shard of the reduced dimension.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = nn.softmax %x dim 1 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func @softmax_of_part(%x: tensor<8x8xf32> {dist.global_shape = array<i64: 8, 16>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x8xf32> {dist.global_shape = array<i64: 8, 16>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) attributes {dist.local, dist.reference = @softmax} {
  // expected-error @below {{deviates: nn.softmax: dimension 1 of operand 0 is needed whole but is cut into 2 blocks}}
  %0 = nn.softmax %x dim 1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// A flat dimension is split where its factors are not.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @split(%x: tensor<24xf32>) -> tensor<3x8xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [3, 8] : tensor<24xf32> into tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
func.func @split_across(%x: tensor<12xf32> {dist.global_shape = array<i64: 24>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<3x4xf32> {dist.global_shape = array<i64: 3, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) attributes {dist.local, dist.reference = @split} {
  // expected-error @below {{deviates: tensor.expand_shape: dimension 0 of operand 0 is cut across the parts that it is made of}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Micro-batches: the sum of maxima is not a maximum of sums.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @batches(%x: tensor<2x8x4xf32>) -> tensor<4xf32> {
  %0 = dist.accumulate 2 (%x) : (tensor<2x8x4xf32>) -> tensor<4xf32> {
  ^bb0(%part: tensor<8x4xf32>):
    %1 = nn.reduce <max> %part dims [0] : tensor<8x4xf32> -> tensor<4xf32>
    dist.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
func.func @sum_of_maxima(%x: tensor<2x4x4xf32> {dist.global_shape = array<i64: 2, 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @batches} {
  %0 = dist.accumulate 2 (%x) : (tensor<2x4x4xf32>) -> tensor<4xf32> {
  ^bb0(%part: tensor<4x4xf32>):
    %1 = nn.reduce <max> %part dims [0] : tensor<4x4xf32> -> tensor<4xf32>
    // expected-error @below {{deviates: dist.yield: operand 0 is still to be reduced, which does not commute with a sum over micro-batches}}
    dist.yield %1 : tensor<4xf32>
  }
  %2 = dist.all_reduce <max> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Equal by algebra, but not op by op.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %0 = arith.mulf %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @sum_of_two(%x: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @twice} {
  // expected-error @below {{not provable: arith.addf: the reference has no such op on these values}}
  %0 = arith.addf %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// expected-error @below {{expects dist.reference to name a function on global types but got @nowhere}}
func.func @no_reference(%x: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @nowhere} {
  return %x : tensor<8xf32>
}

// -----

// A result that is donated an argument must have zeros in its padding, too.
dist.mesh @mesh ["x"=2]
func.func @step(%w: tensor<7xf32> {dist.donate = 0 : i64}) -> tensor<7xf32> {
  %0 = math.exp %w : tensor<7xf32>
  return %0 : tensor<7xf32>
}
func.func @padding_of_state(%w: tensor<4xf32> {dist.donate = 0 : i64, dist.global_shape = array<i64: 7>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 7>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @step} {
  %0 = math.exp %w : tensor<4xf32>
  // expected-error @below {{deviates: func.return: result 0, which takes the place of argument 0, is not known to have zeros in the padding of dimension 0}}
  return %0 : tensor<4xf32>
}

// -----

// Partial over the axes of the micro-batches' own reduction, and reduced both
// in it and after it.
dist.mesh @mesh ["x"=2]
func.func @batches(%x: tensor<2x8x4xf32>) -> tensor<4xf32> {
  %0 = dist.accumulate 2 (%x) : (tensor<2x8x4xf32>) -> tensor<4xf32> {
  ^bb0(%part: tensor<8x4xf32>):
    %1 = nn.reduce <sum> %part dims [0] : tensor<8x4xf32> -> tensor<4xf32>
    dist.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
func.func @reduced_in_and_after(%x: tensor<2x4x4xf32> {dist.global_shape = array<i64: 2, 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @batches} {
  %0 = dist.accumulate 2 (%x) : (tensor<2x4x4xf32>) -> tensor<4xf32> {
  ^bb0(%part: tensor<4x4xf32>):
    %1 = nn.reduce <sum> %part dims [0] : tensor<4x4xf32> -> tensor<4xf32>
    %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  }
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"x"}}}
  %2 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Each member of a bucket is checked separately: one of them is whole already.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sums(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %y dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @in_bucket(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                     %y: tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sums} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %y dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %r:2 = dist.bucket (%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %2 = dist.all_reduce <sum> %c over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"x"}: it would be reduced once more}}
    %3 = dist.all_reduce <sum> %d over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The results of two members are exchanged.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sums(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note @below {{the reference computes it here}}
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %y dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @exchanged(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                     %y: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sums} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %y dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %r:2 = dist.bucket (%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %2 = dist.all_reduce <sum> %c over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    %3 = dist.all_reduce <sum> %d over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  // expected-error @below {{deviates: func.return: result 0 is another value than in the reference}}
  return %r#1, %r#0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A slice of a dimension is not equal along it: its blocks are at the wrong
// devices here.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @cut_out(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func @swapped(%x: tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {dist.local, dist.reference = @cut_out} {
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<2x4xf32>
  %2 = dist.collective_permute %1 targets [1, 0] over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<2x4xf32>
  // expected-error @below {{deviates: func.return: result 0}}
  return %2 : tensor<2x4xf32>
}

// -----

// An op on one value instead of the other: the reference's only such op is on
// the sum.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @logarithm(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = arith.mulf %x, %y : tensor<8xf32>
  // expected-note @below {{the reference computes it here}}
  %2 = math.log %0 : tensor<8xf32>
  return %2, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func @of_other(%x: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
                    %y: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @logarithm} {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = arith.mulf %x, %y : tensor<8xf32>
  // expected-error @below {{deviates: math.log: operand 0 is another value than in the reference}}
  %2 = math.log %1 : tensor<8xf32>
  return %2, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two such ops, and two in the reference: one of them matches the other.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @logarithms(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = arith.mulf %x, %y : tensor<8xf32>
  // expected-note @below {{the reference computes it here}}
  %2 = math.log %0 : tensor<8xf32>
  %3 = math.log %x : tensor<8xf32>
  return %2, %1, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @one_of_other(%x: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
                        %y: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @logarithms} {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = arith.mulf %x, %y : tensor<8xf32>
  // expected-error @below {{deviates: math.log: operand 0 is another value than in the reference}}
  %2 = math.log %1 : tensor<8xf32>
  %3 = math.log %x : tensor<8xf32>
  return %2, %0, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A third one may serve another purpose.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @logarithms(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = arith.mulf %x, %y : tensor<8xf32>
  %1 = math.log %x : tensor<8xf32>
  %2 = math.log %y : tensor<8xf32>
  %3 = arith.addf %1, %2 : tensor<8xf32>
  return %3, %0 : tensor<8xf32>, tensor<8xf32>
}
func.func @log_of_product(%x: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
                          %y: tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @logarithms} {
  %0 = arith.mulf %x, %y : tensor<8xf32>
  %1 = math.log %x : tensor<8xf32>
  %2 = math.log %y : tensor<8xf32>
  // expected-error @below {{not provable: math.log: the reference has no such op on these values}}
  %3 = math.log %0 : tensor<8xf32>
  return %3, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Terms of a sum are not parts of its maximum, whichever device has them.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @greatest_part(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  // The devices with y = 1 have the parts in reverse order.
  %1 = dist.collective_permute %0 targets [0, 3, 2, 1] over <{"x", "y"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"y"}, only over {"x"}: it would be reduced once more}}
  %2 = dist.all_reduce <max> %1 over <{"y"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A sum that is partial and sharded at the same time; each of them counts.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @squares(%a: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<f32> {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <sum> %a dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %3 = arith.addf %1, %2 : tensor<f32>
  return %3 : tensor<f32>
}
func.func @parts_and_shares(%a: tensor<2x2xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @squares} {
  %0 = nn.broadcast %b dims [1] : tensor<2xf32> -> tensor<2x2xf32>
  %1 = nn.reduce <sum> %a dims [0, 1] : tensor<2x2xf32> -> tensor<f32>
  %2 = nn.reduce <sum> %0 dims [0, 1] : tensor<2x2xf32> -> tensor<f32>
  %3 = arith.addf %1, %2 : tensor<f32>
  %4 = dist.all_reduce <sum> %3 over <{"x", "y"}> on @mesh : tensor<f32> -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @sum(%b: tensor<4xf32>) -> tensor<f32> {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @shares_left(%b: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.broadcast %b dims [1] : tensor<2xf32> -> tensor<2x2xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<2x2xf32> -> tensor<f32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  // expected-error @below {{deviates: func.return: result 0 is one of 2 parts that are still to be summed}}
  return %2 : tensor<f32>
}
