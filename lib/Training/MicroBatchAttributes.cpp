//===- MicroBatchAttributes.cpp - Attributes with micro-batches -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatchAttributes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"

using namespace mlir;
using namespace tessera;

DictionaryAttr tessera::withMicroBatches(DictionaryAttr attrs) {
  MLIRContext *context = attrs.getContext();
  NamedAttrList list(attrs);
  StringRef dimsName = nn::NNDialect::kDimsAttr;
  if (auto dims = attrs.getAs<ArrayAttr>(dimsName)) {
    SmallVector<Attribute> all{StringAttr::get(context, "micro_batch")};
    all.append(dims.begin(), dims.end());
    list.set(dimsName, ArrayAttr::get(context, all));
  }
  StringRef orderName = nn::NNDialect::kOrderAttr;
  if (auto order = attrs.getAs<ArrayAttr>(orderName)) {
    SmallVector<Attribute> all{UnitAttr::get(context)};
    all.append(order.begin(), order.end());
    list.set(orderName, ArrayAttr::get(context, all));
  }
  StringRef shardingName = dist::DistDialect::kShardingAttr;
  if (auto sharding = attrs.getAs<dist::ShardingAttr>(shardingName)) {
    SmallVector<dist::DimShardingAttr> dims{dist::DimShardingAttr::get(
        context, {}, /*open=*/false, /*priority=*/-1)};
    llvm::append_range(dims, sharding.getDims());
    list.set(shardingName,
             dist::ShardingAttr::get(
                 context, sharding.getMesh(), dims, sharding.getReplicated(),
                 sharding.getUnreduced(), sharding.getReduction()));
  }
  return list.getDictionary(context);
}

RankedTensorType tessera::withMicroBatches(RankedTensorType part,
                                           int64_t microBatches) {
  SmallVector<int64_t> shape{microBatches};
  llvm::append_range(shape, part.getShape());
  return part.clone(shape);
}
