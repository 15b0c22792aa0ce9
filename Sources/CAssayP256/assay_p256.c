#include "assay_p256.h"

#if defined(__x86_64__) || defined(ASSAY_EMULATE_IFMA)

#include <string.h>

#include "vectors.h"
// After vectors.h.
#include "formulas.h"

enum {
  // Digits of a signature, u1's and u2's.
  digit_count = 2 * assay_p256_digits,
  // Those of a slot: four a word.
  stream_words = (digit_count + 3) / 4,
  // The points of a window are 2^9, and a point is 2^6 bytes.
  window_shift = assay_p256_window_bits - 1,
  point_shift = 6,
};

/// What the eight slots add. With fewer than five signatures, several slots share the digits of
/// one, and their sums are added at the end.
typedef struct {
  /// Slots of a signature: 1, 2, 4 or 8. They are neighbours.
  unsigned share;
  size_t count;
  uint64_t generator;
  uint64_t key[slots];
  /// A slot's digits in the order of use, four a word: each `share`th of the signature's.
  uint64_t stream[slots][stream_words];
  uint64_t r[slots][4];
} Group;

/// Where the slots are in their digits.
typedef struct {
  /// Of the next digits: 0 to 25 for u1's, 26 to 51 for u2's, 52 and more beyond the last.
  __m512i index;
  /// The next digit in the low 16 bits, and up to three more.
  __m512i digits;
  __m512i generator, key;
} Position;

/// One point for each slot.
typedef struct {
  uint64_t address[slots];
  /// The slots with a negative digit, and those with a digit other than 0.
  Mask negative, used;
} Points;

typedef struct {
  JacobianPoint point;
  /// The slots that have a point; the others have added nothing so far.
  Mask some;
  /// The slots with +Y; the others have -Y (see `add_mixed`), or nothing.
  Mask positive;
} Sum;

bool assay_p256_is_supported(void) {
#if defined(ASSAY_EMULATE_IFMA)
  return true;
#else
  // This looks at CPUID, and for AVX-512 at XGETBV as well.
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512ifma");
#endif
}

FORMULA __m512i slot_numbers(void) { return _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0); }

/// Word `i` of each slot's array of `stride` words.
FORMULA __m512i gathered(const uint64_t *words, size_t stride, size_t i) {
  const uint64_t *w = words + i;
  return _mm512_set_epi64(
      (long long)w[7 * stride], (long long)w[6 * stride], (long long)w[5 * stride],
      (long long)w[4 * stride], (long long)w[3 * stride], (long long)w[2 * stride],
      (long long)w[stride], (long long)w[0]);
}

/// Transposes eight rows of eight words.
FORMULA void transpose(__m512i rows[8]) {
  __m512i pairs[8], fours[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_epi64(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi64(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    for (int half = 0; half < 8; half += 4) {
      fours[i + half] = _mm512_shuffle_i64x2(pairs[i + half], pairs[i + half + 2], 0x88);
      fours[i + half + 2] = _mm512_shuffle_i64x2(pairs[i + half], pairs[i + half + 2], 0xDD);
    }
  }
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0x88);
    rows[i + 4] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0xDD);
  }
}

/// Takes the next digit of each slot, and fetches its point into the cache: tables are larger than
/// the first level, and together than the second.
FORMULA Points next_points(Position *position, const Group *group, unsigned step) {
  if (step % 4 == 0) position->digits = gathered(group->stream[0], stream_words, step / 4);
  const __m512i digit =
      _mm512_srai_epi64(_mm512_slli_epi64(position->digits, 48), 48);
  position->digits = _mm512_srli_epi64(position->digits, 16);
  // A digit of 0 takes the point of 1, and so does one beyond the last: it is 0 as well.
  const __m512i one = limb_constant(1);
  const __m512i point = _mm512_sub_epi64(_mm512_max_epu64(_mm512_abs_epi64(digit), one), one);
  const __m512i index = _mm512_min_epu64(position->index, limb_constant(digit_count - 1));
  const Mask is_of_key = _mm512_cmpge_epu64_mask(index, limb_constant(assay_p256_digits));
  const __m512i offset = _mm512_slli_epi64(
      _mm512_add_epi64(_mm512_slli_epi64(index, window_shift), point), point_shift);
  const __m512i table = limb_choose(is_of_key, position->generator, position->key);
  position->index = _mm512_add_epi64(position->index, limb_constant(group->share));
  Points points;
  points.negative = _mm512_movepi64_mask(digit);
  points.used = _mm512_test_epi64_mask(digit, digit);
  _mm512_storeu_si512(points.address, _mm512_add_epi64(table, offset));
  for (int i = 0; i < slots; i++) __builtin_prefetch((const void *)points.address[i]);
  return points;
}

