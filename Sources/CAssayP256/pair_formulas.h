// The formulas for sums of affine points on P-256, written once for two kinds of limbs. pairs.c
// includes this file with pair_limbs.h: a limb is a vector of four numbers, and a slot of it
// belongs to one pair. The bounds test includes it with intervals of numbers as limbs, and so
// computes that nothing overflows. A file that includes it defines `Limb`, `FORMULA` and `CALLED`
// (the attributes of functions, and of those that are not inlined), `UNROLLED` (of loops) and:
//
//   limb_constant(c)           c in each slot
//   limb_add(a, b)             a + b, which is below 2^64
//   limb_subtract(a, b)        a - b, which is not negative
//   limb_shift_right(a, n), limb_shift_left(a, n)
//   limb_low_bits(a, n)        the low n bits
//   limb_packed(a, b, n)       the low 64 bits of a | b << n
//   limb_choose(bit, a, b)     b in the slots where bit is 1, a where it is 0
//   limb_product(a, b)         a * *b, for factors below 2^32
//   expect_top_below(a, k)     fails the bounds test if an element with this last limb can be k p
//                              or more; nothing in vectors

#include <stdint.h>

enum {
  limbs = 9,
  limb_bits = 29,
  /// Bits of the last limb of a number below 2^256.
  top_bits = 24,
};

/// A field element in Montgomery form with R = 2^261: nine limbs of 29 bits, the least significant
/// first. It is not reduced: `expect_below` gives the bound of each value. A carried element's
/// limbs are below 2^29, but for the last one; of others they are below 2^32.
typedef struct {
  Limb limb[limbs];
} Element;

/// The columns of a product. The result of a reduction is in the last nine.
typedef struct {
  Limb at[2 * limbs];
} Columns;

static const uint64_t low29 = (UINT64_C(1) << limb_bits) - 1;

// p = 2^256 - 2^224 + 2^192 + 2^96 - 1. The limbs of p + 1 other than 0.
enum { successor3_bits = 9, successor6_bits = 18, complement7_bits = 21 };
static const uint64_t successor7 = low29 + 1 - (UINT64_C(1) << complement7_bits);
static const uint64_t successor8 = (UINT64_C(1) << top_bits) - 1;

/// The element is below k p.
FORMULA Element expect_below(Element a, double k) {
  expect_top_below(a.limb[limbs - 1], k);
  return a;
}

/// Carries the bits from 29 on of each limb into the next. The last one keeps them.
FORMULA Element carried(const Limb c[limbs]) {
  Element a;
  Limb t = c[0];
  UNROLLED for (int i = 0; i < limbs - 1; i++) {
    a.limb[i] = limb_low_bits(t, limb_bits);
    t = limb_add(c[i + 1], limb_shift_right(t, limb_bits));
  }
  a.limb[limbs - 1] = t;
  return a;
}

/// A step of Montgomery reduction: adds m p at column i for the m < 2^29 that clears the column's
/// low bits. Because p is -1 modulo 2^29, that m is the low bits themselves, and the column plus
/// m p is what is above them plus m (p + 1).
FORMULA void reduce_column(Columns *c, int i) {
  Limb *t = c->at + i;
  const Limb m = limb_low_bits(t[0], limb_bits);
  const Limb p7 = limb_constant(successor7), p8 = limb_constant(successor8);
  t[1] = limb_add(t[1], limb_shift_right(t[0], limb_bits));
  t[3] = limb_add(t[3], limb_shift_left(m, successor3_bits));
  t[6] = limb_add(t[6], limb_shift_left(m, successor6_bits));
  t[7] = limb_add(t[7], limb_product(m, &p7));
  t[8] = limb_add(t[8], limb_product(m, &p8));
}

/// a * b / R in the last columns, below (s t / 31 + 1) p for a < s p and b < t p. One of the two
/// is carried.
FORMULA Columns multiplied(const Element *a, const Element *b) {
  Columns c;
  UNROLLED for (int i = 0; i < limbs; i++) {
    UNROLLED for (int j = 0; j < limbs; j++) {
      const Limb product = limb_product(a->limb[i], &b->limb[j]);
      const int column = i + j;
      // The first product of a column is that of the first row or of the last limb.
      const int is_first = i == 0 || j == limbs - 1;
      c.at[column] = is_first ? product : limb_add(c.at[column], product);
    }
    reduce_column(&c, i);
  }
  c.at[2 * limbs - 1] = limb_constant(0);
  return c;
}

