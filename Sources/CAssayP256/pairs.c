#include "assay_p256_pairs.h"

#include "pair_limbs.h"

#if defined(HAS_VECTORS)

// After pair_limbs.h.
#include "pair_formulas.h"

enum { slots = assay_p256_pair_slots, words = 4 };

typedef struct {
  uint64_t x[words], y[words];
} Point;

/// The points of up to four pairs. The slots after the last pair have its points again.
typedef struct {
  const Point *first[slots];
} Group;

enum assay_p256_vectors assay_p256_pair_vectors(void) { return present_vectors(); }

FORMULA Group group_at(const Point *points, const uint32_t *first, size_t begin, size_t count) {
  Group group;
  for (size_t slot = 0; slot < slots; slot++) {
    const size_t pair = begin + slot < count ? begin + slot : count - 1;
    group.first[slot] = points + first[pair];
  }
  return group;
}

/// x1 and x2 in words, or y1 and y2 with `coordinate` 1.
FORMULA void load_words(const Group *group, int coordinate, Limb w1[words], Limb w2[words]) {
  for (int slot = 0; slot < slots; slot++) {
    const Point *first = group->first[slot];
    w1[slot] = limb_load(coordinate == 0 ? first->x : first->y);
    w2[slot] = limb_load(coordinate == 0 ? first[1].x : first[1].y);
  }
  transpose(w1);
  transpose(w2);
}

/// Writes 1 in the slots where two numbers are equal, and returns whether there is any.
FORMULA bool are_equal(const Limb w1[words], const Limb w2[words], Limb *equal) {
  Limb all = limb_equal(w1[0], w2[0]);
  for (int i = 1; i < words; i++) all = limb_and(all, limb_equal(w1[i], w2[i]));
  *equal = limb_shift_right(all, 63);
  return limb_is_any(all);
}

/// x2 - x1, or 1 in the slots where it is 0. Sets `is_any_zero` where there is such a slot.
FORMULA Element x_difference(const Limb w1[words], const Limb w2[words], bool *is_any_zero) {
  const Element x1 = from_words(w1), x2 = from_words(w2);
  Element d = difference(&x2, &x1);
  Limb equal;
  if (__builtin_expect(are_equal(w1, w2, &equal), 0)) {
    const Element instead = one();
    for (int i = 0; i < limbs; i++) d.limb[i] = limb_choose(equal, d.limb[i], instead.limb[i]);
    *is_any_zero = true;
  }
  return d;
}

FORMULA void to_rows(const Element *a, Limb rows[slots]) {
  to_words(a, rows);
  transpose(rows);
}

/// The words of an element of `reduced`, which is hardly ever p or more, in rows: one for each
/// slot.
FORMULA void reduced_to_rows(const Element *a, Limb rows[slots]) {
  const Limb limit = limb_constant(successor8 - 1);
  if (__builtin_expect(limb_is_any(limb_above(a->limb[limbs - 1], limit)), 0)) {
    const Element b = fully_reduced(a);
    to_rows(&b, rows);
  } else {
    to_rows(a, rows);
  }
}

VECTORS bool assay_p256_multiply_differences(
    const void *points, const uint32_t *first, size_t count, void *products,
    uint64_t product[slots][words]) {
  // The product of the differences after each group, up to all of them.
  Element *after = products;
  Element all;
  bool is_any_zero = false;
  // The other function takes the inverses from the end of these products, and has to begin with
  // the first pair.
  size_t i = (count + slots - 1) / slots;
  after[i - 1] = one();
  while (i-- > 0) {
    const Group group = group_at(points, first, i * slots, count);
    Limb w1[words], w2[words];
    load_words(&group, 0, w1, w2);
    const Element d = x_difference(w1, w2, &is_any_zero);
    extend_product(i > 0 ? &after[i - 1] : &all, &after[i], &d);
  }
  all = canonical_product(&all);
  Limb rows[slots];
  to_rows(&all, rows);
  for (int slot = 0; slot < slots; slot++) limb_store(product[slot], rows[slot]);
  return is_any_zero;
}

VECTORS void assay_p256_add_pairs(
    void *points, const uint32_t *first, const uint32_t *sum, size_t count, const void *products,
    const uint64_t inverse[slots][words]) {
  const Element *after = products;
  Limb rows[slots];
  for (int slot = 0; slot < slots; slot++) rows[slot] = limb_load(inverse[slot]);
  transpose(rows);
  Element rest = from_words(rows);
  for (size_t i = 0; i * slots < count; i++) {
    const Group group = group_at(points, first, i * slots, count);
    Limb x1[words], x2[words], y1[words], y2[words];
    load_words(&group, 0, x1, x2);
    load_words(&group, 1, y1, y2);
    bool is_any_zero = false;
    const Element d = x_difference(x1, x2, &is_any_zero);
    Element inverse_of_d;
    take_inverse(&inverse_of_d, &rest, &after[i], &d);
    const Pair pair = {from_words(x1), from_words(y1), from_words(x2), from_words(y2)};
    Element x, y;
    add_pair(&pair, &inverse_of_d, &x, &y);
    Limb x_rows[slots], y_rows[slots];
    reduced_to_rows(&x, x_rows);
    reduced_to_rows(&y, y_rows);
    for (size_t slot = 0; slot < slots && i * slots + slot < count; slot++) {
      Point *to = (Point *)points + sum[i * slots + slot];
      limb_store(to->x, x_rows[slot]);
      limb_store(to->y, y_rows[slot]);
    }
  }
}

#else

enum assay_p256_vectors assay_p256_pair_vectors(void) { return assay_p256_vectors_none; }

bool assay_p256_multiply_differences(
    const void *points, const uint32_t *first, size_t count, void *products,
    uint64_t product[assay_p256_pair_slots][4]) {
  (void)points, (void)first, (void)count, (void)products, (void)product;
  __builtin_trap();
}

void assay_p256_add_pairs(
    void *points, const uint32_t *first, const uint32_t *sum, size_t count, const void *products,
    const uint64_t inverse[assay_p256_pair_slots][4]) {
  (void)points, (void)first, (void)sum, (void)count, (void)products, (void)inverse;
  __builtin_trap();
}

#endif