FORMULA JacobianPoint choose_point(Mask mask, const JacobianPoint *a, const JacobianPoint *b) {
  return (JacobianPoint){
      choose(mask, &a->x, &b->x), choose(mask, &a->y, &b->y), choose(mask, &a->z, &b->z)};
}

FORMULA void add_points(Sum *sum, const Points *points) {
  __m512i words[8];
  for (int i = 0; i < slots; i++) words[i] = _mm512_load_si512((const void *)points->address[i]);
  transpose(words);
  const Element x = from_words(words);
  const Element y = from_words(words + 4);
  const JacobianPoint point = from_affine(&x, &y, points->negative ^ sum->positive);
  const Mask added = points->used & sum->some;
  const Mask first = points->used & ~sum->some;
  if (added) {
    const JacobianPoint more = add_mixed(&sum->point, &point);
    sum->point = choose_point(added, &sum->point, &more);
  }
  if (first) sum->point = choose_point(first, &sum->point, &point);
  sum->some |= points->used;
  // A first point has +Y, and an addition changes the sign.
  sum->positive ^= points->used;
}

/// Adds the points of all digits, each slot its own.
FORMULA void add_all(Sum *sum, const Group *group) {
  const unsigned steps = (digit_count + group->share - 1) / group->share;
  // Windows of the key are counted from 26.
  const uint64_t before_key = (uint64_t)assay_p256_digits << (window_shift + point_shift);
  Position position;
  position.index = _mm512_and_si512(slot_numbers(), limb_constant(group->share - 1));
  position.generator = limb_constant(group->generator);
  position.key = _mm512_sub_epi64(_mm512_loadu_si512(group->key), limb_constant(before_key));
  *sum = (Sum){0};
  Points points = next_points(&position, group, 0);
  for (unsigned step = 1; step <= steps; step++) {
    const Points current = points;
    if (step < steps) points = next_points(&position, group, step);
    add_points(sum, &current);
  }
}

FORMULA Element rotated(const Element *a, __m512i from) {
  Element b;
  for (int i = 0; i < 5; i++) b.limb[i] = _mm512_permutexvar_epi64(from, a->limb[i]);
  return b;
}

FORMULA Mask rotated_mask(Mask mask, unsigned distance) {
  return (Mask)(mask >> distance | mask << (slots - distance));
}

/// Adds to each slot's sum that of the slot `distance` above.
IFMA static void add_slots(Sum *sum, unsigned distance) {
  const __m512i from = _mm512_add_epi64(slot_numbers(), limb_constant(distance));
  JacobianPoint other = {
      rotated(&sum->point.x, from), rotated(&sum->point.y, from), rotated(&sum->point.z, from)};
  const Mask other_some = rotated_mask(sum->some, distance);
  const Mask other_positive = rotated_mask(sum->positive, distance);
  const Mask both = sum->some & other_some;
  const Mask moved = other_some & ~sum->some;
  const JacobianPoint kept = choose_point(moved, &sum->point, &other);
  // The formula adds where the signs of Y differ.
  other = negated_point_where((Mask)~(sum->positive ^ other_positive), &other);
  const JacobianPoint added = add_general(&sum->point, &other);
  sum->point = choose_point(both, &kept, &added);
  sum->positive = (sum->positive ^ both) | (moved & other_positive);
  sum->some |= other_some;
}

/// The slots in which the result of `divided_by_radix` says that an element is 0.
FORMULA Mask is_multiple_of_p(const Element *quotient) {
  const uint64_t p[5] = {low52, successor1 - 1, 0, successor3, successor4};
  Mask is_zero = 0xFF;
  Mask is_p = 0xFF;
  for (int i = 0; i < 5; i++) {
    is_zero &= _mm512_cmpeq_epi64_mask(quotient->limb[i], limb_constant(0));
    is_p &= _mm512_cmpeq_epi64_mask(quotient->limb[i], limb_constant(p[i]));
  }
  return is_zero | is_p;
}

