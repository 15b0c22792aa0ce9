#ifndef ASSAY_JSON_H
#define ASSAY_JSON_H

#include <stddef.h>
#include <stdint.h>

// No header of intrinsics: in a module that Swift imports, it hides names of the C library.
typedef signed char assay_octets __attribute__((vector_size(16)));

/// Whether an octet of a JSON string (RFC 8259, section 7) is not simply a character of it: a
/// quotation mark, a reverse solidus, a control character, or above `highest`, which is in ASCII.
static inline uint64_t assay_json_is_stop(uint8_t octet, uint8_t highest) {
  return octet == '"' || octet == '\\' || octet < 0x20 || octet > highest;
}

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

/// Finds all such octets among up to 64: bit i stands for octet i. Bits past the end are set.
static inline uint64_t assay_json_stops(const uint8_t *octets, size_t count, uint8_t highest) {
  uint64_t stops = count < 64 ? ~UINT64_C(0) << count : 0;
  size_t index = 0;
#if defined(__SSE2__) || defined(__aarch64__)
  for (; index + sizeof(assay_octets) <= count; index += sizeof(assay_octets)) {
    assay_octets block;
    __builtin_memcpy(&block, octets + index, sizeof block);
    // As signed numbers, those of longer characters are below zero.
    assay_octets found =
        (block == '"') | (block == '\\') | (block < 0x20) | (block > (signed char)highest);
    stops |= (uint64_t)assay_octets_signs(found) << index;
  }
#endif
  for (; index < count; index += 1) {
    stops |= assay_json_is_stop(octets[index], highest) << index;
  }
  return stops;
}

#endif
