// The formulas of P-256, written once for two kinds of limbs. assay_p256.c includes this file with
// vectors.h: a limb is a vector of eight numbers, and a slot of it belongs to one signature. The
// bounds test includes it with intervals of numbers as limbs, and so computes that nothing
// overflows. A file that includes it defines `Limb`, `Mask`, `FORMULA` (the attributes of a
// function) and:
//
//   limb_constant(c)           c in each slot
//   limb_add(a, b)             a + b, which is below 2^64
//   limb_subtract(a, b)        a - b, which is not negative
//   limb_shift_right(a, n), limb_shift_left(a, n)
//   limb_low_bits(a, n)        the low n bits
//   limb_joined(a, b, n)       the low 52 bits of a | b << n
//   limb_factor(a)             the low 52 bits, as a factor only: the products ignore the others
//   limb_add_low(c, a, b)      c + the low 52 bits of a * b, for a and b below 2^52
//   limb_add_high(c, a, b)     c + (a * b >> 52), for a and b below 2^52
//   limb_choose(mask, a, b)    b in the slots of the mask, a in the others
//   expect_top_below(a, k)     fails the bounds test if an element with this last limb can be k p
//                              or more; nothing in vectors

#include <stdint.h>

/// A field element: five limbs of 52 bits, the least significant first. It is in Montgomery form
/// with R = 2^260, so there are four spare bits, and it is not reduced: `expect_below` gives the
/// bound of each value.
typedef struct {
  Limb limb[5];
} Element;

/// The point x = X / Z^2, y = Y / Z^3 or -Y / Z^3: see `add_mixed`.
typedef struct {
  Element x, y, z;
} JacobianPoint;

enum { limb_bits = 52 };
static const uint64_t low52 = (UINT64_C(1) << 52) - 1;

// p = 2^256 - 2^224 + 2^192 + 2^96 - 1. The limbs of p + 1 other than 0.
static const uint64_t successor1 = UINT64_C(1) << 44;
static const uint64_t successor3 = UINT64_C(1) << 36;
static const uint64_t successor4 = (UINT64_C(1) << 48) - (UINT64_C(1) << 16);

/// The element is below k p.
FORMULA Element expect_below(Element a, double k) {
  expect_top_below(a.limb[4], k);
  return a;
}

/// The bounds of the points between additions.
FORMULA JacobianPoint expect_bounds(JacobianPoint a) {
  expect_below(a.x, 1.01);
  expect_below(a.y, 2.01);
  expect_below(a.z, 1.5);
  return a;
}

/// Carries the bits from 52 on of each limb into the next. The last one keeps them.
FORMULA Element carried(const Limb c[5]) {
  Element a;
  Limb t = c[0];
  for (int i = 0; i < 4; i++) {
    a.limb[i] = limb_low_bits(t, limb_bits);
    t = limb_add(c[i + 1], limb_shift_right(t, limb_bits));
  }
  a.limb[4] = t;
  return a;
}

FORMULA void clear(Limb c[10]) {
  for (int i = 0; i < 10; i++) c[i] = limb_constant(0);
}

/// Adds a * b to the columns.
FORMULA void add_product(Limb c[10], const Element *a, const Element *b) {
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 5; j++) {
      c[i + j] = limb_add_low(c[i + j], a->limb[i], b->limb[j]);
      c[i + j + 1] = limb_add_high(c[i + j + 1], a->limb[i], b->limb[j]);
    }
  }
}

/// Montgomery reduction: leaves (c + m p) / 2^260 in columns 5 to 9, for the m < 2^260 that makes
/// it an integer. Because p is -1 modulo 2^52, the m of a step is column i itself, and that column
/// plus m p is the column's bits from 52 on plus m (p + 1).
FORMULA void reduce(Limb c[10]) {
  const Limb p1 = limb_constant(successor1);
  const Limb p3 = limb_constant(successor3);
  const Limb p4 = limb_constant(successor4);
  for (int i = 0; i < 5; i++) {
    const Limb m = limb_factor(c[i]);
    c[i + 1] = limb_add_low(c[i + 1], m, p1);
    c[i + 1] = limb_add(c[i + 1], limb_shift_right(c[i], limb_bits));
    c[i + 2] = limb_add_high(c[i + 2], m, p1);
    c[i + 3] = limb_add_low(c[i + 3], m, p3);
    c[i + 4] = limb_add_high(c[i + 4], m, p3);
    c[i + 4] = limb_add_low(c[i + 4], m, p4);
    c[i + 5] = limb_add_high(c[i + 5], m, p4);
  }
}

/// a * b / R. It is below (s t / 16 + 1) p for a < s p and b < t p.
FORMULA Element multiply(const Element *a, const Element *b) {
  Limb c[10];
  clear(c);
  add_product(c, a, b);
  reduce(c);
  return carried(c + 5);
}

