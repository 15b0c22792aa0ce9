#ifndef ASSAY_P256_H
#define ASSAY_P256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay_p256_pairs.h"

enum {
  /// The windows of a scalar.
  assay_p256_window_bits = 10,
  /// Signed digits of u1 and of u2. The last one has the remaining 6 bits and the carry.
  assay_p256_digits = 26,
  /// A table has coordinates in Montgomery form with R = 2^260: four doublings mod p of the form
  /// with R = 2^256.
  assay_p256_radix_bits = 260,
};

/// Brings a cache line nearer. Any address is allowed.
static inline void assay_prefetch(const void *address) { __builtin_prefetch(address); }

/// What the verification of a signature found.
enum __attribute__((enum_extensibility(closed), packed)) assay_p256_outcome {
  assay_p256_outcome_fails,
  assay_p256_outcome_holds,
  /// The sum is at infinity, or the additions met equal or opposite points. Another implementation
  /// has to decide.
  assay_p256_outcome_undecided,
};

/// Whether this processor has AVX-512 with IFMA, and the system saves its registers. Without it,
/// `assay_p256_verify` must not be called.
bool assay_p256_is_supported(void);

/// The last step of ECDSA verification: whether x of u1 G + u2 Q is r modulo n, for `count`
/// signatures, eight at a time. Signatures are public, so time and memory accesses depend on them.
///
/// A table has 25 * 512 + 64 affine points: digit * 2^(10 w) * P at index w * 512 + digit - 1. A
/// point is x, then y, each four little-endian words and below p. Tables are aligned to 64 bytes.
///
/// - generator: the table of G.
/// - keys: for each signature the table of its key Q.
/// - digits: for each signature 26 digits of u1, then 26 of u2, least significant first, from -512
///   to 511; each 26th is from 0 to 64.
/// - r: for each signature four little-endian words, below n.
/// - outcomes: receives one for each signature.
void assay_p256_verify(
    const void *generator, const void *const *keys, const int16_t *digits, const uint64_t *r,
    size_t count, enum assay_p256_outcome *outcomes);

#endif
