//===- FieldValues.h - A value for each field -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_PLAN_FIELDVALUES_H
#define TESSERA_TEST_UNIT_PLAN_FIELDVALUES_H

#include "tessera/Plan/Field.h"

namespace tessera {

/// A value of the field that is not its default, as an option spells it; empty
/// for a field that follows from others.
template <typename StructT>
std::string findOtherValue(const Field<StructT> &field) {
  std::vector<std::string> values = {"true", "false", "1",
                                     "2",    "0.5",   "full",
                                     "even", "ring",  "*.gamma:decay=0"};
  if (auto *choice = std::get_if<typename Field<StructT>::Choice>(&field.type))
    for (llvm::StringRef name : choice->names())
      values.push_back(name.str());
  for (const std::string &value : values) {
    StructT changed;
    if (field.parse(value, changed) && !field.isDefault(changed))
      return value;
  }
  return "";
}

} // namespace tessera

#endif // TESSERA_TEST_UNIT_PLAN_FIELDVALUES_H
