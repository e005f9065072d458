//===- Messages.cpp - Messages between agents and the root ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Messages.h. One function per message names its fields, for both
// directions.
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include <cstring>
#include <type_traits>

using namespace tessera::rt;

namespace {
/// Appends fields to bytes.
class FieldWriter {
public:
  explicit FieldWriter(MessageKind kind) : bytes(1, char(kind)) {}
  template <typename T> void number(T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void text(std::string &value) {
    uint32_t size = uint32_t(value.size());
    number(size);
    bytes += value;
  }
  template <typename T, typename Field>
  void list(std::vector<T> &values, Field &&field) {
    uint32_t size = uint32_t(values.size());
    number(size);
    for (T &value : values)
      field(value);
  }
  std::string bytes;
};

/// Takes fields from bytes.
class FieldReader {
public:
  explicit FieldReader(const std::string &bytes)
      : bytes(bytes), isWhole(!bytes.empty()) {}
  template <typename T> void number(T &value) {
    isWhole = isWhole && bytes.size() - at >= sizeof(value);
    if (!isWhole)
      return;
    memcpy(static_cast<void *>(&value), bytes.data() + at, sizeof(value));
    at += sizeof(value);
  }
  void text(std::string &value) {
    uint32_t size = 0;
    number(size);
    isWhole = isWhole && bytes.size() - at >= size;
    if (!isWhole)
      return;
    value = bytes.substr(at, size);
    at += size;
  }
  template <typename T, typename Field>
  void list(std::vector<T> &values, Field &&field) {
    uint32_t size = 0;
    number(size);
    // An element has at least a byte, so a size beyond that is no size.
    isWhole = isWhole && size <= bytes.size() - at;
    for (uint32_t i = 0; isWhole && i < size; ++i) {
      values.emplace_back();
      field(values.back());
    }
  }
  bool isOver() const { return isWhole && at == bytes.size(); }

private:
  const std::string &bytes;
  size_t at = 1;
  bool isWhole;
};
} // namespace

template <typename Fields> static void visit(Fields &f, Hello &m) {
  f.number(m.abiVersion);
  f.number(m.node);
  f.number(m.nodes);
  f.number(m.perNode);
  f.text(m.host);
  f.text(m.program);
  f.text(m.successor);
  f.list(m.facts, [&](Fact &fact) {
    f.text(fact.name);
    f.text(fact.value);
  });
}

template <typename Fields> static void visit(Fields &f, Welcome &m) {
  f.text(m.token);
  f.list(m.hosts, [&](std::string &host) { f.text(host); });
  f.text(m.successor);
}

template <typename Fields> static void visit(Fields &f, MeetMessage &m) {
  f.number(m.number);
  f.number(m.facts);
  f.list(m.parts, [&](std::string &part) { f.text(part); });
}

template <typename Fields> static void visit(Fields &f, States &m) {
  f.list(m.ranks, [&](RankSnapshot &rank) {
    f.number(rank.rank);
    f.number(rank.process);
    f.number(rank.hasStarted);
    f.number(rank.hasFinished);
    f.number(rank.waitingFor);
    f.number(rank.stepsBegun);
    f.text(rank.work);
  });
}

template <typename Fields> static void visit(Fields &f, Verdict &m) {
  f.number(m.status);
  f.text(m.text);
  f.number(m.committed);
}

template <typename Fields> static void visit(Fields &f, LateMessage &m) {
  f.number(m.rank);
  f.number(m.missing);
  f.number(m.waited);
  f.text(m.what);
}

template <typename T> static std::string write(MessageKind kind, T message) {
  FieldWriter writer(kind);
  visit(writer, message);
  return std::move(writer.bytes);
}

template <typename T> static bool read(const std::string &bytes, T &message) {
  FieldReader reader(bytes);
  visit(reader, message);
  return reader.isOver();
}

std::string tessera::rt::encode(const Hello &message) {
  return write(MessageKind::Hello, message);
}
std::string tessera::rt::encode(const Welcome &message) {
  return write(MessageKind::Welcome, message);
}
std::string tessera::rt::encode(const MeetMessage &message, bool isOver) {
  return write(isOver ? MessageKind::MeetOver : MessageKind::Meet, message);
}
std::string tessera::rt::encode(const States &message) {
  return write(MessageKind::States, message);
}
std::string tessera::rt::encode(const Verdict &message, bool isFinal) {
  return write(isFinal ? MessageKind::Verdict : MessageKind::Failure, message);
}
std::string tessera::rt::encode(const LateMessage &message) {
  return write(MessageKind::Late, message);
}
std::string tessera::rt::encode(MessageKind kind) {
  return std::string(1, char(kind));
}

bool tessera::rt::readKind(const std::string &bytes, MessageKind &kind) {
  if (bytes.empty() || uint8_t(bytes[0]) > uint8_t(MessageKind::Bye))
    return false;
  kind = MessageKind(bytes[0]);
  return true;
}

bool tessera::rt::decode(const std::string &bytes, Hello &message) {
  return read(bytes, message);
}
bool tessera::rt::decode(const std::string &bytes, Welcome &message) {
  return read(bytes, message);
}
bool tessera::rt::decode(const std::string &bytes, MeetMessage &message) {
  return read(bytes, message);
}
bool tessera::rt::decode(const std::string &bytes, States &message) {
  return read(bytes, message);
}
bool tessera::rt::decode(const std::string &bytes, Verdict &message) {
  return read(bytes, message);
}
bool tessera::rt::decode(const std::string &bytes, LateMessage &message) {
  return read(bytes, message);
}
