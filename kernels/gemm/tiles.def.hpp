// The tiles of the GEMM kernel of sm_90a, a row each; each is compiled in a file of tiles/.
//
//   ROW(m, n, stages, sharing, splits, k_block_us)    as Tile has them (tiles.hpp)
//
// WEFT_TILE              all operators have it; measured where tiles filled an H100 in a few waves
// WEFT_FEW_ROWS_TILE     for few rows, two k-blocks to a stage; measured on an H200. The columns
//                        are as many as share a weight out among all SMs: of 4096, 5120, 6144 and
//                        7168 each gets 32, 40, 48 and 56. For Gemm, and for GemmRs and GemmAr in
//                        one kernel
// WEFT_E4M3_TILE         of e4m3, of which a k-block is 128 along k: 64 pairs; measured on an H200
#ifndef WEFT_TILE
#define WEFT_TILE(...)
#endif
#ifndef WEFT_FEW_ROWS_TILE
#define WEFT_FEW_ROWS_TILE(...)
#endif
#ifndef WEFT_E4M3_TILE
#define WEFT_E4M3_TILE(...)
#endif

WEFT_TILE(64, 64, 12, 1, false, 0.15)
WEFT_TILE(128, 64, 8, 1, false, 0.18)
WEFT_TILE(128, 80, 8, 2, false, 0.25)
WEFT_TILE(128, 96, 7, 2, false, 0.26)
WEFT_TILE(128, 112, 6, 2, false, 0.31)
WEFT_TILE(128, 128, 6, 2, false, 0.36)
WEFT_TILE(128, 160, 5, 2, false, 0.41)
WEFT_TILE(128, 192, 4, 2, false, 0.47)
WEFT_TILE(128, 208, 4, 2, false, 0.523)
WEFT_TILE(128, 224, 4, 2, false, 0.545)
WEFT_TILE(128, 256, 4, 2, false, 0.615)
WEFT_TILE(256, 160, 4, 2, false, 0.815)
WEFT_TILE(256, 176, 4, 2, false, 0.905)
WEFT_TILE(64, 64, 12, 1, true, 0.15)
WEFT_TILE(128, 64, 8, 1, true, 0.18)
WEFT_TILE(64, 48, 15, 1, true, 0.14)
WEFT_TILE(128, 48, 10, 1, true, 0.17)

WEFT_FEW_ROWS_TILE(64, 32, 9, 1, false, 0.09)
WEFT_FEW_ROWS_TILE(64, 40, 8, 1, false, 0.09)
WEFT_FEW_ROWS_TILE(64, 48, 7, 1, false, 0.105)
WEFT_FEW_ROWS_TILE(64, 56, 7, 1, false, 0.105)
WEFT_FEW_ROWS_TILE(128, 32, 5, 1, false, 0.12)
WEFT_FEW_ROWS_TILE(128, 40, 5, 1, false, 0.14)

WEFT_E4M3_TILE(64, 64, 8, 1, false, 0.18)
WEFT_E4M3_TILE(128, 64, 8, 1, false, 0.22)
WEFT_E4M3_TILE(128, 128, 6, 1, false, 0.42)
WEFT_E4M3_TILE(128, 192, 4, 2, false, 0.565)
WEFT_E4M3_TILE(192, 128, 4, 2, false, 0.545)
WEFT_E4M3_TILE(64, 64, 8, 1, true, 0.18)
WEFT_E4M3_TILE(128, 64, 8, 1, true, 0.24)
WEFT_E4M3_TILE(64, 56, 9, 1, false, 0.175)

#undef WEFT_TILE
#undef WEFT_FEW_ROWS_TILE
#undef WEFT_E4M3_TILE
