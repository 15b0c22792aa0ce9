// Limbs for pair_formulas.h: four slots of a vector of AVX2.
//
// The functions that include this need the attribute AVX2.

#include <immintrin.h>
#include <stdint.h>

#define AVX2 __attribute__((target("avx2")))
#define FORMULA AVX2 static inline __attribute__((always_inline))
// The loop over the pairs has to fit the processor's cache of decoded instructions, of which two
// threads of a core have a half each.
#define CALLED AVX2 static __attribute__((noinline))
#define UNROLLED _Pragma("clang loop unroll(full)")

typedef __m256i Limb;

FORMULA Limb limb_constant(uint64_t c) { return _mm256_set1_epi64x((long long)c); }
FORMULA Limb limb_add(Limb a, Limb b) { return _mm256_add_epi64(a, b); }
FORMULA Limb limb_subtract(Limb a, Limb b) { return _mm256_sub_epi64(a, b); }
FORMULA Limb limb_shift_right(Limb a, int n) { return _mm256_srli_epi64(a, n); }
FORMULA Limb limb_shift_left(Limb a, int n) { return _mm256_slli_epi64(a, n); }
FORMULA Limb limb_low_bits(Limb a, int n) {
  return _mm256_and_si256(a, limb_constant((UINT64_C(1) << n) - 1));
}
FORMULA Limb limb_packed(Limb a, Limb b, int n) {
  return _mm256_or_si256(a, _mm256_slli_epi64(b, n));
}
FORMULA Limb limb_choose(Limb bit, Limb a, Limb b) {
  return _mm256_blendv_epi8(a, b, _mm256_sub_epi64(limb_constant(0), bit));
}
FORMULA Limb limb_product(Limb a, const Limb *b) {
  // There are sixteen registers, and a product has nine columns and factors of eighteen limbs. This
  // one is read where it is: compilers load all limbs first and then have to store them again.
  Limb c;
  __asm__("vpmuludq %2, %1, %0" : "=x"(c) : "x"(a), "m"(*b));
  return c;
}
FORMULA void expect_top_below(Limb top, double bound) {
  (void)top;
  (void)bound;
}
