// The formulas of Sources/CAssayP256 over intervals.

#include "assay_p256_checks.h"

// After it.
#include "intervals.h"

/// Any slots.
typedef struct {
  char any;
} Mask;

FORMULA Limb limb_factor(Limb a) { return limb_low_bits(a, 52); }
FORMULA Limb limb_joined(Limb a, Limb b, unsigned n) {
  (void)a, (void)b, (void)n;
  return (Limb){0, ((__int128)1 << 52) - 1};
}

static Limb product(Limb a, Limb b) {
  const __int128 end = (__int128)1 << 52;
  expect(a.high < end && b.high < end, "a factor has more than 52 bits");
  return (Limb){a.low * b.low, a.high * b.high};
}
FORMULA Limb limb_add_low(Limb c, Limb a, Limb b) {
  return limb_add(c, limb_low_bits(product(a, b), 52));
}
FORMULA Limb limb_add_high(Limb c, Limb a, Limb b) {
  return limb_add(c, limb_shift_right(product(a, b), 52));
}
FORMULA Limb limb_choose(Mask mask, Limb a, Limb b) {
  (void)mask;
  return either(a, b);
}
static void expect_top_below(Limb top, double k);

#include "../../Sources/CAssayP256/formulas.h"

static void expect_top_below(Limb top, double k) {
  // The limbs below it are less than one unit of it, and p is at least its own last limb.
  expect((double)(top.high + 1) <= k * (double)successor4, "a value exceeds its bound");
}

/// Elements below k p: the last limb is below k times that of p.
static Element below(double k) {
  Element a;
  for (int i = 0; i < 4; i++) a.limb[i] = (Limb){0, low52};
  a.limb[4] = (Limb){0, (__int128)(k * (double)successor4) - 1};
  return a;
}

static Element any_number(void) {
  const Limb any = {0, ((__int128)1 << 64) - 1};
  return from_words((Limb[4]){any, any, any, any});
}

const char *assay_p256_check_bounds(enum assay_p256_step step, double x, double y, double z) {
  failure = NULL;
  const Mask some = {0};
  const JacobianPoint sum = {below(x), below(y), below(z)};
  const Element number = any_number();
  const JacobianPoint point = from_affine(&number, &number, some);
  const JacobianPoint other = negated_point_where(some, &sum);
  switch (step) {
    case assay_p256_step_mixed_addition: add_mixed(&sum, &point); break;
    case assay_p256_step_general_addition: add_general(&sum, &other); break;
    case assay_p256_step_decision:
      x_minus(&number, &sum);
      divided_by_radix(&sum.z);
      break;
  }
  return failure;
}
