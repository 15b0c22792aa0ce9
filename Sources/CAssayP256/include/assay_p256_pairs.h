#ifndef ASSAY_P256_PAIRS_H
#define ASSAY_P256_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sums of pairs of affine points, four pairs at a time, with one inversion for all pairs of a pass.
// The caller inverts between the two functions.
//
// A point is x, then y, each four little-endian words, below p and in Montgomery form with
// R = 2^261. The points of pair i are `points[first[i]]` and the one after it.

enum {
  /// Five doublings mod p of the form with R = 2^256.
  assay_p256_pair_radix_bits = 261,
  /// Pairs that are added at a time, each in its slot of a vector.
  assay_p256_pair_slots = 4,
  /// What `products` has for each four pairs or fewer. It is aligned to 32 bytes.
  assay_p256_pair_product_bytes = 288,
};

/// The instructions that the functions are made of.
enum __attribute__((enum_extensibility(closed), packed)) assay_p256_vectors {
  assay_p256_vectors_none,
  /// A vector of AVX2.
  assay_p256_vectors_avx2,
  /// Two vectors of Neon (Advanced SIMD), which every 64-bit processor of Arm has.
  assay_p256_vectors_neon,
};

/// Which of them this processor has, where the system saves the registers. With none, no other
/// function must be called.
enum assay_p256_vectors assay_p256_pair_vectors(void);

/// Multiplies up the differences x2 - x1 of `count` pairs, at least one. A difference of 0 counts
/// as 1.
///
/// - products: receives what `assay_p256_add_pairs` needs.
/// - product: receives the product of each slot's differences, in words as a coordinate.
/// - Returns: whether a difference is 0.
bool assay_p256_multiply_differences(
    const void *points, const uint32_t *first, size_t count, void *products,
    uint64_t product[assay_p256_pair_slots][4]);

/// Replaces points by the sums of the pairs: that of pair i goes to `points[sum[i]]`, where
/// `sum[i]` is at most `first[i]`, and both ascend. The sum of a pair with the difference 0 has no
/// meaning.
///
/// - inverse: those of `product`.
void assay_p256_add_pairs(
    void *points, const uint32_t *first, const uint32_t *sum, size_t count, const void *products,
    const uint64_t inverse[assay_p256_pair_slots][4]);

#endif
