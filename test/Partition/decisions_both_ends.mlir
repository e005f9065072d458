// The choice for a matmul counts the reshards of its operands and of its
// result. Bytes are received per device.
// RUN: tessera-opt %s --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)' --remarks-filter=partition 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

dist.mesh @mesh ["x"=4, "y"=2]

// Both ends count: the matmul is computed where its operands are, and its
// result moves, 48 MiB per device. Moving the operands to the result's sharding
// would take 192 MiB.
// REMARK: nn.einsum runs with m {"x"}, n {"y"}", bytes=50331648
// CHECK-LABEL: func.func @swapped
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2048x8192xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<8192x4096xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.einsum "mk,kn->mn" %[[X]], %[[W]]
// CHECK-NEXT: %[[P:.*]] = dist.collective_permute %[[Y]]
// CHECK-NEXT: %[[A:.*]] = dist.all_to_all %[[P]]
// CHECK-NEXT: return %[[A]]
func.func @swapped(%x: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<8192x8192xf32>, tensor<8192x8192xf32> -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}

// The same with the result transposed.
// REMARK: nn.einsum runs with m {"x"}, n {"y"}", bytes=50331648
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2048x8192xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<8192x4096xf32>
// CHECK-NEXT: nn.einsum "mk,kn->nm" %[[X]], %[[W]]
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @transposed(%x: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "mk,kn->nm" %x, %w : tensor<8192x8192xf32>, tensor<8192x8192xf32> -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}

// The batch takes x from the operands though the result has it on m: 6 MiB of
// the result against 88 MiB of operands.
// REMARK: nn.einsum runs with b {"x"}, m {"y"}", bytes=6291456
// CHECK-LABEL: func.func @batched
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x512x4096xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<2x4096x1024xf32>
// CHECK-NEXT: nn.einsum "bmk,bkn->bmn" %[[X]], %[[W]]
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @batched(%x: tensor<8x1024x4096xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}, %w: tensor<8x4096x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<8x1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %0 = nn.einsum "bmk,bkn->bmn" %x, %w : tensor<8x1024x4096xf32>, tensor<8x4096x1024xf32> -> tensor<8x1024x1024xf32>
  return %0 : tensor<8x1024x1024xf32>
}

// A large contracted dimension and a small result, with four shardings of the
// result: the result moves, 0.6 MiB instead of 16 MiB of an operand.
// REMARK: nn.einsum runs with m {"y"}, k {"x"}", bytes=655360
// CHECK-LABEL: func.func @contracted_to_both
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x16384xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<16384x512xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.einsum "mk,kn->mn" %[[X]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = dist.all_to_all %[[Y]] gather 0 split 1 over <{"y"}>
// CHECK-NEXT: dist.reduce_scatter <sum> %[[R]] dim 0 over <{"x"}>
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @contracted_to_both(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// REMARK: nn.einsum runs with k {"x"}, n {"y"}", bytes=1048576
// CHECK-LABEL: func.func @contracted_to_m
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<512x16384xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<16384x256xf32>
// CHECK-NEXT: nn.einsum "mk,kn->mn" %[[X]], %[[W]]
func.func @contracted_to_m(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// REMARK: nn.einsum runs with m {"y"}, k {"x"}", bytes=1048576
// CHECK-LABEL: func.func @contracted_to_n
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x16384xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<16384x512xf32>
// CHECK-NEXT: nn.einsum "mk,kn->mn" %[[X]], %[[W]]
func.func @contracted_to_n(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// REMARK: nn.einsum runs with m {"y"}, k {"x"}", bytes=786432
// CHECK-LABEL: func.func @contracted_to_replicated
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x16384xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<16384x512xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.einsum "mk,kn->mn" %[[X]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[Y]] over <{"x"}>
// CHECK-NEXT: dist.all_gather %[[R]] dim 0 over <{"y"}>
func.func @contracted_to_replicated(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// The operands have the contracted dimension on different axes: one of them moves.
// REMARK: nn.einsum runs with k {"x"}, n {"y"}", bytes=17170432
// CHECK-LABEL: func.func @contracted_two_ways
// CHECK: dist.collective_permute
// CHECK: nn.einsum
// CHECK-NEXT: dist.reduce_scatter
func.func @contracted_two_ways(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// The reduction scatters to the result's sharding, and the other axis stays: 384
// KiB per device, while moving the operands would take 48 MiB.
// REMARK: nn.einsum runs with m {"y"}, k {"x"}", bytes=393216
// CHECK-LABEL: func.func @contracted_to_columns
// CHECK-NEXT: %[[Y:.*]] = nn.einsum "mk,kn->mn" {{.*}} : tensor<256x16384xf32>, tensor<16384x512xf32> -> tensor<256x512xf32>
// CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter <sum> %[[Y]] dim 1 over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @contracted_to_columns(%x: tensor<512x65536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, %w: tensor<65536x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<512x65536xf32>, tensor<65536x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// A user's own sharding of the matmul leads to the same.
// CHECK-LABEL: func.func @swapped_by_hand
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2048x8192xf32> {{.*}} %[[W:[a-z0-9]+]]: tensor<8192x4096xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.einsum "mk,kn->mn" %[[X]], %[[W]]
// CHECK-NEXT: %[[P:.*]] = dist.collective_permute %[[Y]]
// CHECK-NEXT: %[[A:.*]] = dist.all_to_all %[[P]]
// CHECK-NEXT: return %[[A]]
func.func @swapped_by_hand(%x: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<8192x8192xf32>, tensor<8192x8192xf32> -> tensor<8192x8192xf32>
  %1 = dist.constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<8192x8192xf32>
  return %1 : tensor<8192x8192xf32>
}
