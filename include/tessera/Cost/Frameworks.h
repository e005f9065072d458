//===- Frameworks.h - Settings of frameworks --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings that a training framework fixes (kernels, overlap, copies,
// types), as presets of the fields of a plan and of its execution. The files of
// share/frameworks serve `tessera plan --framework` and the scoring of
// published runs. docs/file-formats.md describes them, docs/plan.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_FRAMEWORKS_H
#define TESSERA_COST_FRAMEWORKS_H

#include "tessera/Cost/ExecutionFields.h"
#include <string>
#include <vector>

namespace tessera::cost {

/// The run that a framework's settings may depend on.
struct FrameworkRun {
  /// The name of its model, "llama3-8b", and of its device, "H100-SXM-80GB".
  llvm::StringRef model, device;
};

/// A framework whose settings are known.
struct Framework {
  /// A requirement on a run: the value of a field of its plan, or a pattern of
  /// the name of its model or device.
  struct Condition {
    /// The name of a field, "model" or "device".
    std::string subject;
    /// "3", "2..", "f16", "H100*".
    std::string pattern;
  };
  /// The values of some fields in the runs that meet all conditions of one of
  /// the alternatives. Without alternatives: in all runs.
  struct Setting {
    std::vector<std::vector<Condition>> alternatives;
    GivenExecutedPlan values;
  };

  std::string name;
  /// True if runs of it are among those that fit the cost model's constants.
  bool isFitted = false;
  /// A later setting of a field overrides an earlier one.
  std::vector<Setting> settings;
};

/// Reads the text of a framework file. A framework that it is like is a file
/// next to `fileName` or of share/frameworks. Errors have the file and the
/// field.
llvm::Expected<Framework> parseFramework(llvm::StringRef text,
                                         llvm::StringRef fileName);

/// Reads the file of share/frameworks of this name, or FILE.json.
/// The error for an unknown name begins with "--framework".
llvm::Expected<Framework> readFramework(llvm::StringRef nameOrFile);

/// Sets in `given` the framework's value of each field that `own` does not
/// give; fields that `own` gives keep their values. Settings may depend on the
/// fields of `given`, which includes all of `own`, and on the run.
void applyFramework(const Framework &framework, const GivenExecutedPlan &own,
                    const FrameworkRun &run, GivenExecutedPlan &given);

} // namespace tessera::cost

#endif // TESSERA_COST_FRAMEWORKS_H