/// a * b / R + d. Limbs of d may have more than 52 bits.
FORMULA Element multiply_add(const Element *a, const Element *b, const Element *d) {
  Limb c[10];
  clear(c);
  add_product(c, a, b);
  reduce(c);
  for (int i = 0; i < 5; i++) c[i + 5] = limb_add(c[i + 5], d->limb[i]);
  return carried(c + 5);
}

/// (a * b + d * e) / R: one reduction for two products.
FORMULA Element multiply_both(
    const Element *a, const Element *b, const Element *d, const Element *e) {
  Limb c[10];
  clear(c);
  add_product(c, a, b);
  add_product(c, d, e);
  reduce(c);
  return carried(c + 5);
}

/// a * a / R in columns 5 to 9, not carried.
FORMULA void square_columns(Limb c[10], const Element *a) {
  clear(c);
  for (int i = 0; i < 5; i++) {
    for (int j = i + 1; j < 5; j++) {
      c[i + j] = limb_add_low(c[i + j], a->limb[i], a->limb[j]);
      c[i + j + 1] = limb_add_high(c[i + j + 1], a->limb[i], a->limb[j]);
    }
  }
  for (int i = 1; i < 9; i++) c[i] = limb_add(c[i], c[i]);
  for (int i = 0; i < 5; i++) {
    c[2 * i] = limb_add_low(c[2 * i], a->limb[i], a->limb[i]);
    c[2 * i + 1] = limb_add_high(c[2 * i + 1], a->limb[i], a->limb[i]);
  }
  reduce(c);
}

/// a * a / R.
FORMULA Element square(const Element *a) {
  Limb c[10];
  square_columns(c, a);
  return carried(c + 5);
}

/// Limb i of k p, with `lent` units of each limb written as `lent` * 2^52 in the one before, so
/// that as many limbs below 2^52 can be subtracted from each.
FORMULA Limb multiple_of_p(int i, uint64_t k, uint64_t lent) {
  const uint64_t borrowed = lent << limb_bits;
  switch (i) {
    // k p = k (p + 1) - k.
    case 0: return limb_constant(borrowed - k);
    case 1: return limb_constant(k * successor1 + borrowed - lent);
    case 2: return limb_constant(borrowed - lent);
    case 3: return limb_constant(k * successor3 + borrowed - lent);
    default: return limb_constant(k * successor4 - lent);
  }
}

/// k p - a, not carried.
FORMULA Element negated(const Element *a, uint64_t k) {
  Element n;
  for (int i = 0; i < 5; i++) n.limb[i] = limb_subtract(multiple_of_p(i, k, 2), a->limb[i]);
  return n;
}

/// a - b + 2 p, for b < 1.25 p.
FORMULA Element difference(const Element *a, const Element *b) {
  Element d = negated(b, 2);
  for (int i = 0; i < 5; i++) d.limb[i] = limb_add(a->limb[i], d.limb[i]);
  return carried(d.limb);
}

/// b in the slots of the mask, a in the others.
FORMULA Element choose(Mask mask, const Element *a, const Element *b) {
  Element c;
  for (int i = 0; i < 5; i++) c.limb[i] = limb_choose(mask, a->limb[i], b->limb[i]);
  return c;
}

/// k p - a in the slots of the mask, a in the others, for a below about (k - 0.9) p.
FORMULA Element negated_where(Mask mask, const Element *a, uint64_t k) {
  const Element n = negated(a, k);
  const Element c = choose(mask, a, &n);
  return expect_below(carried(c.limb), (double)k + 0.01);
}

/// 1 in Montgomery form: 2^260 mod p.
FORMULA Element one(void) {
  return (Element){
      {limb_constant(16), limb_constant(low52 + 1 - (UINT64_C(1) << 48)), limb_constant(low52),
       limb_constant(low52 - (UINT64_C(1) << 40)), limb_constant((UINT64_C(1) << 20) - 1)}};
}

/// The affine point (x, y), or (x, -y) in the slots of the mask. x and y are below p.
FORMULA JacobianPoint from_affine(const Element *x, const Element *y, Mask negative) {
  return expect_bounds((JacobianPoint){*x, negated_where(negative, y, 2), one()});
}

/// The point with the other sign in the slots of the mask, as the second operand of `add_general`.
FORMULA JacobianPoint negated_point_where(Mask mask, const JacobianPoint *a) {
  return (JacobianPoint){a->x, negated_where(mask, &a->y, 3), a->z};
}

