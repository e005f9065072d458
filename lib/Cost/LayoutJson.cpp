//===- LayoutJson.cpp - Plan files ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of fields serves both directions, so that what is written is what
// is read.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Layout.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

const char *tessera::cost::stringify(Recompute value) {
  const char *names[] = {"none", "selective", "full", "products"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(Scatter value) {
  const char *names[] = {"each", "round", "last"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(Precision value) {
  const char *names[] = {"f32", "bf16", "f16", "fp8"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(GradDType value) {
  const char *names[] = {"f32", "bf16", "bf16+f32"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(OptimizerKind value) {
  const char *names[] = {"adamw", "adamw-no-master", "adamw-8bit", "sgd"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(Offload value) {
  const char *names[] = {"none", "host", "nvme"};
  return names[static_cast<int>(value)];
}
const char *tessera::cost::stringify(AttentionKind value) {
  const char *names[] = {"flash", "naive"};
  return names[static_cast<int>(value)];
}

/// Calls visitor(name, field) for each field of a layout, and with the number
/// of values for an enum.
template <typename LayoutT, typename VisitorT>
static void forEachField(LayoutT &l, VisitorT &visitor) {
  visitor("gpus", l.gpus);
  visitor("dp", l.dp);
  visitor("tp", l.tp);
  visitor("pp", l.pp);
  visitor("cp", l.cp);
  visitor("ep", l.ep);
  visitor("sp", l.sp);
  visitor("zero", l.zero);
  visitor.named("zero2-reduce", l.scatter, 3);
  visitor("shard-ranks", l.shardRanks);
  visitor("seq", l.seq);
  visitor("micro-batch", l.microBatch);
  visitor("global-batch", l.globalBatch);
  visitor("schedule", l.schedule);
  visitor("vpp", l.vpp);
  visitor("stage-layers", l.stageLayers);
  visitor.named("recompute", l.recompute, 4);
  visitor("checkpoint-every", l.checkpointEvery);
  visitor.named("precision", l.precision, 4);
  visitor.named("grad-dtype", l.gradDType, 3);
  visitor("grad-copy-bytes", l.gradCopyBytes);
  visitor("f32-parameters", l.f32Parameters);
  visitor.named("optimizer", l.optimizer, 4);
  visitor.named("offload", l.offload, 3);
  visitor.named("attention", l.attention, 2);
  visitor("dropout", l.dropout);
  visitor("eager", l.eager);
  visitor("keep-gathered", l.keepGathered);
  visitor("fused-loss", l.fusedLoss);
  visitor("frozen", l.frozen);
  visitor("scatter-transfers", l.scatterTransfers);
  visitor("overlap", l.overlap);
  visitor("overlap-tp", l.overlapTp);
}

namespace {

struct Writer {
  json::Object object;
  template <typename T> void operator()(const char *name, const T &value) {
    object[name] = json::Value(value);
  }
  void operator()(const char *name, const std::vector<int64_t> &values) {
    object[name] = json::Array(values);
  }
  template <typename T> void named(const char *name, T value, int) {
    object[name] = stringify(value);
  }
};

struct Reader {
  const json::Object &object;
  std::string error;
  SmallVector<StringRef, 32> known;

  void fail(StringRef name, const Twine &what, const json::Value &found) {
    if (error.empty())
      error = formatv("{0}: expects {1} but got {2}", name, what.str(), found);
  }
  const json::Value *get(const char *name) {
    known.push_back(name);
    return object.get(name);
  }
  void operator()(const char *name, int64_t &field) {
    if (const json::Value *value = get(name)) {
      if (auto number = value->getAsInteger())
        field = *number;
      else
        fail(name, "an integer", *value);
    }
  }
  void operator()(const char *name, int &field) {
    int64_t wide = field;
    (*this)(name, wide);
    field = wide;
  }
  void operator()(const char *name, bool &field) {
    if (const json::Value *value = get(name)) {
      if (auto flag = value->getAsBoolean())
        field = *flag;
      else
        fail(name, "true or false", *value);
    }
  }
  void operator()(const char *name, std::string &field) {
    if (const json::Value *value = get(name)) {
      if (auto text = value->getAsString())
        field = text->str();
      else
        fail(name, "a string", *value);
    }
  }
  void operator()(const char *name, std::vector<int64_t> &field) {
    const json::Value *value = get(name);
    if (!value)
      return;
    const json::Array *list = value->getAsArray();
    if (!list)
      return fail(name, "a list of integers", *value);
    field.clear();
    for (const json::Value &entry : *list) {
      auto number = entry.getAsInteger();
      if (!number)
        return fail(name, "a list of integers", entry);
      field.push_back(*number);
    }
  }
  template <typename T> void named(const char *name, T &field, int count) {
    const json::Value *value = get(name);
    if (!value)
      return;
    auto text = value->getAsString();
    std::string names;
    for (int i = 0; i < count; ++i) {
      const char *candidate = stringify(static_cast<T>(i));
      if (text && *text == candidate) {
        field = static_cast<T>(i);
        return;
      }
      names += (i ? ", " : "") + std::string(candidate);
    }
    fail(name, "one of " + names, *value);
  }
};

} // namespace

json::Object tessera::cost::toJson(const Layout &layout) {
  Writer writer;
  forEachField(layout, writer);
  return std::move(writer.object);
}

Expected<Layout> tessera::cost::layoutFromJson(const json::Object &object) {
  Layout layout;
  Reader reader{object, "", {}};
  forEachField(layout, reader);
  std::set<std::string> names;
  for (const auto &entry : object)
    names.insert(entry.first.str());
  for (const std::string &name : names)
    if (reader.error.empty() && !is_contained(reader.known, StringRef(name)))
      reader.error = formatv("{0}: expects a known field{1}", name,
                             didYouMean(name, reader.known));
  if (!reader.error.empty())
    return createStringError(reader.error);
  return layout;
}
