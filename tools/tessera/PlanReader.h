//===- PlanReader.h - The plan that options give ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANREADER_H
#define TESSERA_TOOLS_PLANREADER_H

#include "PlanOptions.h"
#include "tessera/Cost/Frameworks.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

/// True if the options say how the model is to be partitioned.
bool hasLayout(const ParsedOptions &parsed);

/// The text of a field's option.
using FieldText = std::pair<const cost::ExecutedPlanField *, std::string>;

/// Reads the plan of `tessera plan` from --plan or --from-program, and from the
/// options, which take precedence. Files are read once, for many plans of which
/// some options have other values. Refers to the options.
class PlanReader {
public:
  static llvm::Expected<PlanReader> make(const ParsedOptions &parsed,
                                         const Subject &subject);

  /// The fields that options give, in the order of the table.
  llvm::ArrayRef<FieldText> getFields() const { return fields; }
  /// Returns the plan of the options with other texts for some of their fields,
  /// as `tessera plan` reads it.
  llvm::Expected<cost::ExecutedPlan>
  read(llvm::ArrayRef<FieldText> others = {}) const;

private:
  explicit PlanReader(const ParsedOptions &parsed) : parsed(&parsed) {}
  llvm::Error readFiles(const Subject &subject);
  llvm::Error readFramework(const Subject &subject);
  /// Sets the fields that options give, and those of --set.
  llvm::Error set(llvm::ArrayRef<FieldText> others,
                  cost::GivenExecutedPlan &given) const;

  const ParsedOptions *parsed;
  std::vector<FieldText> fields;
  /// The settings of files: a plan's and --execution's, and the latter alone.
  cost::GivenExecutedPlan base, execution;
  std::optional<cost::Framework> framework;
  std::string model, device;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PLANREADER_H
