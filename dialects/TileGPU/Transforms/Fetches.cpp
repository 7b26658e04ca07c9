//===- Fetches.cpp - Tiles that a producer fetches ------------------------===//
#include "dialects/TileGPU/Transforms/Fetches.h"

#include "dialects/TileGPU/IR/Decisions.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Nothing when asynchronous products are all that reads the tile, and one of them does every time: a product holds the
/// warps of a warpgroup together until all of them have seen the stage that one of them will free. Its registers hold
/// what it reads by then.
std::optional<std::string> whyNotForAsyncProducts(LocalAllocOp alloc) {
  auto isAsync = [](Operation *reader) {
    auto product = dyn_cast<MmaOp>(reader);
    return product && product.isWgmma();
  };
  SmallVector<Operation *> readers = readersOf(alloc);
  if (!llvm::all_of(readers, isAsync))
    return "only products of wgmma are fetched for";
  if (llvm::none_of(readers, [&](Operation *reader) { return reader->getBlock() == alloc->getBlock(); }))
    return "its product is not in every turn";
  return std::nullopt;
}

/// The fetch that fills `alloc`, or why there is none. `load` is behind the tile.
std::variant<Fetch, std::string> fetchOf(LocalAllocOp alloc, tile::LoadOp load) {
  if (load->getBlock() != alloc->getBlock())
    return "it is loaded in another block than it is put into shared memory";
  if (std::optional<std::string> why = whyNotForAsyncProducts(alloc))
    return *why;
  std::variant<TmaAccess, std::string> access = TmaAccess::of(load, alloc.getType());
  if (auto *reason = std::get_if<std::string>(&access))
    return *reason;
  return Fetch{load, alloc, std::move(std::get<TmaAccess>(access))};
}
} // namespace

SmallVector<Operation *> tilec::tilegpu::readersOf(LocalAllocOp alloc) {
  SmallVector<Operation *> readers;
  for (Operation *user : alloc->getUsers())
    if (isa<LocalLoadOp>(user) &&
        llvm::all_of(user->getUsers(), [&](Operation *reader) { return reader->getBlock() == user->getBlock(); }))
      llvm::append_range(readers, user->getUsers());
    else
      readers.push_back(user);
  return readers;
}

SmallVector<Fetch, 0> tilec::tilegpu::findFetches(tile::KernelOp kernel) {
  SmallVector<Fetch, 0> fetches;
  kernel.walk([&](LocalAllocOp alloc) {
    tile::LoadOp load = loadBehind(alloc.getSource());
    if (!load)
      return;
    std::variant<Fetch, std::string> found = fetchOf(alloc, load);
    if (auto *fetch = std::get_if<Fetch>(&found))
      fetches.push_back(std::move(*fetch));
  });
  return fetches;
}

void tilec::tilegpu::explainLoads(tile::KernelOp kernel, TargetAttr target) {
  DenseMap<Operation *, std::string> reasons; // empty: it is fetched
  kernel.walk([&](LocalAllocOp alloc) {
    if (tile::LoadOp load = loadBehind(alloc.getSource())) {
      std::variant<Fetch, std::string> found = fetchOf(alloc, load);
      auto *reason = std::get_if<std::string>(&found);
      reasons[load] = reason ? *reason : "";
    }
  });
  const bool hasTma = target && target.has("tma");
  kernel.walk([&](Operation *op) {
    if (!isa<tile::LoadOp, tile::GatherOp>(op))
      return;
    auto known = reasons.find(op);
    if (hasTma && known != reasons.end() && known->second.empty())
      return;
    Obstacle why{!hasTma                   ? "the target has no TMA"
                 : isa<tile::GatherOp>(op) ? "TMA moves boxes, and its elements are anywhere"
                 : known != reasons.end()  ? known->second
                                           : "its tile goes to registers, and TMA fetches what products read as it is",
                 ""};
    if (std::optional<Obstacle> array = whyNotMapped(op->getOperand(0)); hasTma && known != reasons.end() && array)
      why = *array;
    const std::pair<StringRef, std::string> facts[] = {
        {"array", arrayName(op->getOperand(0))},
        {"shape", shapeText(cast<RankedTensorType>(op->getResult(0).getType()).getShape())}};
    tellMissed(op, "load", "by threads", why, facts);
  });
}

void tilec::tilegpu::explainFetches(ArrayRef<Channel> channels) {
  for (const Channel &channel : channels)
    for (const Fetch &fetch : channel.fetches) {
      tile::LoadOp load = fetch.load;
      SmallVector<std::pair<StringRef, std::string>> facts{{"array", arrayName(load.getView())},
                                                           {"shape", shapeText(load.getType().getShape())},
                                                           {"box", shapeText(fetch.access.box)}};
      if (fetch.isShared)
        facts.push_back({"multicast", "to every CTA of the cluster"});
      if (fetch.eviction != Eviction::normal)
        facts.push_back({"second-level cache", fetch.eviction == Eviction::last ? "kept" : "passed through"});
      tellPassed(load, "load", "TMA", facts);
    }
}

SmallVector<Channel, 0> tilec::tilegpu::joinFetches(ArrayRef<Fetch> fetches) {
  llvm::EquivalenceClasses<Operation *> together;
  for (Fetch fetch : fetches) {
    together.insert(fetch.alloc);
    for (Operation *reader : readersOf(fetch.alloc))
      for (Value operand : reader->getOperands()) {
        if (auto registers = operand.getDefiningOp<LocalLoadOp>())
          operand = registers.getSource();
        if (auto other = operand.getDefiningOp<LocalAllocOp>(); other && other->getBlock() == fetch.alloc->getBlock())
          together.unionSets(fetch.alloc, other);
      }
  }
  SmallVector<Channel, 0> channels;
  DenseMap<Operation *, size_t> numbers;
  for (const Fetch &fetch : fetches) {
    auto [it, isNew] = numbers.try_emplace(together.getLeaderValue(LocalAllocOp(fetch.alloc)), channels.size());
    if (isNew)
      channels.emplace_back();
    channels[it->second].fetches.push_back(fetch);
  }
  return channels;
}
