//===- Choices.cpp - Tables of which a page shows chosen rows -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Choices.h"

using namespace tessera;
using llvm::StringRef;

std::vector<std::pair<std::string, std::string>>
tessera::listChoices(const DocumentSection &section, StringRef figure) {
  std::vector<std::pair<std::string, std::string>> choices;
  const Table *chosen = section.find("chosen");
  if (!chosen || chosen->getColumns().size() < 3)
    return choices;
  for (const auto &row : chosen->getRows())
    if (row[0].text == figure && !row[2].text.empty())
      choices.emplace_back(row[1].text, row[2].text);
  return choices;
}

Table tessera::chooseRows(const DocumentSection &section, StringRef figure) {
  const Table *table = section.find(figure);
  auto choices = listChoices(section, figure);
  if (!table || table->getColumns().size() <= choices.size())
    return Table();
  Table shown(table->getColumns().drop_front(choices.size()).vec());
  // Columns of texts are aligned to the left.
  for (size_t i = 1; i < shown.getColumns().size(); ++i)
    if (llvm::all_of(table->getRows(), [&](const auto &row) {
          return !row[i + choices.size()].value;
        }))
      shown.alignLeft(i);
  for (const auto &row : table->getRows()) {
    bool isChosen = true;
    for (size_t i = 0; i < choices.size(); ++i)
      isChosen &= row[i].text == choices[i].second;
    if (isChosen)
      shown.addRow({row.begin() + choices.size(), row.end()});
  }
  return shown;
}
