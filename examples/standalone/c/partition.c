//===- partition.c - Partitions and compiles from C -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// partition PROGRAM: partitions a module with shardings that it builds, reads
// the shardings that propagation found, takes an error by a callback, and
// compiles the training step of a small GPT-2 for four ranks to PROGRAM.
//
//===----------------------------------------------------------------------===//

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "tessera-c/Compiler.h"
#include "tessera-c/Registration.h"
#include "tessera-c/Sharding.h"
#include <stdio.h>
#include <stdlib.h>

static MlirStringRef text(const char *chars) {
  return mlirStringRefCreateFromCString(chars);
}

/// Ends the program with an error.
static void fail(MlirStringRef error, void *what) {
  fprintf(stderr, "%s: %.*s\n", (const char *)what, (int)error.length,
          error.data);
  exit(1);
}

static void print(MlirStringRef part, void *file) {
  fwrite(part.data, 1, part.length, file);
}

/// Prints a diagnostic on stdout.
static MlirLogicalResult take(MlirDiagnostic diagnostic, void *unused) {
  (void)unused;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
    printf("error: ");
    mlirDiagnosticPrint(diagnostic, print, stdout);
    printf("\n");
  }
  return mlirLogicalResultSuccess();
}

/// Runs a pipeline of this text.
static MlirLogicalResult run(MlirModule module, const char *pipeline) {
  MlirPassManager passes = mlirPassManagerCreate(mlirModuleGetContext(module));
  if (mlirLogicalResultIsFailure(
          mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(passes),
                                text(pipeline), fail, "pipeline")))
    exit(1);
  MlirLogicalResult done =
      mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(passes);
  return done;
}

static MlirOperation firstFunction(MlirModule module) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  while (!mlirOperationIsNull(op) &&
         !mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)),
                             text("func.func")))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

/// Prints the axes of each dimension of a sharding: [dp][]
static void printSharding(MlirAttribute sharding) {
  for (intptr_t i = 0; i < tesseraShardingGetNumDimensions(sharding); ++i) {
    MlirAttribute dimension = tesseraShardingGetDimension(sharding, i);
    printf("[");
    for (intptr_t k = 0; k < tesseraDimShardingGetNumAxes(dimension); ++k) {
      MlirStringRef name =
          tesseraAxisGetName(tesseraDimShardingGetAxis(dimension, k));
      printf("%s%.*s", k ? "," : "", (int)name.length, name.data);
    }
    printf("]");
  }
  printf("\n");
}

static const char kProgram[] =
    "dist.mesh @mesh [\"dp\"=2, \"tp\"=2]\n"
    "func.func @f(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>)\n"
    "    -> tensor<8x32xf32> {\n"
    "  %y = nn.einsum \"ij,jk->ik\" %x, %w\n"
    "      : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>\n"
    "  return %y : tensor<8x32xf32>\n"
    "}\n";

static void partition(MlirContext context) {
  MlirModule module = mlirModuleCreateParse(context, text(kProgram));
  if (mlirModuleIsNull(module))
    exit(1);
  MlirAttribute dp =
      tesseraAxisGet(context, text("dp"), 1, 0, fail, "tesseraAxisGet");
  MlirAttribute tp =
      tesseraAxisGet(context, text("tp"), 1, 0, fail, "tesseraAxisGet");
  MlirAttribute dims[] = {tesseraDimShardingGet(context, 1, &dp, false, fail,
                                                "tesseraDimShardingGet"),
                          tesseraDimShardingGet(context, 1, &tp, false, fail,
                                                "tesseraDimShardingGet")};
  MlirAttribute sharding =
      tesseraShardingGet(context, text("mesh"), 2, dims, 0, NULL, 0, NULL,
                         TesseraReductionSum, fail, "tesseraShardingGet");
  mlirFuncSetArgAttr(firstFunction(module), 0, text("dist.sharding"), sharding);
  if (mlirLogicalResultIsFailure(
          run(module, "builtin.module(tessera-partitioner)")))
    exit(1);
  // Propagation shards the rows of w like the columns of x.
  MlirAttribute arguments =
      mlirOperationGetAttributeByName(firstFunction(module), text("arg_attrs"));
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(arguments); ++i)
    printSharding(mlirDictionaryAttrGetElementByName(
        mlirArrayAttrGetElement(arguments, i), text("dist.sharding")));
  mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  // A module that is local already is an error of the pass.
  if (mlirLogicalResultIsSuccess(
          run(module, "builtin.module(tessera-partitioner)")))
    exit(1);
  mlirModuleDestroy(module);
}

static void compile(MlirContext context, const char *program) {
  TesseraModelOptions options = tesseraModelOptionsCreate();
  tesseraModelOptionsSetBatch(options, 4);
  tesseraModelOptionsSetSequence(options, 16);
  tesseraModelOptionsSetTrain(options, true);
  MlirModule module = tesseraModelCreate(context, text("tiny-gpt2"), options,
                                         fail, "tesseraModelCreate");
  tesseraModelOptionsDestroy(options);
  if (mlirModuleIsNull(module) ||
      mlirLogicalResultIsFailure(
          run(module, "builtin.module(compile-to{llvm mesh=dp=2,tp=2 "
                      "strategy=dp,tp,sp training=optimizer=sgd})")) ||
      mlirLogicalResultIsFailure(
          tesseraWriteExecutable(module, text(""), text(""), text(program),
                                 fail, "tesseraWriteExecutable")))
    exit(1);
  mlirModuleDestroy(module);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: partition PROGRAM\n");
    return 1;
  }
  tesseraCheckAbiVersion(TESSERA_ABI_VERSION, fail, "tesseraCheckAbiVersion");
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  tesseraRegisterDialects(registry);
  tesseraRegisterPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, take, NULL, NULL);
  partition(context);
  compile(context, argv[1]);
  mlirContextDestroy(context);
  char command[4096];
  if (snprintf(command, sizeof command, "%s --ranks 4 --data %s --steps 2",
               argv[1], __FILE__) >= (int)sizeof command)
    return 1;
  fflush(stdout);
  return system(command);
}
