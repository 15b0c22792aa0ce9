#include "assay_p256_checks.h"

#if defined(__x86_64__) || defined(ASSAY_EMULATE_IFMA)

#include "../../Sources/CAssayP256/vectors.h"
// After vectors.h.
#include "../../Sources/CAssayP256/formulas.h"

IFMA static Element load(const uint64_t *limbs) {
  Element a;
  for (int i = 0; i < 5; i++) {
    uint64_t words[slots];
    for (int slot = 0; slot < slots; slot++) words[slot] = limbs[5 * slot + i];
    a.limb[i] = _mm512_loadu_si512(words);
  }
  return a;
}

IFMA void assay_p256_compute(
    enum assay_p256_operation operation, const uint64_t *a, const uint64_t *b, const uint64_t *d,
    const uint64_t *e, uint64_t *result) {
  const Element av = load(a), bv = load(b), dv = load(d), ev = load(e);
  Element r = av;
  switch (operation) {
    case assay_p256_operation_multiply: r = multiply(&av, &bv); break;
    case assay_p256_operation_multiply_add: r = multiply_add(&av, &bv, &dv); break;
    case assay_p256_operation_multiply_both: r = multiply_both(&av, &bv, &dv, &ev); break;
    case assay_p256_operation_square: r = square(&av); break;
    case assay_p256_operation_difference: r = difference(&av, &bv); break;
    case assay_p256_operation_negate_odd_slots: r = negated_where(0xAA, &av, 3); break;
    case assay_p256_operation_sum_x: r = sum_x(&av, &bv, &dv); break;
    case assay_p256_operation_divide_by_radix: r = divided_by_radix(&av); break;
    case assay_p256_operation_from_words: r = from_words(av.limb); break;
  }
  for (int i = 0; i < 5; i++) {
    uint64_t words[slots];
    _mm512_storeu_si512(words, r.limb[i]);
    for (int slot = 0; slot < slots; slot++) result[5 * slot + i] = words[slot];
  }
}

#else

void assay_p256_compute(
    enum assay_p256_operation operation, const uint64_t *a, const uint64_t *b, const uint64_t *d,
    const uint64_t *e, uint64_t *result) {
  (void)operation, (void)a, (void)b, (void)d, (void)e, (void)result;
}

#endif
