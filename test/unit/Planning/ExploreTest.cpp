//===- ExploreTest.cpp - All layouts of a space ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/Explore.h"
#include "TestModels.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;

namespace {

std::vector<std::string> listTexts(StringRef name, StringRef text,
                                   int64_t devices = 64) {
  auto choice = FieldChoice::parse(*findField<ExecutedPlan>(name), text);
  EXPECT_TRUE(bool(choice)) << llvm::toString(choice.takeError());
  auto texts = choice->listTexts(devices);
  if (texts)
    return *texts;
  return {llvm::toString(texts.takeError())};
}

ExploredOption option(StringRef name, std::vector<std::string> values) {
  return {findField<ExecutedPlan>(name), std::move(values)};
}

ExploredSpace makeSpace(std::vector<ExploredOption> options) {
  return llvm::cantFail(ExploredSpace::make(std::move(options)));
}

std::string errorOf(std::vector<ExploredOption> options) {
  auto space = ExploredSpace::make(std::move(options));
  return space ? "" : llvm::toString(space.takeError());
}

/// Sets the options of a plan of 64 devices and 256 sequences.
llvm::Expected<ExecutedPlan> makePlan(const ExploredSpace &space,
                                      llvm::ArrayRef<StringRef> values) {
  GivenExecutedPlan given;
  given.plan.precision = Precision::BF16;
  given.plan.seq = 2048;
  llvm::cantFail(given.set("ranks", "64"));
  llvm::cantFail(given.set("global-batch", "256"));
  for (auto [option, value] : llvm::zip(space.getOptions(), values))
    llvm::cantFail(given.set(option.field->name, value == "on"    ? "true"
                                                 : value == "off" ? "false"
                                                                  : value));
  if (llvm::Error error = given.complete())
    return std::move(error);
  return given.plan;
}

llvm::Expected<Exploration> tryExplore(const ExploredSpace &space,
                                       size_t numThreads = 1) {
  PlanQuestion question;
  question.model = "llama";
  auto makeOne = [&](llvm::ArrayRef<StringRef> values) {
    return makePlan(space, values);
  };
  return explore(space, Subject{llama(), {}, {}}, cluster(), question, makeOne,
                 numThreads);
}

using Texts = std::vector<std::string>;

/// Lists keep their order; ranges have their ends and round numbers.
TEST(Explore, values) {
  EXPECT_EQ(listTexts("tp", "8,2,8"), (Texts{"8", "2"}));
  EXPECT_EQ(listTexts("tp", "2..17"),
            (Texts{"2", "3", "4", "6", "8", "12", "16", "17"}));
  EXPECT_EQ(listTexts("tp", "..4,7"), (Texts{"1", "2", "3", "4", "7"}));
  EXPECT_EQ(listTexts("tp", "8..", 20), (Texts{"8", "12", "16", "20"}));
  EXPECT_EQ(listTexts("tp", "32..", 20), (Texts{"32"}));
  EXPECT_EQ(listTexts("zero", "0.."), (Texts{"0", "1", "2", "3"}));
  EXPECT_EQ(listTexts("sp", "on,off"), (Texts{"on", "off"}));
  EXPECT_EQ(listTexts("schedule", "zb-v,1f1b"), (Texts{"zb-v", "1f1b"}));
  EXPECT_EQ(listTexts("stage-layers", "7,8.5,8"), (Texts{"7,8.5,8"}));
  EXPECT_EQ(listTexts("micro-batch", "2.."),
            Texts{"micro-batch: expects a list, or a range with both ends, as "
                  "2..16, but got '2..'"});
}

/// The last option changes first.
TEST(Explore, combinations) {
  ExploredSpace space =
      makeSpace({option("tp", {"1", "2", "4"}), option("sp", {"on", "off"})});
  ASSERT_EQ(space.size(), 6u);
  EXPECT_EQ(space.describe(0), "tp 1, sp on");
  EXPECT_EQ(space.describe(1), "tp 1, sp off");
  EXPECT_EQ(space.describe(5), "tp 4, sp off");
  EXPECT_EQ(space.getOptions()[0].getArgument("4"), "--tp 4");
  EXPECT_EQ(space.getOptions()[1].getArgument("off"), "--sp=off");
}

TEST(Explore, sizes) {
  EXPECT_EQ(errorOf({}),
            "--explore expects an option with several values, as --tp 1,2,4");
  std::vector<std::string> many;
  for (int i = 1; i <= 141; ++i)
    many.push_back(std::to_string(i));
  EXPECT_EQ(errorOf({option("vpp", {"1", "2"}), option("tp", many),
                     option("pp", many)}),
            "--explore expects at most 20,000 layouts but got 39,762; --tp has "
            "the most values, 141");
  many.resize(100);
  std::vector<std::string> more = many;
  more.resize(200, "1");
  EXPECT_EQ(makeSpace({option("tp", many), option("pp", more)}).size(),
            size_t(kMostExplored));
}

/// Each combination is a layout, with the report that it has alone, or has an
/// error.
TEST(Explore, layouts) {
  ExploredSpace space =
      makeSpace({option("tp", {"1", "3", "4"}), option("pp", {"1", "4"}),
                 option("zero", {"0", "3"})});
  auto found = tryExplore(space);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->layouts.size(), 8u);
  EXPECT_EQ(found->invalid.size(), 4u);
  size_t best = found->layouts[found->best].index;
  for (const ExploredLayout &layout : found->layouts) {
    SCOPED_TRACE(space.describe(layout.index));
    PlanPricer alone(llama(), cluster());
    auto report = alone.report(
        llvm::cantFail(makePlan(space, space.getValues(layout.index))), {});
    ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
    EXPECT_EQ(layout.seconds, report->stepSeconds);
    EXPECT_EQ(layout.totalBytes, report->peakMemory().total());
    EXPECT_EQ(layout.dp, report->plan.dp);
    double seconds = 0;
    for (const auto &[part, each] : layout.parts)
      seconds += each;
    EXPECT_NEAR(seconds, layout.seconds, 1e-9 * layout.seconds);
    if (layout.fits)
      EXPECT_GE(layout.seconds, found->layouts[found->best].seconds);
    EXPECT_TRUE(layout.fits || layout.index != best);
  }
  const auto &[index, error] = found->invalid.front();
  EXPECT_EQ(index, 4u);
  EXPECT_NE(error.find("expects dp x tp x pp x cp = 1 x 3 x 1 x 1 = 3"),
            std::string::npos);
  // Parts are in the order of each layout.
  for (const ExploredLayout &layout : found->layouts)
    EXPECT_TRUE(llvm::is_sorted(layout.parts));
}

