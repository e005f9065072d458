//===- Operation.cpp - Kinds of collectives and groups of ranks -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Operation.h.
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "Control.h"

using namespace tessera::rt;

const char *tessera::rt::opName(OpKind op) {
  static const char *const names[] = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute",
      "broadcast",  "send",           "recv",       "barrier"};
  int32_t index = int32_t(op);
  return index >= 0 && index <= int32_t(OpKind::Barrier) ? names[index] : "?";
}

const char *tessera::rt::reductionName(int32_t reduction) {
  static const char *const names[] = {"sum", "max", "min"};
  return reduction >= 0 && reduction < 3 ? names[reduction] : "?";
}

const char *tessera::rt::barrierName(int64_t id) {
  static const char *const names[] = {
      "all ranks started",   "all ranks agree", "all is ready",
      "arguments are ready", "step is done",    "outputs are written",
      "program is done"};
  return id >= 0 && id <= BarrierEnd ? names[id] : "?";
}

int64_t tessera::rt::digitsIndex(const Digit *digits, size_t count,
                                 int64_t rank) {
  int64_t index = 0;
  for (size_t i = 0; i < count; ++i)
    index = index * digits[i].size + rank / digits[i].stride % digits[i].size;
  return index;
}

int64_t tessera::rt::digitsProduct(const Digit *digits, size_t count) {
  int64_t product = 1;
  for (size_t i = 0; i < count; ++i)
    product *= digits[i].size;
  return product;
}

/// Name of one digit; see describeDigits.
static std::string describeDigit(const Digit &digit,
                                 const std::vector<MeshAxis> &mesh) {
  int64_t stride = 1;
  for (size_t i = mesh.size(); i-- > 0;) {
    int64_t end = stride * mesh[i].size;
    if (digit.stride == stride && digit.size == mesh[i].size)
      return mesh[i].name;
    if (digit.stride >= stride && digit.stride * digit.size <= end)
      return format("%s:(%lld)%lld", mesh[i].name.c_str(),
                    (long long)(end / (digit.stride * digit.size)),
                    (long long)digit.size);
    stride = end;
  }
  return format("{%lld,%lld}", (long long)digit.stride, (long long)digit.size);
}

std::string tessera::rt::describeDigits(const std::vector<Digit> &digits,
                                        const std::vector<MeshAxis> &mesh) {
  std::string text;
  for (const Digit &digit : digits) {
    if (!text.empty())
      text += ",";
    text += describeDigit(digit, mesh);
  }
  return text;
}

std::string tessera::rt::makeGroup(const int64_t *axes, int32_t numAxes,
                                   int rank, int ranks,
                                   const std::vector<MeshAxis> &mesh,
                                   Group &group) {
  // The group's base: this rank with all digits of the group at zero.
  int64_t base = rank;
  for (int32_t i = 0; i < numAxes; ++i) {
    Digit digit{axes[2 * i], axes[2 * i + 1]};
    if (digit.stride < 1 || digit.size < 1 ||
        ranks % (digit.stride * digit.size) != 0)
      return format("expects digits {stride, size} whose product divides %d "
                    "ranks, but got {%lld, %lld}",
                    ranks, (long long)digit.stride, (long long)digit.size);
    base -= rank / digit.stride % digit.size * digit.stride;
    group.digits.push_back(digit);
  }
  size_t count = group.digits.size();
  int64_t size = digitsProduct(group.digits.data(), count);
  if (base < 0 || size > ranks)
    return format("expects digits that do not overlap, but got %lld members",
                  (long long)size);
  for (int64_t index = 0; index < size; ++index) {
    int64_t member = base, rest = index;
    for (size_t i = count; i-- > 0;) {
      member += rest % group.digits[i].size * group.digits[i].stride;
      rest /= group.digits[i].size;
    }
    if (member >= ranks ||
        digitsIndex(group.digits.data(), count, member) != index)
      return "expects digits that do not overlap";
    group.members.push_back(int(member));
  }
  group.index = int(digitsIndex(group.digits.data(), count, rank));
  group.hash = hashBytes(axes, size_t(numAxes) * 16);
  group.hash = hashBytes(&base, sizeof(base), group.hash);
  group.name = describeDigits(group.digits, mesh);
  return std::string();
}
