//===- PrintFile.cpp - A sharding file as text ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each tensor, input and module; axes of the mesh in their order.
//
//===----------------------------------------------------------------------===//

#include "FileKeys.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;

namespace {
class FilePrinter {
public:
  FilePrinter(const ShardingFile &file, llvm::raw_ostream &os)
      : file(file), os(os) {}
  void print();

private:
  llvm::json::Value toJson(const AxisList &axes) const;
  llvm::json::Value toJson(const DimAxes &dims) const;
  Object toJson(const ShardedView &view) const;
  Object toJson(const ShardedTensor &tensor) const;
  Object toJson(const ShardedInput &input) const;
  Object toJson(const ShardedModule &module) const;
  template <typename T>
  void printEach(llvm::StringRef key, const std::map<std::string, T> &entries);

  const ShardingFile &file;
  llvm::raw_ostream &os;
};
} // namespace

/// Returns the name of an axis, or "tp:(1)2".
static std::string printAxis(const Mesh &mesh, const AxisRef &ref) {
  const std::string &name = mesh.names[ref.axis];
  if (ref == mesh.fullAxis(ref.axis))
    return name;
  return name + ":(" + std::to_string(ref.preSize) + ")" +
         std::to_string(ref.size);
}

llvm::json::Value FilePrinter::toJson(const AxisList &axes) const {
  Array names;
  for (const AxisRef &axis : axes)
    names.push_back(printAxis(file.mesh, axis));
  return names;
}

llvm::json::Value FilePrinter::toJson(const DimAxes &dims) const {
  Array all;
  for (const AxisList &axes : dims)
    all.push_back(toJson(axes));
  return all;
}

/// Marks a sharding that is no seed.
static Object markPropagated(Object entry, bool isPropagated) {
  if (isPropagated)
    entry["propagated"] = true;
  return entry;
}

Object FilePrinter::toJson(const ShardedView &view) const {
  Object entry{{"name", view.name},
               {"offset", view.offset},
               {"shape", Array(view.shape)},
               {"strides", Array(view.strides)},
               {"axes", toJson(view.axes)}};
  return markPropagated(std::move(entry), view.isPropagated);
}

Object FilePrinter::toJson(const ShardedTensor &tensor) const {
  Object entry{{"shape", Array(tensor.shape)}};
  if (tensor.axes) {
    entry["axes"] = toJson(*tensor.axes);
    return markPropagated(std::move(entry), tensor.isPropagated);
  }
  Array views;
  for (const ShardedView &view : tensor.views)
    views.push_back(toJson(view));
  entry["views"] = std::move(views);
  return entry;
}

Object FilePrinter::toJson(const ShardedInput &input) const {
  Object entry{{"axes", toJson(input.axes)}};
  if (input.shape)
    entry["shape"] = Array(*input.shape);
  return markPropagated(std::move(entry), input.isPropagated);
}

Object FilePrinter::toJson(const ShardedModule &module) const {
  Object entry{{"input", toJson(module.input)},
               {"output", toJson(module.output)}};
  if (!module.outputPartial.empty())
    entry["output_partial"] = toJson(module.outputPartial);
  return entry;
}

template <typename T>
void FilePrinter::printEach(llvm::StringRef key,
                            const std::map<std::string, T> &entries) {
  os << ",\n \"" << key << "\": {";
  llvm::interleave(
      entries, os,
      [&](const auto &entry) {
        os << "\n  " << llvm::json::Value(entry.first) << ": "
           << llvm::json::Value(toJson(entry.second));
      },
      ",");
  os << "}";
}

void FilePrinter::print() {
  os << "{\"tessera\": " << llvm::json::Value(kFileMagic)
     << ", \"version\": " << kFileVersion << ",\n \"mesh\": {";
  llvm::interleaveComma(
      llvm::zip_equal(file.mesh.names, file.mesh.sizes), os, [&](auto axis) {
        os << llvm::json::Value(std::get<0>(axis)) << ": " << std::get<1>(axis);
      });
  os << "},\n \"plan\": {";
  llvm::SmallVector<const PlanField *> given;
  for (llvm::StringRef name : kLayoutFields)
    if (file.plan.has(name))
      given.push_back(findField<Plan>(name));
  llvm::interleaveComma(given, os, [&](const PlanField *field) {
    os << llvm::json::Value(field->name) << ": "
       << field->toJson(file.plan.plan);
  });
  os << "}";
  if (file.strategy)
    os << ",\n \"strategy\": "
       << llvm::json::Value(tessera::print(*file.strategy));
  printEach("tensors", file.tensors);
  printEach("modules", file.modules);
  printEach("inputs", file.inputs);
  if (!file.decisions.empty())
    os << ",\n \"decisions\": "
       << llvm::cantFail(llvm::json::parse(file.decisions));
  os << "}\n";
}

void tessera::printShardingFile(const ShardingFile &file,
                                llvm::raw_ostream &os) {
  FilePrinter(file, os).print();
}
