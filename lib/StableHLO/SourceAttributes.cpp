//===- SourceAttributes.cpp - Attributes of StableHLO's ops ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceAttributes.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tessera::stablehlo;

namespace {

/// Reads words, integers and punctuation from the left of a text.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  bool take(char c) {
    text = text.ltrim();
    return text.consume_front(StringRef(&c, 1));
  }
  StringRef takeWord() {
    text = text.ltrim();
    StringRef word =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    text = text.drop_front(word.size());
    return word;
  }
  bool takeInteger(int64_t &value) {
    text = text.ltrim();
    return !text.consumeInteger(10, value);
  }
  bool isAtEnd() const { return text.trim().empty(); }

private:
  StringRef text;
};

/// Reads `2` or `[0, 1]`.
bool readNumbers(Scanner &scanner, SmallVectorImpl<int64_t> &numbers) {
  int64_t number = 0;
  if (!scanner.take('[')) {
    if (!scanner.takeInteger(number))
      return false;
    numbers.push_back(number);
    return true;
  }
  if (scanner.take(']'))
    return true;
  do {
    if (!scanner.takeInteger(number))
      return false;
    numbers.push_back(number);
  } while (scanner.take(','));
  return scanner.take(']');
}

} // namespace

std::optional<Fields>
tessera::stablehlo::parseFields(StringRef text, StringRef mnemonic,
                                ArrayRef<StringRef> known) {
  Scanner scanner(text);
  if (scanner.takeWord() != mnemonic || !scanner.take('<'))
    return std::nullopt;
  Fields fields;
  while (!scanner.take('>')) {
    StringRef name = scanner.takeWord();
    auto [field, isNew] = fields.try_emplace(name);
    if (!llvm::is_contained(known, name) || !isNew || !scanner.take('=') ||
        !readNumbers(scanner, field->second))
      return std::nullopt;
    scanner.take(',');
  }
  if (!scanner.isAtEnd())
    return std::nullopt;
  return fields;
}

Attribute tessera::stablehlo::getSourceAttr(Operation *op, StringRef name) {
  if (Attribute attr = op->getDiscardableAttr(name))
    return attr;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

StringRef tessera::stablehlo::getText(Attribute attr) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attr);
  return opaque ? opaque.getAttrData() : StringRef();
}

StringRef tessera::stablehlo::getCase(Attribute attr, StringRef mnemonic) {
  auto [name, value] = getText(attr).split(' ');
  return name == mnemonic ? value.trim() : StringRef();
}

std::optional<SmallVector<int64_t>>
tessera::stablehlo::getIntegers(Attribute attr) {
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return llvm::to_vector(array.asArrayRef());
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr);
  if (!dense || !dense.getElementType().isInteger(64) ||
      dense.getType().getRank() > 1)
    return std::nullopt;
  return llvm::to_vector(dense.getValues<int64_t>());
}
