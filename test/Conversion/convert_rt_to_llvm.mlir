// RUN: tessera-opt %s --split-input-file --rt-convert-to-llvm | FileCheck %s

module attributes {rt.manifest = "{}"} {
// Descriptors are constants, packed arguments are on the stack, each status is checked.
// CHECK-DAG: llvm.mlir.global external constant @tessera_program_manifest("{}\00")
// CHECK-DAG: llvm.mlir.global internal constant @descriptor_1(dense<[0, 0, 1, 8, 4, 16, 16, 4, 4, 0, 0, 0, 0, 0, 0]> : tensor<15xi64>)
// CHECK-DAG: llvm.mlir.global internal constant @descriptor_0(dense<[1, 2]> : tensor<2xi64>)
// The descriptor of a collective: its kind, type, reduction, sizes, then its lists.
// CHECK-DAG: llvm.mlir.global internal constant @descriptor_2(dense<[2, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0, 0, 1, 2]> : tensor<14xi64>)
// The number of calls, and where the text of each begins: its location's name, or the function's.
// CHECK-DAG: llvm.mlir.global external constant @tessera_program_calls(dense<[4, 0, 7, 16, 22]> : tensor<5xi32>)
// CHECK-DAG: llvm.mlir.global external constant @tessera_program_call_texts("launch\00matmul w\00start\00wait\00")
// CHECK-DAG: llvm.func @tessera_rt_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i64, i64) -> i32
// CHECK-DAG: llvm.func @tessera_rt_matmul(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @tessera_rt_start(!llvm.ptr, i32, i64, !llvm.ptr, i64, i64) -> i32
// CHECK-DAG: llvm.func @tessera_rt_wait(!llvm.ptr, i32) -> i32

// The entry of a kernel unpacks its arguments; the kernel's tensors do not alias.
// CHECK-DAG: llvm.func internal @exp_entry(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: llvm.func internal @exp(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64) attributes {no_inline
// The exponential is not a library call.
// CHECK-NOT: llvm.intr.exp
// CHECK-NOT: @expf
func.func private @exp(%x: memref<8xf32>, %i: index, %begin: index, %end: index) attributes {rt.kernel} {
  %one = arith.constant 1 : index
  scf.for %r = %begin to %end step %one {
    %0 = memref.load %x[%r] : memref<8xf32>
    %1 = math.exp %0 : f32
    memref.store %1, %x[%r] : memref<8xf32>
  }
  return
}

// A list of calls, which LLVM must compile in little time.
// CHECK-LABEL: llvm.func @tessera_program_step(%{{.*}}: !llvm.ptr) -> i32
// CHECK-SAME: no_inline, optimize_none
// CHECK: llvm.call @tessera_rt_arena
// CHECK: %[[CALL:.*]] = llvm.call @tessera_rt_current_call
// CHECK: llvm.call @tessera_rt_axis_offset
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: llvm.store %[[ONE]], %[[CALL]] : i64, !llvm.ptr
// CHECK: llvm.mlir.addressof @exp_entry
// CHECK: %[[S:.*]] = llvm.call @tessera_rt_launch
// CHECK: %[[OK:.*]] = llvm.icmp "eq" %[[S]]
// CHECK: llvm.cond_br %[[OK]], ^{{.*}}, ^[[FAIL:bb[0-9]+]](%[[S]] : i32)
// CHECK: llvm.call @tessera_rt_matmul
// CHECK: llvm.call @tessera_rt_start
// CHECK: llvm.call @tessera_rt_wait
// CHECK: ^[[FAIL]](%[[STATUS:.*]]: i32):
// CHECK-NEXT: llvm.return %[[STATUS]] : i32
func.func @step() attributes {rt.step, rt.arena_bytes = 256 : i64} {
  %o = rt.axis_offset [1, 2] size 4 : index
  rt.launch @exp rows 8 grain 1 at [64] with %o
  rt.call_matmul <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0,
      stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> f32 -> f32 at [0, 64, 128] loc("matmul w")
  rt.all_reduce_start slot 0 sequence 0 over [1, 2] reduction 0 count 8 from 64 to 64 : f32
  rt.wait slot 0
  return
}
}

