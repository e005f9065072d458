//===- DistPlan.cpp - A plan as an attribute ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and checks, derived from the table of fields.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Spelling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static void printField(AsmPrinter &printer, const PlanField &field,
                       const Plan &plan) {
  printer << field.getParameter() << " = ";
  if (auto *number = std::get_if<PlanField::Number>(&field.type))
    printer.printFloat(llvm::APFloat(plan.*number->member));
  else if (std::holds_alternative<PlanField::Choice>(field.type) ||
           std::holds_alternative<PlanField::Text>(field.type))
    printer.printKeywordOrString(field.print(plan));
  else
    printer << field.print(plan);
}

void PlanAttr::print(AsmPrinter &printer) const {
  auto isPrinted = [&](const PlanField &field) {
    return (field.uses & FieldUse::kAttribute) && !field.isDefault(getPlan());
  };
  printer << "<";
  llvm::interleaveComma(
      llvm::make_filter_range(getFields<Plan>(), isPrinted), printer,
      [&](const PlanField &field) { printField(printer, field, getPlan()); });
  printer << ">";
}

/// Parses a value and returns it in the spelling of an option.
static ParseResult parseValue(AsmParser &parser, const PlanField &field,
                              std::string &text) {
  auto parseInteger = [&]() -> ParseResult {
    int64_t value;
    if (parser.parseInteger(value))
      return failure();
    text = std::to_string(value);
    return success();
  };
  if (std::holds_alternative<PlanField::Integer>(field.type))
    return parseInteger();
  if (std::holds_alternative<PlanField::Number>(field.type)) {
    double value;
    if (parser.parseFloat(value))
      return failure();
    text = llvm::formatv("{0:E17}", value);
    return success();
  }
  return parser.parseKeywordOrString(&text);
}

static ParseResult parseField(AsmParser &parser, Plan &plan,
                              llvm::SmallVectorImpl<const PlanField *> &seen) {
  StringRef name;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  SmallVector<std::string> names;
  const PlanField *found = nullptr;
  for (const PlanField &field : getFields<Plan>())
    if (field.uses & FieldUse::kAttribute) {
      names.push_back(field.getParameter());
      if (names.back() == name)
        found = &field;
    }
  if (!found || llvm::is_contained(seen, found)) {
    SmallVector<StringRef> known(names.begin(), names.end());
    return parser.emitError(loc)
           << "expects each field of a plan once, and a known one, but got '"
           << name << "'" << (found ? "" : didYouMean(name, known));
  }
  seen.push_back(found);
  std::string text;
  if (parser.parseEqual() || parseValue(parser, *found, text))
    return failure();
  if (found->parse(text, plan))
    return success();
  return parser.emitError(loc)
         << "(C1) " << name << ": expects " << found->getForm() << " but got '"
         << text << "'";
}

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  Plan plan;
  llvm::SmallVector<const PlanField *> seen;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
        return parseField(parser, plan, seen);
      }))
    return {};
  return parser.getChecked<PlanAttr>(loc, parser.getContext(), plan);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

// TableGen declares this function with a copy.
LogicalResult
PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                 Plan plan) { // NOLINT(performance-unnecessary-value-param)
  if (llvm::Error error = plan.checkFields())
    return emitError() << "(C1) "
                       << llvm::toString(takeFirst(std::move(error)));
  bool isNarrow =
      plan.precision == Precision::BF16 || hasNarrowMatmuls(plan.precision);
  if (plan.gradDType != GradDType::F32 && !isNarrow)
    return emitError() << "(C2) expects sums of gradients in f32, or in bf16 "
                          "with precision bf16 or fp8, but got "
                       << stringify(plan.gradDType) << " with "
                       << stringify(plan.precision);
  return success();
}
