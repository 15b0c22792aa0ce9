// Computes cases by the C code of this processor. Reads them from standard input, and writes an
// answer for each. arm.py makes the cases, and checks the answers.
//
// A case is its kind, the number of its words, and the words; an answer is the number of its words,
// and the words. A word has 64 bits and is little-endian. A number's first word is the least.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../Sources/CAssayBytes/include/assay_base64.h"
#include "../../Sources/CAssayBytes/include/assay_json.h"
#include "../../Sources/CAssayP256/include/assay_p256_pairs.h"
#include "../../Sources/CAssayP384/include/assay_p384.h"
#include "../CAssayP256Checks/include/assay_p256_checks.h"
#include "../CAssayP384Checks/include/assay_p384_checks.h"

enum { slots = assay_p256_pair_slots, limbs = 9, tables = 16, windows = 26, list_points = 52 };
enum { table_points = 25 * 512 + 64, largest_batch = 64 };

typedef struct {
  uint64_t x[4], y[4];
} Point;

typedef struct {
  size_t count;
  const uint64_t *words;
} Case;

static Point *table[tables];

static void stop(const char *reason) {
  fprintf(stderr, "checks: %s\n", reason);
  exit(2);
}

static void answer(const void *words, size_t count) {
  const uint64_t head = count;
  if (fwrite(&head, 8, 1, stdout) != 1 || fwrite(words, 8, count, stdout) != count)
    stop("can't write");
}

static void *allocated(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == NULL) stop("no memory");
  return memory;
}

// Sums of pairs

static void to_limbs(const uint64_t words[4], uint64_t limb[limbs]) {
  for (int i = 0; i < limbs; i++) {
    const int at = 29 * i, word = at / 64, shift = at % 64;
    uint64_t bits = words[word] >> shift;
    if (shift > 0 && word < 3) bits |= words[word + 1] << (64 - shift);
    limb[i] = bits & ((1 << 29) - 1);
  }
}

static void to_words(const uint64_t limb[limbs], uint64_t words[4]) {
  memset(words, 0, 32);
  for (int i = 0; i < limbs; i++) {
    const int at = 29 * i, word = at / 64, shift = at % 64;
    words[word] |= limb[i] << shift;
    if (shift > 35 && word < 3) words[word + 1] |= limb[i] >> (64 - shift);
  }
}

/// The inverses, which Swift computes for the engine: powers with the exponent p - 2.
static void invert(uint64_t product[slots][4], uint64_t inverse[slots][4]) {
  const uint64_t exponent[4] = {
      0xFFFFFFFFFFFFFFFD, 0x00000000FFFFFFFF, 0, 0xFFFFFFFF00000001};
  uint64_t base[slots * limbs], power[slots * limbs];
  for (int slot = 0; slot < slots; slot++) to_limbs(product[slot], base + limbs * slot);
  memcpy(power, base, sizeof power);
  const enum assay_p256_pair_operation by = assay_p256_pair_operation_multiply;
  for (int bit = 254; bit >= 0; bit--) {
    assay_p256_compute_pairs(by, power, power, power, power);
    if (exponent[bit / 64] >> bit % 64 & 1)
      assay_p256_compute_pairs(by, power, base, base, power);
  }
  assay_p256_compute_pairs(
      assay_p256_pair_operation_reduce_fully, power, power, power, power);
  for (int slot = 0; slot < slots; slot++) to_words(power + limbs * slot, inverse[slot]);
}

/// Adds pairs, and returns whether two points of one have the same x.
static bool add_pairs(
    Point *points, const uint32_t *first, const uint32_t *sum, size_t count) {
  uint64_t product[slots][4], inverse[slots][4];
  void *products =
      allocated((count + slots - 1) / slots * assay_p256_pair_product_bytes);
  const bool are_any_equal =
      assay_p256_multiply_differences(points, first, count, products, product);
  invert(product, inverse);
  assay_p256_add_pairs(points, first, sum, count, products, inverse);
  free(products);
  return are_any_equal;
}

/// The number of pairs and their points; the answer is whether any are equal, and the sums.
static void one_pass(Case c) {
  const size_t count = c.words[0];
  Point *points = allocated(2 * count * sizeof(Point));
  memcpy(points, c.words + 1, 2 * count * sizeof(Point));
  uint32_t *first = allocated(4 * count), *sum = allocated(4 * count);
  for (size_t i = 0; i < count; i++) {
    first[i] = (uint32_t)(2 * i);
    sum[i] = (uint32_t)i;
  }
  const bool are_any_equal = add_pairs(points, first, sum, count);
  uint64_t *result = allocated((1 + 8 * count) * 8);
  result[0] = are_any_equal;
  memcpy(result + 1, points, count * sizeof(Point));
  answer(result, 1 + 8 * count);
  free(points), free(first), free(sum), free(result);
}

