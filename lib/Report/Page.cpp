//===- Page.cpp - A document as a page of HTML ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page runs two texts that the build joined from page/ and D3: a style and a
// script. Its policy allows these by their hashes and nothing else, so that no
// name in a document can run or load anything.
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Page.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/SHA256.h"

using namespace tessera;
using llvm::StringRef;

#ifdef TESSERA_HAS_PAGE
// The texts of Page.S.
extern "C" const char tessera_page_html[], tessera_page_html_end[],
    tessera_page_style[], tessera_page_style_end[], tessera_page_script[],
    tessera_page_script_end[];

/// Larger documents are compressed.
static constexpr size_t kMaxPlainData = 256 << 10;

static std::string hashText(StringRef text) {
  llvm::SHA256 hash;
  hash.update(text);
  return "sha256-" + llvm::encodeBase64(hash.final());
}

/// Escapes text between tags.
static std::string escapeText(StringRef text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

/// Escapes JSON so that no part of it is a tag or an entity. The characters are
/// only in strings.
static std::string escapeJson(StringRef text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '<':
      escaped += "\\u003c";
      break;
    case '>':
      escaped += "\\u003e";
      break;
    case '&':
      escaped += "\\u0026";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

/// The content of the data's element: JSON of the document, or a JSON string of
/// its compressed text in base 64.
static std::string makeData(const Document &document) {
  llvm::json::Object object = document.toJson();
  for (const auto &field : document.fields)
    object.erase(field.first);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  if (text.size() <= kMaxPlainData || !llvm::compression::zlib::isAvailable())
    return escapeJson(text);
  llvm::SmallVector<uint8_t, 0> compressed;
  llvm::compression::zlib::compress(
      llvm::arrayRefFromStringRef(text), compressed,
      llvm::compression::zlib::BestSizeCompression);
  return "\"" + llvm::encodeBase64(compressed) + "\"";
}

llvm::Expected<std::string> tessera::makePage(const Document &document) {
  StringRef html(tessera_page_html, tessera_page_html_end - tessera_page_html);
  StringRef style(tessera_page_style,
                  tessera_page_style_end - tessera_page_style);
  StringRef script(tessera_page_script,
                   tessera_page_script_end - tessera_page_script);
  std::string page;
  while (!html.empty()) {
    auto [before, rest] = html.split("{{");
    page += before;
    auto [name, after] = rest.split("}}");
    html = after;
    if (name == "style-hash")
      page += hashText(style);
    else if (name == "script-hash")
      page += hashText(script);
    else if (name == "title")
      page += escapeText(llvm::json::fixUTF8(document.title));
    else if (name == "style")
      page += style;
    else if (name == "script")
      page += script;
    else if (name == "data")
      page += makeData(document);
  }
  return page;
}
#else
llvm::Expected<std::string> tessera::makePage(const Document &) {
  return llvm::createStringError(
      "a page expects a tessera that is built with D3: Debian's package "
      "node-d3, or cmake -DTESSERA_D3_JS=FILE");
}
#endif
