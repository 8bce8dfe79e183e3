// DeviceModel: the facts of a GPU and of its links that plans go by. Data, so that another GPU is
// another value. Times are in us, rates in bytes per us.
#pragma once

#include <array>
#include <cstddef>

namespace weft::kernels {

// Blocks of a cluster that split k among them, at most.
inline constexpr int kMostSplits = 8;

// A transfer: the time that it takes whatever its size, and the rate that it comes to.
struct Transfer {
  double start;
  double rate;
  constexpr double us(double bytes) const { return start + bytes / rate; }
};

// Rows that are pushed by load and store beside a GEMM.
struct PushLinks {
  double first_piece;   // until rows come
  double block_rate;    // of a block that puts beside a GEMM; whole rows 33e3
  double rate;          // of all blocks
  Transfer all_gather;  // by itself
};

// Tiles that go to the owners of their rows beside a GEMM.
struct ScatterLinks {
  double latency;           // of what is sent, and of its flag
  double rate;              // of a GPU, when all its blocks send
  double beside_rate;       // of a GPU beside a GEMM
  double slowdown;          // us that products lose for a byte sent beside them
  Transfer reduce_scatter;  // by itself
};

// Words that go by Lamport out of one kernel.
struct LamportLinks {
  double hop;               // a word's latency, and the poll that finds it
  double behind_rate;       // of a member whose tiles are all multiplied
  double wave;              // us of a wave's words beside the products of the next
  double beside_rate;       // of these words
  double more_beside_rate;  // the same with more members than two
};

// Collectives behind a GEMM, between two members and between more.
struct CollectiveLinks {
  Transfer all_gather[2];
  Transfer all_reduce;           // of two members
  Transfer one_shot_all_reduce;  // of more
  Transfer two_shot_all_reduce;
};

struct Links {
  PushLinks push;
  ScatterLinks scatter;
  LamportLinks lamport;
  CollectiveLinks collectives;
};

// NVLink between two to eight H100 or H200, of which two and four were measured
// (docs/measurements/2026-11-26-allgather-gemm.md and its neighbours).
inline constexpr Links kNvlink4{
    {6.0, 22e3, 320e3, {4.0, 310e3}},
    {2.5, 330e3, 300e3, 0.3e-6, {7.0, 300e3}},
    {1.7, 270e3, 6.0, 480e3, 265e3},
    {{{4.0, 340e3}, {9.0, 335e3}}, {4.0, 350e3}, {4.6, 335e3}, {8.0, 335e3}},
};

struct DeviceModel {
  int num_sms = 132;
  // Clusters of that many blocks, each with an SM to itself, that run at a time. [0] is nothing.
  std::array<int, kMostSplits + 1> clusters{0, 132, 66, 39, 30, 22, 17, 15, 15};
  Links links = kNvlink4;
};

}  // namespace weft::kernels
