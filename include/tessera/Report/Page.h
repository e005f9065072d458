//===- Page.h - A document as a page of HTML --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page is one file without requests: it holds style, scripts and the
// document. The scripts draw the document's numbers and compute none.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_PAGE_H
#define TESSERA_REPORT_PAGE_H

#include "tessera/Report/Document.h"

namespace tessera {

/// Returns the page of a document. Fails if this tessera was built without D3.
llvm::Expected<std::string> makePage(const Document &document);

} // namespace tessera

#endif // TESSERA_REPORT_PAGE_H
