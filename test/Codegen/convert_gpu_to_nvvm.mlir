// RUN: tessera-opt %s --split-input-file --rt-convert-gpu-to-nvvm --rt-convert-to-llvm | FileCheck %s

// Pointers that do not overlap, 16-byte accesses, libdevice. The program lists
// its kernels and has no emulated ones. Images are added later.
// CHECK-DAG: llvm.mlir.global internal constant @kernel_name_0("exp\00")
// CHECK-DAG: llvm.mlir.global external constant @tessera_program_num_kernels(1 : i32)
// CHECK-DAG: llvm.mlir.global external constant @tessera_program_emulated_kernels()
// CHECK-LABEL: gpu.module @kernels
// CHECK: llvm.func @__nv_expf(f32) -> f32
// CHECK: llvm.func @exp(%[[X:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %{{.*}}: i64)
// CHECK-SAME: nvvm.kernel
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier
// CHECK: llvm.call @__nv_expf
// The step launches by number: packed arguments, their count, grid, block, shared memory.
// CHECK-LABEL: llvm.func @tessera_program_step
// CHECK-DAG: llvm.mlir.constant(0 : i32)
// CHECK-DAG: llvm.mlir.constant(7 : i64)
// CHECK-DAG: llvm.mlir.constant(64 : i32)
// CHECK: llvm.call @tessera_rt_launch_device(%{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, i32, i64, i32, i32) -> i32
module attributes {rt.manifest = "{}", rt.target = "cuda"} {
  gpu.module @kernels {
    gpu.func @exp(%x: memref<256xf32>, %i: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %v = vector.load %x[%t] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
      %e = vector.extract %v[0] : f32 from vector<4xf32>
      %bits = arith.bitcast %e : f32 to i32
      %c1 = arith.constant 1 : i32
      %c32 = arith.constant 32 : i32
      %s, %valid = gpu.shuffle xor %bits, %c1, %c32 : i32
      gpu.barrier
      %f = arith.bitcast %s : i32 to f32
      %y = math.exp %f : f32
      memref.store %y, %x[%i] : memref<256xf32>
      gpu.return
    }
  }
  func.func @step() attributes {rt.arena_bytes = 1024 : i64, rt.step} {
    %i = rt.axis_offset [1, 2] size 4 : index
    rt.launch_device @kernels::@exp number 0 grid 7 block 64 shared 0 at [0] with %i
    return
  }
}
