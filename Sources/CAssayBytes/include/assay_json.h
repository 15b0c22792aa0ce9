#ifndef ASSAY_JSON_H
#define ASSAY_JSON_H

#include <stddef.h>
#include <stdint.h>

// No header of intrinsics: in a module that Swift imports, it hides names of the C library.
typedef signed char assay_octets __attribute__((vector_size(16)));

/// Bit i is that of octet i, which is 0 or -1.
static inline uint32_t assay_octets_signs(assay_octets octets) {
#if defined(__SSE2__)
  return (uint32_t)__builtin_ia32_pmovmskb128(octets);
#else
  // A bit of its own for each octet of a word. Their sum is the product's highest octet.
  const assay_octets bits = {1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128};
  const assay_octets kept = octets & bits;
  uint64_t words[2];
  __builtin_memcpy(words, &kept, sizeof words);
  const uint64_t ones = UINT64_C(0x0101010101010101);
  return (uint32_t)(words[0] * ones >> 56 | words[1] * ones >> 56 << 8);
#endif
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first octet is its lowest");

/// A text of fewer than 16 octets, then zeros. Loads overlap, so that none reads past its end.
static inline assay_octets assay_octets_few(const uint8_t *octets, size_t count) {
  uint64_t words[2] = {0, 0};
  if (count >= 8) {
    __builtin_memcpy(words, octets, 8);
    __builtin_memcpy(words + 1, octets + count - 8, 8);
    words[1] = words[1] >> 8 >> 8 * (15 - count);
  } else if (count >= 4) {
    uint32_t first, last;
    __builtin_memcpy(&first, octets, 4);
    __builtin_memcpy(&last, octets + count - 4, 4);
    words[0] = first | (uint64_t)last << 8 * (count - 4);
  } else if (count > 0) {
    const size_t middle = count / 2, end = count - 1;
    words[0] = octets[0];
    words[0] |= (uint64_t)octets[middle] << 8 * middle;
    words[0] |= (uint64_t)octets[end] << 8 * end;
  }
  assay_octets result;
  __builtin_memcpy(&result, words, sizeof result);
  return result;
}

/// Whether an octet of a JSON string (RFC 8259, section 7) is not simply a character of it: a
/// quotation mark, a reverse solidus, a control character, or above `highest`, which is in ASCII.
/// Bit i stands for octet i.
static inline uint64_t assay_json_stops_of_block(assay_octets block, uint8_t highest) {
  // As signed numbers, those of longer characters are below zero.
  return assay_octets_signs((block == '"') | (block == '\\') | (block < 0x20) |
                            (block > (signed char)highest));
}

/// Finds all such octets among up to 64: bit i stands for octet i. Bits past the end are set.
static inline uint64_t assay_json_stops(const uint8_t *octets, size_t count, uint8_t highest) {
  const size_t size = sizeof(assay_octets);
  uint64_t stops = count < 64 ? ~UINT64_C(0) << count : 0;
  if (count < size) {
    return stops | assay_json_stops_of_block(assay_octets_few(octets, count), highest);
  }
  for (size_t index = 0; index < count; index += size) {
    // The last block overlaps the one before it.
    const size_t start = index + size <= count ? index : count - size;
    assay_octets block;
    __builtin_memcpy(&block, octets + start, size);
    stops |= assay_json_stops_of_block(block, highest) << start;
  }
  return stops;
}

#endif
