include "dialects/Tile/IR/TileOps.td"