/// a * b / R, carried.
CALLED void multiply(Element *product, const Element *a, const Element *b) {
  const Columns c = multiplied(a, b);
  *product = carried(c.at + limbs);
}

/// a * a / R in the last columns, for a carried element.
FORMULA Columns squared(const Element *a) {
  Columns c;
  Element twice;
  UNROLLED for (int i = 0; i < limbs; i++) twice.limb[i] = limb_add(a->limb[i], a->limb[i]);
  UNROLLED for (int i = 0; i < limbs; i++) {
    UNROLLED for (int j = i; j < limbs; j++) {
      const Element *b = i == j ? a : &twice;
      const Limb product = limb_product(a->limb[i], &b->limb[j]);
      const int column = i + j;
      const int is_first = i == 0 || j == limbs - 1;
      c.at[column] = is_first ? product : limb_add(c.at[column], product);
    }
  }
  UNROLLED for (int i = 0; i < limbs; i++) reduce_column(&c, i);
  c.at[2 * limbs - 1] = limb_constant(0);
  return c;
}

/// Limb i of k p, with `lent` units of each limb written as `lent` * 2^29 in the one before, so
/// that limbs below that can be subtracted from each.
FORMULA Limb multiple_of_p(int i, uint64_t k, uint64_t lent) {
  const uint64_t borrowed = lent << limb_bits;
  switch (i) {
    // k p = k (p + 1) - k.
    case 0: return limb_constant(borrowed - k);
    case 3: return limb_constant((k << successor3_bits) + borrowed - lent);
    case 6: return limb_constant((k << successor6_bits) + borrowed - lent);
    case 7: return limb_constant(k * successor7 + borrowed - lent);
    case 8: return limb_constant(k * successor8 - lent);
    default: return limb_constant(borrowed - lent);
  }
}

/// a - b + 2 p, not carried, for a and b of `reduced`.
FORMULA Element difference(const Element *a, const Element *b) {
  Element d;
  UNROLLED for (int i = 0; i < limbs; i++) {
    const Limb more = limb_add(a->limb[i], multiple_of_p(i, 2, 2));
    d.limb[i] = limb_subtract(more, b->limb[i]);
  }
  return d;
}

/// The number of reduced columns minus `taken`, modulo p and below 1.00001 p. `taken` is below
/// 2 p, with limbs below 2^30.
FORMULA Element reduced(const Columns *c, const Element *taken) {
  Limb d[limbs];
  UNROLLED for (int i = 0; i < limbs; i++) {
    const Limb more = limb_add(c->at[limbs + i], multiple_of_p(i, 3, 3));
    d[i] = limb_subtract(more, taken->limb[i]);
  }
  // q is nearly its bits from 256 on: the last limb lacks the carries that begin below limb 7.
  // q p is subtracted by writing q (2^224 - 2^192 - 2^96 + 1) for q 2^256.
  const Limb top = limb_add(d[8], limb_shift_right(d[7], limb_bits));
  const Limb q = limb_shift_right(top, top_bits);
  d[0] = limb_add(d[0], q);
  d[3] = limb_subtract(d[3], limb_shift_left(q, successor3_bits));
  d[6] = limb_subtract(d[6], limb_shift_left(q, successor6_bits));
  d[7] = limb_add(limb_low_bits(d[7], limb_bits), limb_shift_left(q, complement7_bits));
  d[8] = limb_low_bits(top, top_bits);
  return expect_below(carried(d), 1.00001);
}

/// The same below p: where a number below 2 p is not, p is subtracted.
FORMULA Element fully_reduced(const Element *a) {
  // Bit 256 of a + 2^256 - p says which.
  const uint64_t complement[limbs] = {
      1, 0, 0, low29 + 1 - (1 << successor3_bits), low29, low29, low29 - (1 << successor6_bits),
      (1 << complement7_bits) - 1, 0};
  Limb d[limbs];
  for (int i = 0; i < limbs; i++) d[i] = limb_add(a->limb[i], limb_constant(complement[i]));
  Element b = carried(d);
  const Limb is_above = limb_shift_right(b.limb[limbs - 1], top_bits);
  b.limb[limbs - 1] = limb_low_bits(b.limb[limbs - 1], top_bits);
  for (int i = 0; i < limbs; i++) b.limb[i] = limb_choose(is_above, a->limb[i], b.limb[i]);
  return b;
}

