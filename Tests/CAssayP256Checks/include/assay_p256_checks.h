#ifndef ASSAY_P256_CHECKS_H
#define ASSAY_P256_CHECKS_H

#include <stdint.h>

/// What is done with sums in the verification of a signature.
enum __attribute__((enum_extensibility(closed), packed)) assay_p256_step {
  assay_p256_step_mixed_addition,
  assay_p256_step_general_addition,
  assay_p256_step_decision,
};

/// Computes a step's formulas over all values that its operands may have, and returns the first
/// thing that can go wrong, or NULL: a limb that overflows or becomes negative, a factor of more
/// than 52 bits, a value above its bound. `x`, `y` and `z` bound the coordinates of the sums that
/// it begins with, as multiples of p.
const char *assay_p256_check_bounds(enum assay_p256_step step, double x, double y, double z);

/// The same for sums of pairs. `product_bound` bounds the products of differences and their
/// inverses.
const char *assay_p256_check_pair_bounds(double product_bound);

enum __attribute__((enum_extensibility(closed), packed)) assay_p256_operation {
  /// a b / 2^260
  assay_p256_operation_multiply,
  /// a b / 2^260 + d
  assay_p256_operation_multiply_add,
  /// (a b + d e) / 2^260
  assay_p256_operation_multiply_both,
  /// a^2 / 2^260
  assay_p256_operation_square,
  /// a - b
  assay_p256_operation_difference,
  /// -a in the slots with an odd number, a in the others
  assay_p256_operation_negate_odd_slots,
  /// a^2 / 2^260 - b - 2 d
  assay_p256_operation_sum_x,
  /// a / 2^260
  assay_p256_operation_divide_by_radix,
  /// The number with the first four limbs of a as its words
  assay_p256_operation_from_words,
};

/// Computes an operation in the slots of a vector. Operands and result are eight elements of five
/// limbs. Only where `assay_p256_is_supported`.
void assay_p256_compute(
    enum assay_p256_operation operation, const uint64_t *a, const uint64_t *b, const uint64_t *d,
    const uint64_t *e, uint64_t *result);

enum __attribute__((enum_extensibility(closed), packed)) assay_p256_pair_operation {
  /// a b / 2^261
  assay_p256_pair_operation_multiply,
  /// a b / 2^261 - d, below 1.00001 p
  assay_p256_pair_operation_multiply_minus,
  /// a^2 / 2^261 - d, below 1.00001 p
  assay_p256_pair_operation_square_minus,
  /// a - b
  assay_p256_pair_operation_difference,
  /// a below p
  assay_p256_pair_operation_reduce_fully,
  /// a by its words
  assay_p256_pair_operation_words,
};

/// Computes an operation for pairs in the slots of a vector. Operands and result are four elements
/// of nine limbs. Not where `assay_p256_pair_vectors` is none.
void assay_p256_compute_pairs(
    enum assay_p256_pair_operation operation, const uint64_t *a, const uint64_t *b,
    const uint64_t *d, uint64_t *result);

#endif
