// The formulas for pairs of Sources/CAssayP256 over intervals.

#include "assay_p256_checks.h"

// After it.
#include "intervals.h"

#define CALLED static
#define UNROLLED

FORMULA Limb limb_packed(Limb a, Limb b, unsigned n) {
  (void)a, (void)b, (void)n;
  return (Limb){0, ((__int128)1 << 64) - 1};
}
FORMULA Limb limb_choose(Limb bit, Limb a, Limb b) {
  expect(bit.high <= 1, "a choice is not a bit");
  return either(a, b);
}
FORMULA Limb limb_product(Limb a, const Limb *b) {
  const __int128 end = (__int128)1 << 32;
  expect(a.high < end && b->high < end, "a factor has more than 32 bits");
  return word((Limb){a.low * b->low, a.high * b->high});
}
static void expect_top_below(Limb top, double k);

#include "../../Sources/CAssayP256/pair_formulas.h"

static void expect_top_below(Limb top, double k) {
  // The limbs below it are less than six units of it, those of a difference, and p is at least its
  // own last limb.
  expect((double)(top.high + 6) <= k * (double)successor8, "a value exceeds its bound");
}

static Element below(double k) {
  Element a;
  for (int i = 0; i < limbs - 1; i++) a.limb[i] = (Limb){0, low29};
  a.limb[limbs - 1] = (Limb){0, (__int128)(k * (double)successor8) - 6};
  return a;
}

static Element any_number(void) {
  const Limb any = {0, ((__int128)1 << 64) - 1};
  return from_words((Limb[4]){any, any, any, any});
}

const char *assay_p256_check_pair_bounds(double product_bound) {
  failure = NULL;
  const Element number = any_number(), product = below(product_bound);
  const Element d = difference(&number, &number);
  Element longer, inverse, rest = product;
  extend_product(&longer, &product, &d);
  take_inverse(&inverse, &rest, &product, &d);
  canonical_product(&product);
  const Pair pair = {number, number, number, number};
  Element x, y;
  add_pair(&pair, &product, &x, &y);
  fully_reduced(&x);
  fully_reduced(&y);
  return failure;
}
