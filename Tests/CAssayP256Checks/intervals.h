// Intervals of numbers as limbs.

#include <stddef.h>
#include <stdint.h>

/// All numbers from `low` to `high`.
typedef struct {
  __int128 low, high;
} Limb;

#define FORMULA static inline

static _Thread_local const char *failure;

FORMULA void expect(int holds, const char *otherwise) {
  if (!holds && failure == NULL) failure = otherwise;
}

/// What an operation may return: a number of 64 bits.
FORMULA Limb word(Limb a) {
  expect(a.low >= 0, "a limb becomes negative");
  expect(a.high < (__int128)1 << 64, "a limb overflows");
  return a;
}

FORMULA Limb limb_constant(uint64_t c) { return (Limb){c, c}; }
FORMULA Limb limb_add(Limb a, Limb b) { return word((Limb){a.low + b.low, a.high + b.high}); }
FORMULA Limb limb_subtract(Limb a, Limb b) {
  return word((Limb){a.low - b.high, a.high - b.low});
}
FORMULA Limb limb_shift_right(Limb a, unsigned n) { return (Limb){a.low >> n, a.high >> n}; }
FORMULA Limb limb_shift_left(Limb a, unsigned n) {
  return word((Limb){a.low << n, a.high << n});
}
FORMULA Limb limb_low_bits(Limb a, unsigned n) {
  const __int128 largest = ((__int128)1 << n) - 1;
  return a.high <= largest ? a : (Limb){0, largest};
}
/// All numbers of both.
FORMULA Limb either(Limb a, Limb b) {
  return (Limb){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}
