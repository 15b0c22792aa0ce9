// Arithmetic modulo p = 2^384 - 2^128 - 2^96 + 2^32 - 1. Every number is below p, before and after
// each operation.

#include <stdbool.h>
#include <stdint.h>

typedef unsigned long long Word;

typedef struct {
  Word w[6];
} Number;

#if defined(__aarch64__)
#include "plain_words.h"
#else

#include <x86intrin.h>

/// The attribute of functions that use numbers.
#define NUMBERS __attribute__((target("bmi2,adx")))
#define FIELD NUMBERS static inline __attribute__((always_inline))

// A product is assembly: a row is one word of `a` times several of `b`, added to the sum so far.
// The low halves of its products are added with one carry flag (ADCX), the high halves with the
// other (ADOX), so that neither waits for the other. Compilers use one flag only, which takes
// twice as long. MULX multiplies by RDX, and MOV leaves the flags.

/// Begins a row with word `i` of `a`. Clears both carries.
#define ROW(i) "movq " #i "*8(%[a]), %%rdx\n xorl %k[low], %k[low]\n"
/// Adds the row's product with word `i` of `b` to the words `x` and `y` of the sum.
#define ADD(b, i, x, y) \
  "mulxq " #i "*8(%[" #b "]), %[low], %[high]\n" \
  "adcxq %[low], %[" #x "]\n adoxq %[high], %[" #y "]\n"
/// The same for the row's last product. `y` is new: it receives the high half and both carries.
#define LAST(b, i, x, y) \
  "mulxq " #i "*8(%[" #b "]), %[low], %[" #y "]\n" \
  "adcxq %[low], %[" #x "]\n movl $0, %k[low]\n" \
  "adoxq %[low], %[" #y "]\n adcxq %[low], %[" #y "]\n"
/// A product of the first row, where `y` is new.
#define FIRST(b, i, x, y) \
  "mulxq " #i "*8(%[" #b "]), %[low], %[" #y "]\n adcxq %[low], %[" #x "]\n"
/// Adds the carry of the first row to its last word.
#define END_FIRST(x) "movl $0, %k[low]\n adcxq %[low], %[" #x "]\n"
/// Stores a word of the result.
#define STORE(i, x) "movq %[" #x "], " #i "*8(%[t])\n"

/// The product, of twelve words.
FIELD void multiply_words(Word t[12], const Word *a, const Word *b) {
  Word r0, r1, r2, r3, r4, r5, r6, low, high;
#define NEXT(i, r0, r1, r2, r3, r4, r5, r6) \
  ROW(i) ADD(b, 0, r0, r1) STORE(i, r0) ADD(b, 1, r1, r2) ADD(b, 2, r2, r3) ADD(b, 3, r3, r4) \
  ADD(b, 4, r4, r5) LAST(b, 5, r5, r6)
  __asm__(
      ROW(0) "mulxq 0(%[b]), %[r0], %[r1]\n" STORE(0, r0)
      FIRST(b, 1, r1, r2) FIRST(b, 2, r2, r3) FIRST(b, 3, r3, r4) FIRST(b, 4, r4, r5)
      FIRST(b, 5, r5, r6) END_FIRST(r6)
      // A row ends one word higher, so the registers rotate.
      NEXT(1, r1, r2, r3, r4, r5, r6, r0)
      NEXT(2, r2, r3, r4, r5, r6, r0, r1)
      NEXT(3, r3, r4, r5, r6, r0, r1, r2)
      NEXT(4, r4, r5, r6, r0, r1, r2, r3)
      NEXT(5, r5, r6, r0, r1, r2, r3, r4)
      STORE(6, r6) STORE(7, r0) STORE(8, r1) STORE(9, r2) STORE(10, r3) STORE(11, r4)
      : [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4),
        [r5] "=&r"(r5), [r6] "=&r"(r6), [low] "=&r"(low), [high] "=&r"(high)
      : [a] "r"(a), [b] "r"(b), [t] "r"(t)
      : "rdx", "cc", "memory");
}

/// Doubles two words of the sum, with one carry, and adds the square of word `i`, with the other.
#define ADD_SQUARE(i) \
  "movq " #i "*8(%[a]), %%rdx\n mulxq %%rdx, %[low], %[high]\n" \
  "movq " #i "*16(%[t]), %[r1]\n adcxq %[r1], %[r1]\n adoxq %[low], %[r1]\n" \
  "movq %[r1], " #i "*16(%[t])\n" \
  "movq " #i "*16+8(%[t]), %[r1]\n adcxq %[r1], %[r1]\n adoxq %[high], %[r1]\n" \
  "movq %[r1], " #i "*16+8(%[t])\n"

/// The square, of twelve words.
FIELD void square_words(Word t[12], const Word *a) {
  Word r1, r2, r3, r4, r5, r6, low, high;
  // The products of two different words add up to words 1 to 10.
  t[0] = 0;
  t[11] = 0;
  __asm__(
      ROW(0) "mulxq 8(%[a]), %[r1], %[r2]\n"
      FIRST(a, 2, r2, r3) FIRST(a, 3, r3, r4) FIRST(a, 4, r4, r5) FIRST(a, 5, r5, r6)
      END_FIRST(r6) STORE(1, r1) STORE(2, r2)
      // r1 to r4 are words 7 to 10 from here on.
      ROW(1) ADD(a, 2, r3, r4) ADD(a, 3, r4, r5) ADD(a, 4, r5, r6) LAST(a, 5, r6, r1)
      STORE(3, r3) STORE(4, r4)
      ROW(2) ADD(a, 3, r5, r6) ADD(a, 4, r6, r1) LAST(a, 5, r1, r2) STORE(5, r5) STORE(6, r6)
      ROW(3) ADD(a, 4, r1, r2) LAST(a, 5, r2, r3) STORE(7, r1) STORE(8, r2)
      ROW(4) LAST(a, 5, r3, r4) STORE(9, r3) STORE(10, r4)
      "xorl %k[low], %k[low]\n"
      ADD_SQUARE(0) ADD_SQUARE(1) ADD_SQUARE(2) ADD_SQUARE(3) ADD_SQUARE(4) ADD_SQUARE(5)
      : [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4), [r5] "=&r"(r5),
        [r6] "=&r"(r6), [low] "=&r"(low), [high] "=&r"(high)
      : [a] "r"(a), [t] "r"(t)
      : "rdx", "cc", "memory");
}

