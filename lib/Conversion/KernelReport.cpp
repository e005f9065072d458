//===- KernelReport.cpp - Resources of GPU kernels ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/GPUImages.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tessera;

void tessera::printKernelUse(llvm::ArrayRef<KernelUse> uses,
                             llvm::raw_ostream &os) {
  llvm::MapVector<llvm::StringRef, std::vector<const KernelUse *>> byName;
  std::vector<int> archs;
  size_t width = llvm::StringRef("kernel").size();
  for (const KernelUse &use : uses) {
    byName[use.name].push_back(&use);
    width = std::max(width, use.name.size());
    if (!llvm::is_contained(archs, use.arch))
      archs.push_back(use.arch);
  }
  os << "registers per thread, and bytes that spill:\n";
  os << llvm::left_justify("kernel", width);
  for (int arch : archs)
    os << llvm::right_justify(llvm::formatv("sm_{0}", arch).str(), 9)
       << llvm::right_justify("spills", 8);
  os << "\n";
  for (auto &[name, ofKernel] : byName) {
    os << llvm::left_justify(name, width);
    for (const KernelUse *use : ofKernel)
      os << llvm::formatv("{0,9}{1,8}", use->registers,
                          use->spillStores + use->spillLoads);
    os << "\n";
  }
}

void tessera::printKernelUseAsJson(llvm::ArrayRef<KernelUse> uses,
                                   llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 2);
  json.array([&] {
    for (const KernelUse &use : uses)
      json.object([&] {
        json.attribute("kernel", use.name);
        json.attribute("arch", use.arch);
        json.attribute("registers", use.registers);
        json.attribute("stack", use.stack);
        json.attribute("spill_stores", use.spillStores);
        json.attribute("spill_loads", use.spillLoads);
      });
  });
  os << "\n";
}
