// The bytes that go over the wire, and the proof that they arrived.
//
// Contents are random but known to every PE: a key names them. Before a run a destination holds the
// complement of what must arrive, so every single byte is wrong until the operation has written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/status.hpp>

namespace weft::perf {

// Mixes seed, PE, place, ... into one key.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

// The random word number `index` under `key`.
std::uint64_t random_word(std::uint64_t key, std::uint64_t index);

void fill(void* memory, std::size_t bytes, std::uint64_t key);
void fill_wrong(void* memory, std::size_t bytes, std::uint64_t key);
// Copies, every bit flipped.
void complement(void* memory, const void* of, std::size_t bytes);

// Ok when all bytes are right, else an error that says what was expected and what is there.
Status expect(std::string_view what, int pe, const void* memory, std::size_t bytes,
              std::uint64_t key);
Status expect_equal(std::string_view what, int pe, const void* memory, const void* wanted,
                    std::size_t bytes);

// The status that a test returns when data is wrong: the harness prints an error row for it and
// goes on, where any other failure ends the run.
Status wrong_data(std::string_view what, int pe, std::string_view place, std::string_view seen,
                  std::string_view wanted);

}  // namespace weft::perf