// Signatures

static void read_table(Case c) {
  if (c.words[0] >= tables || c.count != 1 + 8 * table_points) stop("no table");
  Point **target = &table[c.words[0]];
  if (*target == NULL) *target = allocated(table_points * sizeof(Point));
  memcpy(*target, c.words + 1, table_points * sizeof(Point));
  answer(NULL, 0);
}

static Point negated(Point a) {
  const uint64_t p[4] = {UINT64_MAX, 0xFFFFFFFF, 0, 0xFFFFFFFF00000001};
  unsigned __int128 borrow = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned __int128 d = (unsigned __int128)p[i] - a.y[i] - borrow;
    a.y[i] = (uint64_t)d;
    borrow = d >> 64 & 1;
  }
  return a;
}

/// Lists of points, as `SumTrees` has them: each pass adds the points of all lists in pairs.
typedef struct {
  Point *points;
  size_t count[largest_batch];
  bool is_undecided[largest_batch];
} Lists;

static void append(Lists *lists, size_t list, const Point *of, const int16_t *digits) {
  for (int window = 0; window < windows; window++) {
    const int digit = digits[window];
    if (digit == 0) continue;
    const Point point = of[512 * window + abs(digit) - 1];
    lists->points[list_points * list + lists->count[list]++] =
        digit < 0 ? negated(point) : point;
  }
}

/// Returns whether there was a pair.
static bool pass(Lists *lists, size_t count) {
  uint32_t first[largest_batch * list_points / 2], sum[largest_batch * list_points / 2];
  size_t pairs = 0;
  for (size_t list = 0; list < count; list++) {
    for (size_t pair = 0; pair < lists->count[list] / 2; pair++) {
      first[pairs] = (uint32_t)(list_points * list + 2 * pair);
      const Point *point = lists->points + first[pairs];
      if (memcmp(point[0].x, point[1].x, 32) == 0) lists->is_undecided[list] = true;
      sum[pairs++] = (uint32_t)(list_points * list + pair);
    }
  }
  if (pairs == 0) return false;
  bool are_any_equal = false;
  Point *copy = allocated(list_points * count * sizeof(Point));
  memcpy(copy, lists->points, list_points * count * sizeof(Point));
  are_any_equal = add_pairs(lists->points, first, sum, pairs);
  bool are_expected = false;
  for (size_t i = 0; i < pairs; i++)
    are_expected |= memcmp(copy[first[i]].x, copy[first[i] + 1].x, 32) == 0;
  free(copy);
  if (are_any_equal != are_expected) stop("equal points are not noted");
  for (size_t list = 0; list < count; list++) {
    Point *points = lists->points + list_points * list;
    const size_t n = lists->count[list];
    if (n % 2 == 1) points[n / 2] = points[n - 1];
    lists->count[list] = (n + 1) / 2;
  }
  return true;
}

/// The number of signatures, and for each the key's table and 52 digits, four a word. The answer
/// has for each the number of its points that are left, 2 where two of one x met, and the sum.
static void signatures(Case c) {
  const size_t count = c.words[0], stride = 14;
  if (count > largest_batch || c.count != 1 + stride * count) stop("no batch");
  Lists lists = {.points = allocated(list_points * count * sizeof(Point))};
  for (size_t i = 0; i < count; i++) {
    const uint64_t *words = c.words + 1 + stride * i;
    int16_t digits[2 * windows];
    memcpy(digits, words + 1, sizeof digits);
    append(&lists, i, table[0], digits);
    append(&lists, i, table[words[0]], digits + windows);
  }
  while (pass(&lists, count)) {
  }
  uint64_t *result = allocated(9 * 8 * count);
  for (size_t i = 0; i < count; i++) {
    result[9 * i] = lists.is_undecided[i] ? 2 : lists.count[i];
    memcpy(result + 9 * i + 1, lists.points + list_points * i, sizeof(Point));
  }
  answer(result, 9 * count);
  free(lists.points), free(result);
}

// Operations

static void pair_operation(Case c) {
  const size_t size = slots * limbs;
  const uint64_t *a = c.words + 1;
  uint64_t result[slots * limbs];
  assay_p256_compute_pairs(
      (enum assay_p256_pair_operation)c.words[0], a, a + size, a + 2 * size, result);
  answer(result, size);
}