/// The low 29 bits of a number of two words from bit n of the lower one on.
FORMULA Limb between(Limb low, Limb high, int n) {
  return limb_low_bits(limb_packed(limb_shift_right(low, n), high, 64 - n), limb_bits);
}

/// The element of four little-endian words.
FORMULA Element from_words(const Limb w[4]) {
  return (Element){
      {limb_low_bits(w[0], limb_bits), limb_low_bits(limb_shift_right(w[0], 29), limb_bits),
       between(w[0], w[1], 58), limb_low_bits(limb_shift_right(w[1], 23), limb_bits),
       between(w[1], w[2], 52), limb_low_bits(limb_shift_right(w[2], 17), limb_bits),
       between(w[2], w[3], 46), limb_low_bits(limb_shift_right(w[3], 11), limb_bits),
       limb_shift_right(w[3], 40)}};
}

/// The words of a carried element below 2^256.
FORMULA void to_words(const Element *a, Limb w[4]) {
  const Limb *l = a->limb;
  w[0] = limb_packed(limb_packed(l[0], l[1], 29), l[2], 58);
  w[1] = limb_packed(limb_packed(limb_shift_right(l[2], 6), l[3], 23), l[4], 52);
  w[2] = limb_packed(limb_packed(limb_shift_right(l[4], 12), l[5], 17), l[6], 46);
  w[3] = limb_packed(limb_packed(limb_shift_right(l[6], 18), l[7], 11), l[8], 40);
}

/// 1 in Montgomery form: 2^261 mod p.
FORMULA Element one(void) {
  const uint64_t one[limbs] = {
      32, 0, 0, low29 + 1 - (1 << 14), low29, low29, low29 - (1 << 23), (1 << 26) - 1, 0};
  Element a;
  for (int i = 0; i < limbs; i++) a.limb[i] = limb_constant(one[i]);
  return a;
}

/// Multiplies a product of differences by one more.
FORMULA void extend_product(Element *product, const Element *so_far, const Element *difference) {
  expect_below(*difference, 3.01);
  multiply(product, so_far, difference);
  expect_below(*product, 1.11);
}

/// Takes 1 / `difference` out of the inverse of a product, of which `others` are the other factors.
FORMULA void take_inverse(
    Element *inverse, Element *product_inverse, const Element *others, const Element *difference) {
  multiply(inverse, product_inverse, others);
  expect_below(*inverse, 1.11);
  extend_product(product_inverse, product_inverse, difference);
}

/// The product below p.
FORMULA Element canonical_product(const Element *product) {
  Columns c;
  Element nothing;
  for (int i = 0; i < limbs; i++) {
    c.at[limbs + i] = product->limb[i];
    nothing.limb[i] = limb_constant(0);
  }
  const Element a = reduced(&c, &nothing);
  return fully_reduced(&a);
}

/// The affine points of a pair in each slot.
typedef struct {
  Element x1, y1, x2, y2;
} Pair;

/// The sum of two points with different x, given 1 / (x2 - x1): x3 = s^2 - x1 - x2 and
/// y3 = s (x1 - x3) - y1 with the slope s = (y2 - y1) / (x2 - x1).
FORMULA void add_pair(const Pair *pair, const Element *inverse, Element *x, Element *y) {
  const Element rise = expect_below(difference(&pair->y2, &pair->y1), 3.01);
  Element slope, both;
  multiply(&slope, inverse, &rise);
  expect_below(slope, 1.12);
  UNROLLED for (int i = 0; i < limbs; i++) {
    both.limb[i] = limb_add(pair->x1.limb[i], pair->x2.limb[i]);
  }
  const Columns square = squared(&slope);
  *x = reduced(&square, &both);
  const Element run = expect_below(difference(&pair->x1, x), 3.01);
  const Columns product = multiplied(&slope, &run);
  *y = reduced(&product, &pair->y1);
}
