//===- shapes.h - The tiles that a product may have ------------------------===//

#pragma once

#include "plan.h"

namespace tilec::tiling {

/// A tile that code generation knows how to multiply, and how well.
struct ProductShape {
  Schedule schedule;
  int64_t m, n;
  int consumers; // warpgroups that multiply
  /// The part of the tensor cores' rate that the main loop reaches.
  double efficiency;
};

/// Tiles for wgmma, which reads both operands from shared memory. The first
/// figures of a schedule were fitted to measurements on an H200 (bf16, random
/// values, ratios to a vendor library in alternating blocks); tiles beside them
/// that were measured less are set a little lower, so that they are taken where
/// they save a wave.
inline constexpr ProductShape warpgroupShapes[] = {
    {Schedule::cooperative, 128, 256, 2, 1.0},  {Schedule::pingpong, 128, 128, 2, 1.015},
    {Schedule::pingpong, 128, 192, 2, 1.03},    {Schedule::pingpong, 192, 128, 2, 1.0},
    {Schedule::cooperative, 256, 128, 2, 0.99}, {Schedule::cooperative, 128, 192, 2, 0.98},
    {Schedule::pingpong, 128, 160, 2, 0.99},    {Schedule::cooperative, 128, 160, 2, 0.96},
    {Schedule::cooperative, 192, 192, 3, 0.95}, {Schedule::cooperative, 256, 192, 2, 0.97},
    {Schedule::pingpong, 64, 256, 2, 0.96},     {Schedule::cooperative, 128, 128, 2, 0.97},
    {Schedule::pingpong, 64, 128, 2, 0.95},     {Schedule::pingpong, 128, 64, 2, 0.95},
    {Schedule::single, 64, 128, 1, 0.93},       {Schedule::cooperative, 128, 64, 2, 0.92},
    {Schedule::single, 64, 256, 1, 0.95},       {Schedule::single, 64, 192, 1, 0.93},
    {Schedule::pingpong, 64, 64, 2, 0.65},      {Schedule::single, 64, 64, 1, 0.6},
    {Schedule::single, 64, 32, 1, 0.2},
};

/// Tiles for products with few rows, whose operands are exchanged: `m` runs along the columns of the product. Memory
/// limits them; their efficiencies are guesses that only order tiles which cost the same there.
inline constexpr ProductShape fewRowsShapes[] = {
    {Schedule::single, 64, 8, 1, 0.2},        {Schedule::single, 64, 16, 1, 0.3},
    {Schedule::single, 64, 32, 1, 0.4},       {Schedule::single, 128, 8, 1, 0.3},
    {Schedule::single, 128, 16, 1, 0.4},      {Schedule::single, 128, 32, 1, 0.5},
    {Schedule::cooperative, 128, 8, 2, 0.3},  {Schedule::cooperative, 128, 16, 2, 0.4},
    {Schedule::cooperative, 128, 32, 2, 0.5}, {Schedule::cooperative, 256, 8, 2, 0.3},
    {Schedule::cooperative, 256, 16, 2, 0.4}, {Schedule::cooperative, 256, 32, 2, 0.5},
};

/// Tiles for products whose operands are exchanged and whose rows are divided evenly: `m` runs along the columns of the
/// product, and `n` is one of `evenRows`.
inline constexpr ProductShape evenRowsShapes[] = {
    {Schedule::cooperative, 256, 0, 2, 0.97},
    {Schedule::cooperative, 128, 0, 2, 0.95},
    {Schedule::pingpong, 128, 0, 2, 0.97},
    {Schedule::single, 64, 0, 1, 0.93},
};

/// Multiples of 8, in order, that are as fast on an H200 as multiples of 64. Others were much slower there (80, 88,
/// 104, 184; it is not known why) or have not been measured.
inline constexpr int64_t evenRows[] = {96, 112, 120, 136, 144, 152, 160, 168, 200, 216, 224, 240};

/// Tiles whose warps load and multiply. The number of warps is left to code
/// generation.
inline constexpr ProductShape warpShapes[] = {
    {Schedule::sync, 128, 128, 0, 1.0}, {Schedule::sync, 64, 128, 0, 0.88}, {Schedule::sync, 128, 64, 0, 0.88},
    {Schedule::sync, 64, 64, 0, 0.75},  {Schedule::sync, 32, 128, 0, 0.65}, {Schedule::sync, 128, 32, 0, 0.6},
    {Schedule::sync, 32, 64, 0, 0.5},   {Schedule::sync, 64, 32, 0, 0.5},   {Schedule::sync, 32, 32, 0, 0.35},
    {Schedule::sync, 16, 128, 0, 0.4},  {Schedule::sync, 16, 64, 0, 0.3},   {Schedule::sync, 64, 16, 0, 0.3},
    {Schedule::sync, 16, 32, 0, 0.2},   {Schedule::sync, 32, 16, 0, 0.2},   {Schedule::sync, 16, 16, 0, 0.12},
};

} // namespace tilec::tiling
