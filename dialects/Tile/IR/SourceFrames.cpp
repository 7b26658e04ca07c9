//===- SourceFrames.cpp - Where an op comes from --------------------------===//
#include "dialects/Tile/IR/SourceFrames.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec::tile;

static void append(Location loc, SmallVectorImpl<SourceFrame> &frames) {
  llvm::TypeSwitch<LocationAttr>(loc)
      .Case([&](FileLineColLoc file) {
        frames.push_back({file.getFilename().getValue(), file.getLine(), file.getColumn(), StringRef()});
      })
      .Case([&](NameLoc name) {
        size_t first = frames.size();
        append(name.getChildLoc(), frames);
        if (first < frames.size())
          frames[first].function = name.getName().getValue();
      })
      .Case([&](CallSiteLoc call) {
        append(call.getCallee(), frames);
        append(call.getCaller(), frames);
      })
      .Case([&](FusedLoc fused) {
        if (!fused.getLocations().empty())
          append(fused.getLocations().front(), frames);
      });
}

SmallVector<SourceFrame> tilec::tile::sourceFrames(Location loc) {
  SmallVector<SourceFrame> frames;
  append(loc, frames);
  return frames;
}
