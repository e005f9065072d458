//===- Linker.cpp - The linker in the tool --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tessera ld.lld ...` is LLVM's linker. `tessera compile` starts it as a
// child, since it may end its process at an error.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

int tessera::runLinker(Arguments arguments) {
  std::vector<const char *> words = {"ld.lld"};
  for (llvm::StringRef argument : arguments)
    words.push_back(argument.data());
  return lld::lldMain(words, llvm::outs(), llvm::errs(),
                      {{lld::Gnu, &lld::elf::link}})
      .retCode;
}
