//===- Devices.cpp - Presets of the devices that tables name --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace {

/// A rule for names that contain both words and have no other form factor.
struct Row {
  StringRef word, also, preset;
  /// True if the preset is a device of another form factor, such as a card.
  bool isCard = false;
};

} // namespace

/// The first matching row applies; an empty preset: the device is not known.
static constexpr Row kRows[] = {
    {"PERLMUTTER", "A100", "perlmutter-a100"},
    {"GB300", "", "gb300-nvl72-ib"},
    {"GB200", "", "gb200-nvl72-ib"},
    {"B300", "", "b300-sxm-ib"},
    {"B200", "", "b200-sxm-ib"},
    {"SM100", "", "b200-sxm-ib"},
    {"GH200", "", ""},
    {"H200", "", "h200-sxm-ib"},
    {"H800", "", "h800-sxm-ib"},
    {"H100", "96GB", "h100-96-500w-roce"},
    {"H100", "", "h100-sxm-ib"},
    {"A100", "40GB", "a100-40-sxm-ib"},
    {"A100", "", "a100-80-sxm-ib"},
    {"A800", "", "a100-80-sxm-ib"},
    {"V100", "", "v100-sxm-ib"},
    {"L40S", "", "l40s-pcie-roce", true},
    {"4090", "", "rtx4090-pcie-roce", true},
    {"MI300X", "", "mi300x-oam-roce"},
};

/// True for the name of a card, or of a part of a device.
static bool isOtherForm(StringRef name) {
  return any_of(ArrayRef<StringRef>{"PCI", "NVL ", "-NVL", "MIG", "LAPTOP"},
                [&](StringRef word) { return name.contains(word); });
}

std::string tessera::validate::presetOf(StringRef gpu) {
  std::string upper = gpu.upper();
  StringRef name = upper;
  for (const Row &row : kRows)
    if (name.contains(row.word) && name.contains(row.also))
      return row.isCard || !isOtherForm(name) ? row.preset.str() : "";
  return "";
}

bool tessera::validate::hasUnknownPower(StringRef gpu) {
  return gpu.contains_insensitive("power-limited");
}