/// The slots in which the number is x of the point.
IFMA static Mask has_x(const JacobianPoint *point, const uint64_t numbers[slots][4]) {
  __m512i words[4];
  for (int i = 0; i < 4; i++) words[i] = gathered(numbers[0], 4, i);
  const Element number = from_words(words);
  const Element quotient = x_minus(&number, point);
  return is_multiple_of_p(&quotient);
}

/// Adds n to r where the sum is below p, and returns whether it is.
static bool add_order(uint64_t r[4]) {
  static const uint64_t n[4] = {
      0xF3B9CAC2FC632551, 0xBCE6FAADA7179E84, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF00000000};
  // p - n.
  const unsigned __int128 limit =
      (unsigned __int128)0x4319055358E8617B << 64 | 0x0C46353D039CDAAE;
  if (r[3] != 0 || r[2] != 0 || ((unsigned __int128)r[1] << 64 | r[0]) >= limit) return false;
  unsigned __int128 sum = 0;
  for (int i = 0; i < 4; i++) {
    sum += (unsigned __int128)r[i] + n[i];
    r[i] = (uint64_t)sum;
    sum >>= 64;
  }
  return true;
}

/// Decides about the signatures, of which each has its sum in the first of its slots.
IFMA static void decide(Group *group, const Sum *sum, enum assay_p256_outcome *outcomes) {
  Mask holds = has_x(&sum->point, group->r);
  Mask has_second = 0;
  for (int i = 0; i < slots; i++) has_second |= (Mask)(add_order(group->r[i]) << i);
  // One signature in 2^128, unless its maker looks for one.
  if (has_second) holds |= has_second & has_x(&sum->point, group->r);
  const Element z = divided_by_radix(&sum->point.z);
  const Mask undecided = is_multiple_of_p(&z) | (Mask)~sum->some;
  for (size_t i = 0; i < group->count; i++) {
    const unsigned slot = (unsigned)i * group->share;
    outcomes[i] = undecided >> slot & 1 ? assay_p256_outcome_undecided
        : holds >> slot & 1             ? assay_p256_outcome_holds
                                        : assay_p256_outcome_fails;
  }
}

/// Distributes up to eight signatures over the slots. A slot without one has no digits.
static void distribute(
    Group *group, const void *const *keys, const int16_t *digits, const uint64_t *r,
    size_t count) {
  group->count = count;
  group->share = count == 1 ? 8 : count == 2 ? 4 : count <= 4 ? 2 : 1;
  memset(group->stream, 0, sizeof group->stream);
  // The largest number: its slots are not asked, and it is not below p - n.
  memset(group->r, 0xFF, sizeof group->r);
  for (unsigned slot = 0; slot < slots; slot++) {
    const size_t i = slot / group->share;
    group->key[slot] = (uint64_t)keys[i < count ? i : 0];
    if (i >= count) continue;
    uint64_t *stream = group->stream[slot];
    unsigned used = 0;
    for (size_t k = slot % group->share; k < digit_count; k += group->share) {
      const uint64_t digit = (uint16_t)digits[i * digit_count + k];
      stream[used / 4] |= digit << (used % 4 * 16);
      used++;
    }
    memcpy(group->r[slot], r + 4 * i, sizeof group->r[slot]);
  }
}

IFMA void assay_p256_verify(
    const void *generator, const void *const *keys, const int16_t *digits, const uint64_t *r,
    size_t count, enum assay_p256_outcome *outcomes) {
  Group group;
  group.generator = (uint64_t)generator;
  for (size_t i = 0; i < count; i += slots) {
    const size_t part = count - i < slots ? count - i : slots;
    distribute(&group, keys + i, digits + i * digit_count, r + i * 4, part);
    Sum sum;
    add_all(&sum, &group);
    for (unsigned distance = group.share / 2; distance > 0; distance /= 2) {
      add_slots(&sum, distance);
    }
    decide(&group, &sum, outcomes + i);
  }
}

#else

bool assay_p256_is_supported(void) { return false; }

void assay_p256_verify(
    const void *generator, const void *const *keys, const int16_t *digits, const uint64_t *r,
    size_t count, enum assay_p256_outcome *outcomes) {
  (void)generator, (void)keys, (void)digits, (void)r;
  for (size_t i = 0; i < count; i++) outcomes[i] = assay_p256_outcome_undecided;
}

#endif
