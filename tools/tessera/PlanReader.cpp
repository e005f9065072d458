//===- PlanReader.cpp - The plan that options give ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReader.h"
#include "PlanSearch.h"
#include "Programs.h"

#include "dialects/Dist/Dist.h"
#include "mlir/IR/MLIRContext.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Training/TrainingPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;

bool tessera::hasLayout(const ParsedOptions &parsed) {
  for (StringRef name :
       {"--plan", "--from-program", "--dp", "--tp", "--pp", "--cp"})
    if (parsed.has(name))
      return true;
  return false;
}

/// Reads the plan that a program was compiled for: its dist.plan.
static llvm::Error readProgram(StringRef path, GivenExecutedPlan &given) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  auto module = readModule(path, context);
  if (!module)
    return module.takeError();
  auto attr = module->get()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
  if (!attr || attr.getPlan().forward)
    return llvm::createStringError(
        path + ": expects a program with a dist.plan, as tessera compile "
               "--compile-to prints that of a training step");
  // The plan has no axes without a strategy, and the cost model knows one order
  // of axes.
  std::string planned = print(getMesh(attr.getPlan()).value_or(Mesh()));
  Mesh mesh;
  for (dist::MeshOp op : module->get().getOps<dist::MeshOp>()) {
    Mesh all = op.getMesh().toMesh();
    for (auto [name, size] : llvm::zip_equal(all.names, all.sizes))
      if (size > 1) {
        mesh.names.push_back(name);
        mesh.sizes.push_back(size);
      }
  }
  if (print(mesh) != planned)
    return llvm::createStringError(
        path + ": expects the mesh of the dist.plan, '" + planned +
        "', but got '" + print(mesh) + "'");
  if (attr.getPlan().seq == 1)
    return llvm::createStringError(
        path + ": expects a dist.plan that says how long its sequences are "
               "(seq) but got none");
  given.setAll(attr.getPlan());
  return llvm::Error::success();
}

llvm::Error PlanReader::readFiles(const Subject &subject) {
  if (parsed->has("--plan") && parsed->has("--from-program"))
    return llvm::createStringError(
        "expects --plan or --from-program but got both");
  base.plan.precision = Precision::BF16;
  base.plan.seq = subject.maxPositions();
  if (parsed->has("--plan"))
    if (llvm::Error error = readPlanFile(parsed->get("--plan"), base))
      return error;
  if (parsed->has("--from-program"))
    if (llvm::Error error = readProgram(parsed->get("--from-program"), base))
      return error;
  if (llvm::Error error = readExecutionFile(*parsed, base))
    return error;
  return readExecutionFile(*parsed, execution);
}

llvm::Error PlanReader::readFramework(const Subject &subject) {
  if (!parsed->has("--framework"))
    return llvm::Error::success();
  auto read = cost::readFramework(parsed->get("--framework"));
  if (!read)
    return read.takeError();
  framework = std::move(*read);
  model = subject.name();
  if (!parsed->has("--cluster"))
    return llvm::Error::success();
  auto cluster = readScaledCluster(*parsed, parsed->get("--cluster"));
  if (!cluster)
    return cluster.takeError();
  device = cluster->device.name;
  return llvm::Error::success();
}

llvm::Expected<PlanReader> PlanReader::make(const ParsedOptions &parsed,
                                            const Subject &subject) {
  PlanReader reader(parsed);
  for (const ExecutedPlanField &field : tessera::getFields<ExecutedPlan>())
    if ((field.uses & FieldUse::kPriced) && parsed.has(field.getOption()))
      reader.fields.emplace_back(&field, getFieldText(field, parsed));
  if (llvm::Error error = reader.readFiles(subject))
    return std::move(error);
  if (llvm::Error error = reader.readFramework(subject))
    return std::move(error);
  return reader;
}

llvm::Error PlanReader::set(llvm::ArrayRef<FieldText> others,
                            GivenExecutedPlan &given) const {
  for (const auto &[field, text] : fields) {
    auto *other = llvm::find_if(others, [field = field](const FieldText &each) {
      return each.first == field;
    });
    if (llvm::Error error = setField(
            *field, other == others.end() ? text : other->second, given))
      return error;
  }
  return readSettings(*parsed, given);
}

llvm::Expected<ExecutedPlan>
PlanReader::read(llvm::ArrayRef<FieldText> others) const {
  GivenExecutedPlan given = base;
  if (llvm::Error error = set(others, given))
    return std::move(error);
  if (llvm::Error error = given.complete())
    return llvm::createStringError("--" + llvm::toString(std::move(error)));
  if (framework) {
    GivenExecutedPlan own = execution;
    if (llvm::Error error = set(others, own))
      return std::move(error);
    applyFramework(*framework, own, {model, device}, given);
  }
  if (hasLayout(*parsed) && !given.has("global-batch") &&
      !given.has("micro-batches"))
    return llvm::createStringError("expects --global-batch, the sequences of a "
                                   "step, with a layout");
  return given.plan;
}