/// r^2 - h^3 - 2 v, given h^3 and v below 1.5 p.
FORMULA Element sum_x(const Element *r, const Element *hhh, const Element *v) {
  Limb c[10];
  square_columns(c, r);
  for (int i = 0; i < 5; i++) {
    const Limb taken = limb_add(hhh->limb[i], limb_add(v->limb[i], v->limb[i]));
    c[i + 5] = limb_add(c[i + 5], limb_subtract(multiple_of_p(i, 5, 4), taken));
  }
  // Here it is below 2^260. With q its bits from 256 on, q p is subtracted by writing
  // q (2^224 - 2^192 - 2^96 + 1) for q 2^256.
  const Limb q = limb_shift_right(c[9], 48);
  c[5] = limb_add(c[5], q);
  c[6] = limb_subtract(c[6], limb_shift_left(q, 44));
  c[8] = limb_subtract(c[8], limb_shift_left(q, 36));
  c[9] = limb_add(limb_low_bits(c[9], 48), limb_shift_left(q, 16));
  return expect_below(carried(c + 5), 1.01);
}

/// The part that the additions share: X = r^2 - h^3 - 2 x1 h^2, Y = r (x1 h^2 - X) + y1 h^3,
/// Z = z h.
FORMULA JacobianPoint finish_addition(
    const Element *x1, const Element *y1, const Element *z, const Element *h, const Element *r) {
  JacobianPoint sum;
  const Element hh = expect_below(square(h), 1.75);
  sum.z = multiply(z, h);
  const Element hhh = expect_below(multiply(h, &hh), 1.5);
  const Element v = expect_below(multiply(x1, &hh), 1.25);
  sum.x = sum_x(r, &hhh, &v);
  const Element w = expect_below(difference(&v, &sum.x), 3.25);
  sum.y = multiply_both(r, &w, y1, &hhh);
  return expect_bounds(sum);
}

/// Adds b, an affine point.
///
/// The caller knows the sign of the accumulator's Y. Given -Y, this adds b, and the sum has +Y;
/// given +Y, it adds b negated, and the sum has -Y. So Y is never subtracted.
///
/// There is no distinction of cases. Equal and opposite points give h = 0 and therefore Z = 0, and
/// all sums from then on have Z = 0.
FORMULA JacobianPoint add_mixed(const JacobianPoint *a, const JacobianPoint *b) {
  const Element zz = expect_below(square(&a->z), 1.25);
  const Element zy = expect_below(multiply(&a->z, &b->y), 1.25);
  const Element minus_x = negated(&a->x, 2);
  const Element h = expect_below(multiply_add(&b->x, &zz, &minus_x), 3.25);
  const Element r = expect_below(multiply_add(&zy, &zz, &a->y), 3.25);
  return finish_addition(&a->x, &a->y, &a->z, &h, &r);
}

/// Adds b (see `negated_point_where`). The signs of Y are those of `add_mixed`.
FORMULA JacobianPoint add_general(const JacobianPoint *a, const JacobianPoint *b) {
  const Element zz1 = expect_below(square(&a->z), 1.25);
  const Element zz2 = expect_below(square(&b->z), 1.25);
  const Element zzz1 = expect_below(multiply(&a->z, &zz1), 1.25);
  const Element zzz2 = expect_below(multiply(&b->z, &zz2), 1.25);
  const Element x1 = expect_below(multiply(&a->x, &zz2), 1.25);
  const Element y1 = expect_below(multiply(&a->y, &zzz2), 1.25);
  const Element minus_x = negated(&x1, 2);
  const Element h = expect_below(multiply_add(&b->x, &zz1, &minus_x), 3.25);
  const Element r = expect_below(multiply_add(&b->y, &zzz1, &y1), 3.25);
  const Element z = expect_below(multiply(&a->z, &b->z), 1.25);
  return finish_addition(&x1, &y1, &z, &h, &r);
}

/// a / R, from 0 to p, for a < R: (a + m p) / R with m < R. It is 0 or p if a is a multiple of p.
FORMULA Element divided_by_radix(const Element *a) {
  expect_below(*a, 16);
  Limb c[10];
  clear(c);
  for (int i = 0; i < 5; i++) c[i] = a->limb[i];
  reduce(c);
  return carried(c + 5);
}

/// r Z^2 - X without its Montgomery form, divided by R: 0 or p if x of the point is r, which is
/// below 2^256 and not in Montgomery form.
FORMULA Element x_minus(const Element *r, const JacobianPoint *a) {
  const Element zz = expect_below(square(&a->z), 1.25);
  const Element x = divided_by_radix(&a->x);
  const Element minus_x = negated(&x, 2);
  const Element d = expect_below(multiply_add(r, &zz, &minus_x), 3.25);
  return divided_by_radix(&d);
}

/// The element of four little-endian words.
FORMULA Element from_words(const Limb w[4]) {
  Element a;
  a.limb[0] = limb_low_bits(w[0], limb_bits);
  for (int i = 1; i < 4; i++) {
    a.limb[i] = limb_joined(limb_shift_right(w[i - 1], 64 - 12 * i), w[i], 12 * i);
  }
  a.limb[4] = limb_shift_right(w[3], 16);
  return a;
}
