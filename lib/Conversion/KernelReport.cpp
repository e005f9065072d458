//===- KernelReport.cpp - Resources of GPU kernels ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/GPUImages.h"
#include "tessera/Report/Document.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

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
                                   llvm::StringRef command,
                                   llvm::raw_ostream &os) {
  llvm::json::Array kernels;
  Table table({"kernel",
               "device",
               {"registers", "", 0},
               {"stack", "bytes", 0},
               {"spill stores", "bytes", 0},
               {"spill loads", "bytes", 0}});
  table.alignLeft(1);
  int most = 0, spilled = 0;
  for (const KernelUse &use : uses) {
    kernels.push_back(llvm::json::Object{{"kernel", use.name},
                                         {"arch", use.arch},
                                         {"registers", use.registers},
                                         {"stack", use.stack},
                                         {"spill_stores", use.spillStores},
                                         {"spill_loads", use.spillLoads}});
    table.addRow({use.name, llvm::formatv("sm_{0}", use.arch).str(),
                  use.registers, use.stack, use.spillStores, use.spillLoads});
    most = std::max(most, use.registers);
    spilled += use.spillStores + use.spillLoads > 0;
  }
  DocumentSection section;
  section.kind = "kernels";
  section.title = "kernels";
  section.findings.emplace_back(
      "verdict", llvm::formatv("Kernels have at most {0} registers per thread; "
                               "{1} of {2} spill",
                               most, spilled, uses.size()));
  section.tables.emplace_back("kernels", std::move(table));
  Document document;
  document.title = "kernels";
  document.command = command.str();
  document.sections.push_back(std::move(section));
  document.fields["kernels"] = std::move(kernels);
  document.print(os);
}
