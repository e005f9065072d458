//===- DeviceProgram.cpp - The symbols of a program for a device ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Builds globals at the start of a module.
class Globals {
public:
  explicit Globals(ModuleOp module)
      : b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {
    b.setInsertionPointToStart(module.getBody());
  }

  LLVM::GlobalOp bytes(StringRef name, StringRef data, uint64_t alignment) {
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), data.size());
    return LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, name,
                                  b.getStringAttr(data), alignment);
  }
  void number(StringRef name, int32_t value) {
    LLVM::GlobalOp::create(b, b.getI32Type(), /*isConstant=*/true,
                           LLVM::Linkage::External, name,
                           b.getI32IntegerAttr(value), /*alignment=*/4);
  }
  /// Defines a constant with the value that `build` returns.
  void computed(StringRef name, Type type, LLVM::Linkage linkage,
                llvm::function_ref<Value()> build) {
    auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, linkage,
                                         name, Attribute(), /*alignment=*/8);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(b, build());
  }
  /// Defines an array with the elements that `build` returns. An empty array
  /// gets one zero element, as C has no empty arrays.
  void array(StringRef name, Type element, size_t count, LLVM::Linkage linkage,
             llvm::function_ref<Value(size_t)> build) {
    auto type = LLVM::LLVMArrayType::get(element, std::max<size_t>(count, 1));
    computed(name, type, linkage, [&]() -> Value {
      if (count == 0)
        return LLVM::ZeroOp::create(b, type);
      Value all = LLVM::UndefOp::create(b, type);
      for (size_t i = 0; i < count; ++i)
        all = LLVM::InsertValueOp::create(b, all, build(i), int64_t(i));
      return all;
    });
  }
  Value addressOf(StringRef name) {
    return LLVM::AddressOfOp::create(b, pointer, name);
  }

  ImplicitLocOpBuilder b;
  Type pointer;
};

} // namespace

void tessera::defineKernelNames(ModuleOp module, ArrayRef<StringRef> names) {
  Globals globals(module);
  for (auto [i, name] : llvm::enumerate(names))
    globals.bytes("kernel_name_" + std::to_string(i), name.str() + '\0', 1);
  globals.array("tessera_program_kernels", globals.pointer, names.size(),
                LLVM::Linkage::External, [&](size_t i) {
                  return globals.addressOf("kernel_name_" + std::to_string(i));
                });
  globals.number("tessera_program_num_kernels", names.size());
}

/// Defines an entry that unpacks the arguments, gets the shared memory and
/// calls the kernel.
static LLVM::LLVMFuncOp defineEntry(Globals &globals, LLVM::LLVMFuncOp shared,
                                    LLVM::LLVMFuncOp kernel) {
  ImplicitLocOpBuilder &b = globals.b;
  OpBuilder::InsertionGuard guard(b);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {globals.pointer});
  auto entry =
      LLVM::LLVMFuncOp::create(b, (kernel.getSymName() + "_entry").str(), type);
  entry.setLinkage(LLVM::Linkage::Internal);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  ArrayRef<Type> types = kernel.getFunctionType().getParams();
  for (auto [i, type] : llvm::enumerate(types.drop_back())) {
    Value address = LLVM::GEPOp::create(b, globals.pointer, b.getI64Type(),
                                        block->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value argument = LLVM::LoadOp::create(b, b.getI64Type(), address);
    arguments.push_back(isa<LLVM::LLVMPointerType>(type)
                            ? LLVM::IntToPtrOp::create(b, type, argument)
                            : argument);
  }
  arguments.push_back(
      LLVM::CallOp::create(b, shared, ValueRange()).getResult());
  LLVM::CallOp::create(b, kernel, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
  return entry;
}

void tessera::defineEmulatedKernels(ModuleOp module, bool isEmulated,
                                    ArrayRef<LLVM::LLVMFuncOp> kernels) {
  Globals globals(module);
  constexpr llvm::StringLiteral name = "tessera_program_emulated_kernels";
  if (!isEmulated)
    return globals.computed(
        name, globals.pointer, LLVM::Linkage::External,
        [&] { return LLVM::ZeroOp::create(globals.b, globals.pointer); });
  auto shared = LLVM::LLVMFuncOp::create(
      globals.b, "tessera_emu_shared",
      LLVM::LLVMFunctionType::get(globals.pointer, {}));
  SmallVector<LLVM::LLVMFuncOp> entries;
  for (LLVM::LLVMFuncOp kernel : kernels)
    entries.push_back(defineEntry(globals, shared, kernel));
  globals.array("emulated_kernels", globals.pointer, entries.size(),
                LLVM::Linkage::Internal, [&](size_t i) {
                  return globals.addressOf(entries[i].getSymName());
                });
  globals.computed(name, globals.pointer, LLVM::Linkage::External,
                   [&] { return globals.addressOf("emulated_kernels"); });
}

void tessera::defineImages(ModuleOp module, ArrayRef<DeviceImage> images) {
  Globals globals(module);
  ImplicitLocOpBuilder &b = globals.b;
  for (auto [i, image] : llvm::enumerate(images))
    globals.bytes("device_image_" + std::to_string(i), image.data, 64);
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(),
      {b.getI32Type(), b.getI32Type(), globals.pointer, b.getI64Type()});
  globals.array(
      "tessera_program_images", type, images.size(), LLVM::Linkage::External,
      [&](size_t i) -> Value {
        Value fields[] = {
            LLVM::ConstantOp::create(b, b.getI32Type(), images[i].arch),
            LLVM::ConstantOp::create(b, b.getI32Type(), images[i].isPTX),
            globals.addressOf("device_image_" + std::to_string(i)),
            LLVM::ConstantOp::create(b, b.getI64Type(),
                                     int64_t(images[i].data.size()))};
        Value image = LLVM::UndefOp::create(b, type);
        for (auto [at, field] : llvm::enumerate(fields))
          image = LLVM::InsertValueOp::create(b, image, field, int64_t(at));
        return image;
      });
  globals.number("tessera_program_num_images", images.size());
}