static void operation_384(Case c) {
  uint64_t r[6];
  const uint64_t *a = c.words + 1, *b = a + 6;
  switch (c.words[0]) {
    case 0: assay_p384_check_multiply(r, a, b); break;
    case 1: assay_p384_check_square(r, a); break;
    case 2: assay_p384_check_add(r, a, b); break;
    default: assay_p384_check_subtract(r, a, b); break;
  }
  answer(r, 6);
}

/// A Jacobian point, which is doubled, and an affine one, which is added to the former.
static void points_384(Case c) {
  uint64_t r[36];
  memcpy(r, c.words, 144);
  memcpy(r + 18, c.words, 144);
  assay_p384_double(r);
  assay_p384_add(r + 18, c.words + 18);
  answer(r, 36);
}

/// A scalar, and an affine point that is multiplied with it.
static void product_384(Case c) {
  const uint64_t *scalar = c.words, *point = c.words + 6;
  uint64_t r[18] = {0};
  int bit = 383;
  while (bit > 0 && !(scalar[bit / 64] >> bit % 64 & 1)) bit--;
  memcpy(r, point, 96);
  r[12] = 1;
  while (bit-- > 0) {
    assay_p384_double(r);
    if (scalar[bit / 64] >> bit % 64 & 1) assay_p384_add(r, point);
  }
  answer(r, 18);
}

/// The digits for 62 and 63, the number of characters, and the characters. The answer is the number
/// of those that were decoded, and their octets.
static void base64(Case c) {
  const size_t count = c.words[2];
  uint64_t *result = allocated(8 + count + 64);
  memset(result, 0, 8 + count + 64);
  result[0] = assay_base64_decode(
      (const uint8_t *)(c.words + 3), count, (uint8_t *)(result + 1), (uint8_t)c.words[0],
      (uint8_t)c.words[1]);
  answer(result, 1 + (result[0] / 4 * 3 + 7) / 8);
  free(result);
}

static void json_stops(Case c) {
  const uint64_t stops =
      assay_json_stops((const uint8_t *)(c.words + 2), c.words[0], (uint8_t)c.words[1]);
  answer(&stops, 1);
}

// The engine in Swift

#if defined(HAS_SWIFT)

void *assay_arm_table(intptr_t arithmetic, const uint8_t *key);
void assay_arm_verify(
    intptr_t arithmetic, intptr_t count, const void *const *tables, const uint8_t *numbers,
    uint64_t *outcomes);
void assay_arm_verify_384(const uint8_t *key, const uint8_t *numbers, uint64_t *outcomes);

static void *engine_table[tables];

/// The table's index, the arithmetic, and 65 octets. The answer is whether these are a key.
static void engine_key(Case c) {
  void *made = assay_arm_table((intptr_t)c.words[1], (const uint8_t *)(c.words + 2));
  if (made != NULL && c.words[0] < tables) engine_table[c.words[0]] = made;
  answer(&(uint64_t){made != NULL}, 1);
}

/// The arithmetic, the number of signatures, the index of each one's table, and 96 octets of each.
/// The answer has their outcomes.
static void engine_signatures(Case c) {
  const size_t count = c.words[1];
  const void *table_of[largest_batch];
  uint64_t outcomes[largest_batch];
  if (count > largest_batch) stop("no batch");
  for (size_t i = 0; i < count; i++) table_of[i] = engine_table[c.words[2 + i]];
  assay_arm_verify(
      (intptr_t)c.words[0], (intptr_t)count, table_of, (const uint8_t *)(c.words + 2 + count),
      outcomes);
  answer(outcomes, count);
}

/// 97 octets of a key, filled up to 104, and 144 of a signature.
static void engine_384(Case c) {
  uint64_t outcomes[2];
  assay_arm_verify_384((const uint8_t *)c.words, (const uint8_t *)(c.words + 13), outcomes);
  answer(outcomes, 2);
}

#endif

int main(void) {
  void (*const kinds[])(Case) = {
      pair_operation, one_pass,    read_table, signatures, operation_384,
      points_384,     product_384, base64,     json_stops,
#if defined(HAS_SWIFT)
      engine_key,     engine_signatures,       engine_384,
#endif
  };
  if (assay_p256_pair_vectors() == assay_p256_vectors_none || !assay_p384_is_supported())
    stop("no vectors");
  uint64_t head[2];
  while (fread(head, 8, 2, stdin) == 2) {
    uint64_t *words = allocated(8 * head[1]);
    if (head[0] >= sizeof kinds / sizeof *kinds || fread(words, 8, head[1], stdin) != head[1])
      stop("no case");
    kinds[head[0]]((Case){head[1], words});
    free(words);
  }
  return fflush(stdout) == 0 ? 0 : 2;
}
