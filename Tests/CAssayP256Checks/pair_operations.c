#include "assay_p256_checks.h"

#include "../../Sources/CAssayP256/pair_limbs.h"

#if defined(HAS_VECTORS)

// After pair_limbs.h.
#include "../../Sources/CAssayP256/pair_formulas.h"

enum { slots = 4 };

VECTORS static Element load(const uint64_t *numbers) {
  Element a;
  for (int i = 0; i < limbs; i++) {
    uint64_t limb[slots];
    for (int slot = 0; slot < slots; slot++) limb[slot] = numbers[limbs * slot + i];
    a.limb[i] = limb_load(limb);
  }
  return a;
}

VECTORS static Element by_words(const Element *a) {
  Limb words[4];
  to_words(a, words);
  return from_words(words);
}

VECTORS void assay_p256_compute_pairs(
    enum assay_p256_pair_operation operation, const uint64_t *a, const uint64_t *b,
    const uint64_t *d, uint64_t *result) {
  const Element av = load(a), bv = load(b), dv = load(d);
  Element r;
  Columns c;
  switch (operation) {
    case assay_p256_pair_operation_multiply: multiply(&r, &av, &bv); break;
    case assay_p256_pair_operation_multiply_minus:
      c = multiplied(&av, &bv);
      r = reduced(&c, &dv);
      break;
    case assay_p256_pair_operation_square_minus:
      c = squared(&av);
      r = reduced(&c, &dv);
      break;
    case assay_p256_pair_operation_difference: r = difference(&av, &bv); break;
    case assay_p256_pair_operation_reduce_fully: r = fully_reduced(&av); break;
    case assay_p256_pair_operation_words: r = by_words(&av); break;
  }
  for (int i = 0; i < limbs; i++) {
    uint64_t limb[slots];
    limb_store(limb, r.limb[i]);
    for (int slot = 0; slot < slots; slot++) result[limbs * slot + i] = limb[slot];
  }
}

#else

void assay_p256_compute_pairs(
    enum assay_p256_pair_operation operation, const uint64_t *a, const uint64_t *b,
    const uint64_t *d, uint64_t *result) {
  (void)operation, (void)a, (void)b, (void)d, (void)result;
}

#endif