/// r = a + b with a carry, and r = a - b with a borrow, word by word.
#define CARRY(r, a, b) carry = _addcarry_u64(carry, (a), (b), &(r))
#define BORROW(r, a, b) carry = _subborrow_u64(carry, (a), (b), &(r))

static inline bool has_instructions(void) {
  return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("adx");
}

#endif

/// Returns n + top * 2^384 modulo p, which is below 2 * p.
FIELD Number reduced_once(Number n, Word top) {
  // Adds 2^384 - p: the sum reaches 2^384 where n is not below p.
  Number s;
  unsigned char carry = 0;
  CARRY(s.w[0], n.w[0], 0xFFFFFFFF00000001);
  CARRY(s.w[1], n.w[1], 0xFFFFFFFF);
  CARRY(s.w[2], n.w[2], 1);
  for (int i = 3; i < 6; i++) CARRY(s.w[i], n.w[i], 0);
  const Word mask = (top | carry) - 1;
  for (int i = 0; i < 6; i++) s.w[i] ^= (s.w[i] ^ n.w[i]) & mask;
  return s;
}

/// Returns t modulo p for any t: 2^384 is c = 2^128 + 2^96 - 2^32 + 1 modulo p, so that the words
/// from the sixth on are replaced by their product with c, twice. A product with 2^96 - 2^32 is
/// one with 2^32 at two places, added and subtracted.
///
/// low + high * c is below 2^512 + 2^481, so its words from the sixth on are below 2^128 + 2^97.
/// Their product with c is below 2^258, and the sum is below 2^384 + 2^258 < 2 * p.
FIELD Number reduced(const Word t[12]) {
  const Word *h = t + 6;
  Word r[9], x[7], extra = 0;
  unsigned char carry = 0;
  x[0] = h[0] << 32;
  for (int i = 1; i < 6; i++) x[i] = h[i] << 32 | h[i - 1] >> 32;
  x[6] = h[5] >> 32;
  for (int i = 0; i < 6; i++) CARRY(r[i], t[i], h[i]);
  r[6] = carry;
  carry = 0;
  for (int i = 2; i < 7; i++) CARRY(r[i], r[i], h[i - 2]);
  CARRY(r[7], h[5], 0);
  r[8] = carry;
  carry = 0;
  for (int i = 1; i < 8; i++) CARRY(r[i], r[i], x[i - 1]);
  r[8] += carry;
  carry = 0;
  for (int i = 0; i < 7; i++) BORROW(r[i], r[i], x[i]);
  BORROW(r[7], r[7], 0);
  r[8] -= carry;
  // The same for three words.
  const Word g[3] = {r[6], r[7], r[8]};
  const Word y[3] = {g[0] << 32, g[1] << 32 | g[0] >> 32, g[2] << 32 | g[1] >> 32};
  Word s[5];
  carry = 0;
  CARRY(s[2], g[2], g[0]);
  CARRY(s[3], g[1], 0);
  s[4] = g[2] + carry;
  carry = 0;
  BORROW(s[0], g[0], y[0]);
  BORROW(s[1], g[1], y[1]);
  BORROW(s[2], s[2], y[2]);
  BORROW(s[3], s[3], 0);
  s[4] -= carry;
  carry = 0;
  for (int i = 1; i < 4; i++) CARRY(s[i], s[i], y[i - 1]);
  s[4] += carry;
  carry = 0;
  Number n;
  for (int i = 0; i < 5; i++) CARRY(n.w[i], r[i], s[i]);
  CARRY(n.w[5], r[5], 0);
  extra = carry;
  return reduced_once(n, extra);
}

FIELD Number multiplied(const Number *a, const Number *b) {
  Word t[12];
  multiply_words(t, a->w, b->w);
  return reduced(t);
}

FIELD Number squared(const Number *a) {
  Word t[12];
  square_words(t, a->w);
  return reduced(t);
}

FIELD Number added(const Number *a, const Number *b) {
  Number n;
  unsigned char carry = 0;
  for (int i = 0; i < 6; i++) CARRY(n.w[i], a->w[i], b->w[i]);
  return reduced_once(n, carry);
}

FIELD Number doubled(const Number *a) { return added(a, a); }

FIELD Number subtracted(const Number *a, const Number *b) {
  Number n;
  unsigned char carry = 0;
  for (int i = 0; i < 6; i++) BORROW(n.w[i], a->w[i], b->w[i]);
  // Adds p after a borrow.
  const Word mask = 0 - (Word)carry;
  carry = 0;
  CARRY(n.w[0], n.w[0], mask & 0xFFFFFFFF);
  CARRY(n.w[1], n.w[1], mask & 0xFFFFFFFF00000000);
  CARRY(n.w[2], n.w[2], mask & 0xFFFFFFFFFFFFFFFE);
  for (int i = 3; i < 6; i++) CARRY(n.w[i], n.w[i], mask);
  return n;
}
