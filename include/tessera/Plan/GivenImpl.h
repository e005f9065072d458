//===- GivenImpl.h - Definitions of Given's functions -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the sources that instantiate Given.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_GIVENIMPL_H
#define TESSERA_PLAN_GIVENIMPL_H

#include "tessera/Plan/FieldImpl.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Spelling.h"

namespace tessera {

/// The position of a field in its table.
template <typename StructT> size_t indexOf(const Field<StructT> &field) {
  return &field - getFields<StructT>().begin();
}

/// "tp: expects an integer from 1 to 4 but got ...".
template <typename StructT>
llvm::Error makeFieldError(const Field<StructT> &field,
                           const llvm::Twine &got) {
  return llvm::createStringError(field.name + ": expects " + field.getForm() +
                                 " but got " + got);
}

/// The error for a name that no field of StructT has.
template <typename StructT> llvm::Error makeUnknownField(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> known;
  for (const Field<StructT> &field : getFields<StructT>())
    known.push_back(field.name);
  return llvm::createStringError(name + ": expects a known field" +
                                 didYouMean(name, known));
}

template <typename PlanT> bool Given<PlanT>::has(llvm::StringRef name) const {
  const Field<PlanT> *field = findField<PlanT>(name);
  return field && !given.empty() && given.test(indexOf(*field));
}

/// False if the text is not a value of the field.
template <typename PlanT>
bool Given<PlanT>::assign(const Field<PlanT> &field, llvm::StringRef text) {
  if (std::holds_alternative<typename Field<PlanT>::Derived>(field.type)) {
    std::optional<int64_t> number = parseCount(text);
    if (!number || *number < 1 || *number > kMostCount)
      return false;
    (field.name == "ranks" ? gpus : globalBatch) = *number;
  } else if (!field.parse(text, plan)) {
    return false;
  }
  given.resize(getFields<PlanT>().size());
  given.set(indexOf(field));
  return true;
}

template <typename PlanT> void Given<PlanT>::setAll(const Plan &other) {
  static_cast<Plan &>(plan) = other;
  given.resize(getFields<PlanT>().size());
  for (const PlanField &field : getFields<Plan>())
    if (!std::holds_alternative<PlanField::Derived>(field.type))
      given.set(indexOf(field));
}

template <typename PlanT> void Given<PlanT>::set(const Given &other) {
  for (const Field<PlanT> &field : getFields<PlanT>())
    if (other.has(field.name))
      assign(field, field.print(other.plan));
}

template <typename PlanT> void Given<PlanT>::forget(llvm::StringRef name) {
  if (has(name))
    given.reset(indexOf(*findField<PlanT>(name)));
}

template <typename PlanT>
Given<PlanT> Given<PlanT>::without(const Given &other) const {
  Given rest = *this;
  rest.given.reset(other.given);
  return rest;
}

template <typename PlanT>
llvm::Error Given<PlanT>::set(llvm::StringRef name, llvm::StringRef text) {
  const Field<PlanT> *field = findField<PlanT>(name);
  if (!field)
    return makeUnknownField<PlanT>(name);
  if (assign(*field, text)) {
    // Both fields set the same value; the last one wins.
    if (name == "micro-batches")
      forget("global-batch");
    else if (name == "global-batch")
      forget("micro-batches");
    return llvm::Error::success();
  }
  llvm::SmallVector<llvm::StringRef> names;
  if (auto *choice = std::get_if<typename Field<PlanT>::Choice>(&field->type))
    llvm::append_range(names, choice->names());
  return makeFieldError(*field, "'" + text + "'" + didYouMean(text, names));
}

template <typename PlanT>
llvm::Error Given<PlanT>::parse(llvm::StringRef text) {
  // A part without a name continues a list.
  std::string name, value;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::tie(name, value) = parts[i].split('=');
    while (i + 1 < parts.size() && !parts[i + 1].contains('='))
      value += "," + parts[++i].str();
    if (llvm::Error error = set(name, value))
      return error;
  }
  return llvm::Error::success();
}

template <typename PlanT>
llvm::Error Given<PlanT>::read(const llvm::json::Object &object) {
  for (llvm::StringRef name : sortKeys(object))
    if (!findField<PlanT>(name))
      return makeUnknownField<PlanT>(name);
  if (object.get("global-batch") && object.get("micro-batches"))
    return llvm::createStringError(
        "micro-batches: expects no global-batch beside it");
  for (const Field<PlanT> &field : getFields<PlanT>()) {
    const llvm::json::Value *value = object.get(field.name);
    if (const llvm::json::Value *old = object.get(field.old)) {
      if (value)
        return llvm::createStringError(field.name + ": expects no " +
                                       field.old + " beside it");
      value = old;
    }
    if (!value)
      continue;
    std::optional<std::string> text = field.toText(*value);
    if (!text || !assign(field, *text))
      return makeFieldError(field, llvm::formatv("{0}", *value).str());
  }
  return llvm::Error::success();
}

template <typename PlanT> llvm::Error Given<PlanT>::complete() {
  if (llvm::Error error = plan.checkFields())
    return takeFirst(std::move(error));
  if (has("ranks")) {
    double others = double(plan.tp) * plan.pp * plan.cp;
    if (!has("dp") && others <= gpus && gpus % int64_t(others) == 0)
      plan.dp = gpus / int64_t(others);
    if (llvm::Error error = plan.checkDevices(gpus))
      return error;
  }
  if (has("global-batch"))
    return plan.setGlobalBatch(globalBatch);
  return llvm::Error::success();
}

} // namespace tessera

#endif // TESSERA_PLAN_GIVENIMPL_H