/// An option without influence keeps all its values.
TEST(Explore, options_without_influence) {
  ExploredSpace space = makeSpace(
      {option("zero", {"0", "1", "2", "3"}), option("tp", {"3", "5"})});
  auto found = tryExplore(space);
  ASSERT_FALSE(bool(found));
  EXPECT_NE(llvm::toString(found.takeError())
                .find("--explore expects a valid layout but got 8 invalid "
                      "ones; the first, zero 0, tp 3: "),
            std::string::npos);
  space = makeSpace(
      {option("zero", {"0", "1", "2", "3"}), option("pp", {"2", "4"})});
  found = tryExplore(space);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->layouts.size(), 8u);
}

/// Threads change nothing.
TEST(Explore, threads) {
  ExploredSpace space =
      makeSpace({option("zero", {"0", "3"}), option("tp", {"1", "2", "3"}),
                 option("cp", {"1", "2"}), option("pp", {"1", "2"})});
  auto print = [&](size_t numThreads) {
    auto found = tryExplore(space, numThreads);
    EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
    Document document;
    if (found)
      document.sections.push_back(makeExploreSection(*found, "tessera plan"));
    std::string text;
    llvm::raw_string_ostream os(text);
    document.print(os);
    return text;
  };
  std::string one = print(1);
  for (size_t numThreads : {3, 40})
    EXPECT_EQ(print(numThreads), one);
}

/// Numbers of a column have one unit and the decimals of the least.
TEST(Explore, section) {
  ExploredSpace space =
      makeSpace({option("tp", {"1", "3", "4"}), option("sp", {"on", "off"})});
  auto found = tryExplore(space);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  DocumentSection section = makeExploreSection(*found, "tessera plan llama");
  const Table *layouts = section.find("layouts");
  ASSERT_TRUE(layouts);
  ASSERT_EQ(layouts->getRows().size(), found->layouts.size());
  auto columns = layouts->getColumns();
  EXPECT_EQ(columns[0].name, "--tp");
  EXPECT_EQ(columns[1].name, "--sp");
  EXPECT_EQ(columns[2].name, "dp");
  for (const auto &[i, column] : llvm::enumerate(columns)) {
    SCOPED_TRACE(column.name);
    for (const auto &[row, layout] : llvm::enumerate(found->layouts)) {
      const Table::Cell &cell = layouts->getRows()[row][i];
      EXPECT_FALSE(StringRef(cell.text).starts_with("-0.00"));
      if (column.name != "step")
        continue;
      EXPECT_EQ(column.unit, "s");
      EXPECT_EQ(cell.text, column.format(layout.seconds));
      EXPECT_GE(cell.text.size(), 5u);
    }
  }
  ASSERT_TRUE(section.find("invalid"));
  EXPECT_EQ(section.find("invalid")->getRows().size(), 2u);
  EXPECT_EQ(section.find("options")->getRows().size(), 5u);
}

} // namespace
