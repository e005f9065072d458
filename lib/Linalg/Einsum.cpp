//===- Einsum.cpp - Einsums as loops --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Linalg/Einsum.h"
#include "dialects/NN/NN.h"
#include "tessera/Linalg/Patterns.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using Letters = Einsum::Letters;

int64_t Einsum::size(llvm::ArrayRef<unsigned> letters) const {
  int64_t product = 1;
  for (unsigned letter : letters)
    product *= sizes[letter];
  return product;
}

llvm::Error Einsum::check() const {
  for (const Letters *tensor : {&lhs, &rhs, &result})
    for (size_t i = 0; i < tensor->size(); ++i) {
      if ((*tensor)[i] >= sizes.size())
        return llvm::createStringError("a letter without a size");
      if (llvm::is_contained(llvm::ArrayRef(*tensor).drop_front(i + 1),
                             (*tensor)[i]))
        return llvm::createStringError("a letter twice in one tensor");
    }
  for (unsigned letter = 0; letter < sizes.size(); ++letter)
    if (llvm::is_contained(lhs, letter) + llvm::is_contained(rhs, letter) +
            llvm::is_contained(result, letter) <
        2)
      return llvm::createStringError("a letter in one tensor only");
  return llvm::Error::success();
}

Einsum tessera::getEinsum(nn::EinsumOp op) {
  nn::EinsumOp::Letters spec = op.getLetters();
  SmallVector<char> names;
  Einsum einsum;
  auto number = [&](StringRef text, Letters &letters) {
    for (char c : text) {
      auto *known = llvm::find(names, c);
      letters.push_back(known - names.begin());
      if (known == names.end())
        names.push_back(c);
    }
  };
  number(spec.lhs, einsum.lhs);
  number(spec.rhs, einsum.rhs);
  number(spec.result, einsum.result);
  einsum.sizes.resize(names.size(), 1);
  auto size = [&](const Letters &letters, Value tensor) {
    for (auto [letter, size] : llvm::zip(
             letters, cast<RankedTensorType>(tensor.getType()).getShape()))
      einsum.sizes[letter] = size;
  };
  size(einsum.lhs, op.getLhs());
  size(einsum.rhs, op.getRhs());
  return einsum;
}

Value tessera::buildContraction(GenericBuilder &b, const Einsum &e, Value lhs,
                                Value rhs, RankedTensorType type) {
  unsigned n = e.sizes.size();
  Type wide = getWideType(type.getElementType());
  Value sum = b.reduce(Combiner::Sum, e.sizes, b.project(n, e.result), wide,
                       {{lhs, b.project(n, e.lhs)}, {rhs, b.project(n, e.rhs)}},
                       [&](ValueRange v) -> Value {
                         Value x = b.cast(v[0], wide);
                         Value y = b.cast(v[1], wide);
                         if (isa<FloatType>(wide))
                           return arith::MulFOp::create(b, x, y);
                         return arith::MulIOp::create(b, x, y);
                       });
  return b.castTensor(sum, type.getElementType());
}