// -----

// A transfer of some ranks only, whose status is checked in a branch.
// CHECK-LABEL: llvm.func @tessera_program_step
// CHECK: llvm.cond_br
// CHECK: llvm.call @tessera_rt_start
// CHECK: llvm.cond_br
func.func @step() attributes {rt.step, rt.arena_bytes = 256 : i64} {
  %o = rt.axis_offset [1, 2] size 1 : index
  %c = arith.constant 0 : index
  %is = arith.cmpi eq, %o, %c : index
  scf.if %is {
    rt.send_start slot 63 sequence 0 over [1, 2] peer 1 tag 7 count 8 from 0 : f32
    rt.wait slot 63
  }
  return
}

// -----

// Nothing to do, so nothing can fail.
// CHECK-LABEL: llvm.func @tessera_program_step
// CHECK: llvm.return
// CHECK-NOT: llvm.return
func.func @step() attributes {rt.step, rt.arena_bytes = 64 : i64} {
  return
}

// -----

// A task counts the offset of a segment from the address that it is given; the
// table of the step, and the table of the tasks that a list calls.
// CHECK: llvm.mlir.global external constant @tessera_program_steps() {addr_space = 0 : i32, alignment = 8 : i64} : !llvm.array<2 x ptr> {
// CHECK: llvm.mlir.addressof @tessera_program_step_0
// CHECK: llvm.mlir.addressof @tessera_program_step_1
// CHECK: llvm.mlir.global internal constant @tasks_0(){{.*}} : !llvm.array<1 x ptr> {
// CHECK-NEXT: llvm.mlir.undef
// CHECK-NEXT: llvm.mlir.addressof @train_F0
// CHECK: llvm.mlir.global internal constant @descriptor_{{[0-9]+}}(dense<[0, 0, 0, 0, 0, 2, 64, 128]> : tensor<8xi64>)
// CHECK: llvm.func internal @train_F0(%{{.*}}: !llvm.ptr, %[[GIVEN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[AT0:.*]] = llvm.getelementptr %[[GIVEN]][0]
// CHECK: %[[BASE0:.*]] = llvm.load %[[AT0]] : !llvm.ptr -> i64
// CHECK: %[[AT1:.*]] = llvm.getelementptr %[[GIVEN]][1]
// CHECK: %[[BASE1:.*]] = llvm.load %[[AT1]] : !llvm.ptr -> i64
// An offset before the segments is an offset in the arena.
// CHECK: %[[SOURCE:.*]] = llvm.mlir.constant(64 : i64)
// CHECK: %[[IN1:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: %[[TARGET:.*]] = llvm.add %[[BASE1]], %[[IN1]]
// CHECK: llvm.call @tessera_rt_copy(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SOURCE]], %{{.*}}, %{{.*}}, %[[TARGET]],
// CHECK: %[[IN0:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: %[[FILLED:.*]] = llvm.add %[[BASE0]], %[[IN0]]
// CHECK: llvm.call @tessera_rt_fill(%{{.*}}, %{{.*}}, %[[FILLED]],
// CHECK-LABEL: llvm.func @tessera_program_step_0(%{{.*}}: !llvm.ptr) -> i32
// CHECK: llvm.call @tessera_rt_run_list
func.func @train_F0() attributes {rt.step, rt.segments = array<i64: 4096, 4160>} {
  rt.call_copy 4 [8] from 64 [1] to 4168 [1]
  rt.call_fill 4 count 8 bits 0 to 4096
  return
}
func.func @step_0() attributes {rt.step, rt.arena_bytes = 4096 : i64} {
  rt.run_list tasks [@train_F0] axis [1, 2] entries [0, 0, 0, 0, 0, 2, 64, 128]
  return
}
func.func @step_1() attributes {rt.step, rt.arena_bytes = 4096 : i64} {
  return
}

// -----

// A kernel without a launch has no entry.
// CHECK-LABEL: llvm.func internal @unused
// CHECK-NOT: llvm.func {{.*}}@unused
module {
func.func private @unused(%x: memref<8xf32>, %i: index, %begin: index, %end: index) attributes {rt.kernel} {
  return
}
}
