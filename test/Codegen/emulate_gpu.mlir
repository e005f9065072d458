// RUN: tessera-opt %s --split-input-file --rt-emulate-gpu | FileCheck %s
// RUN: tessera-opt %s --split-input-file --rt-emulate-gpu --rt-convert-to-llvm | FileCheck %s --check-prefix=LLVM

// A kernel is a function of one thread, which calls the emulator.
// CHECK-NOT: gpu.module
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME: %[[X:.*]]: memref<256xf32>, %[[I:.*]]: index, %[[S:.*]]: memref<512xi8>) attributes {rt.kernel}
// CHECK: %[[BYTES:.*]] = memref.cast %[[S]] : memref<512xi8> to memref<?xi8>
// CHECK: call @tessera_emu_thread_id() : () -> i32
// CHECK: call @tessera_emu_block_id() : () -> i64
// CHECK: memref.view %[[BYTES]]{{.*}} : memref<?xi8> to memref<128xf32>
// CHECK: call @tessera_emu_shuffle_xor({{.*}}) : (i32, i32, i32) -> i32
// CHECK: call @tessera_emu_barrier() : () -> ()
// CHECK: return

// The entry unpacks the kernel's arguments; exp is a polynomial as on the host.
// The program has no images.
// LLVM-DAG: llvm.mlir.global external constant @tessera_program_num_images(0 : i32)
// LLVM-DAG: llvm.func @tessera_emu_shared() -> !llvm.ptr
// LLVM-DAG: llvm.func internal @exp_entry(%{{.*}}: !llvm.ptr)
// LLVM: %[[SHARED:.*]] = llvm.call @tessera_emu_shared()
// LLVM-NEXT: llvm.call @exp(%{{.*}}, %{{.*}}, %[[SHARED]])
// LLVM: llvm.mlir.global internal constant @emulated_kernels()
// LLVM-NOT: expf
module attributes {rt.target = "cuda-emulated"} {
  gpu.module @kernels {
    gpu.func @exp(%x: memref<256xf32>, %i: index) kernel {
      %c0 = arith.constant 0 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %m = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<128xf32, #gpu.address_space<workgroup>>
      %e = memref.load %x[%t] : memref<256xf32>
      %bits = arith.bitcast %e : f32 to i32
      %c1 = arith.constant 1 : i32
      %c32 = arith.constant 32 : i32
      %s, %valid = gpu.shuffle xor %bits, %c1, %c32 : i32
      %f = arith.bitcast %s : i32 to f32
      memref.store %f, %m[%t] : memref<128xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %g = memref.load %m[%b] : memref<128xf32, #gpu.address_space<workgroup>>
      %y = math.exp %g : f32
      memref.store %y, %x[%i] : memref<256xf32>
      gpu.return
    }
  }
  func.func @step() attributes {rt.arena_bytes = 1024 : i64, rt.step} {
    %i = rt.axis_offset [1, 2] size 4 : index
    rt.launch_device @kernels::@exp number 0 grid 7 block 64 shared 512 at [0] with %i
    return
  }
}

// -----

// A program without kernels still has an emulator's table.
// LLVM: llvm.mlir.global external constant @tessera_program_emulated_kernels()
// LLVM-NEXT: llvm.mlir.addressof @emulated_kernels
module attributes {rt.target = "cuda-emulated"} {
  gpu.module @kernels {
  }
  func.func @step() attributes {rt.arena_bytes = 1024 : i64, rt.step} {
    rt.call_fill 4 count 64 bits 0 to 0
    return
  }
}
