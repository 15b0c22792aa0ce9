// Limbs for pair_formulas.h: four slots of a vector of AVX2. neon_vectors.h has the same for Arm.

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

/// The attribute of functions that use limbs.
#define VECTORS __attribute__((target("avx2")))
#define FORMULA VECTORS static inline __attribute__((always_inline))
// The loop over the pairs has to fit the processor's cache of decoded instructions, of which two
// threads of a core have a half each.
#define CALLED VECTORS static __attribute__((noinline))
#define UNROLLED _Pragma("clang loop unroll(full)")

static inline enum assay_p256_vectors present_vectors(void) {
  return __builtin_cpu_supports("avx2") ? assay_p256_vectors_avx2 : assay_p256_vectors_none;
}

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

// What pairs.c needs beside the formulas.

FORMULA Limb limb_load(const uint64_t *from) { return _mm256_loadu_si256((const void *)from); }
FORMULA void limb_store(uint64_t *to, Limb a) { _mm256_storeu_si256((void *)to, a); }
FORMULA Limb limb_and(Limb a, Limb b) { return _mm256_and_si256(a, b); }
/// All bits in the slots where two numbers are equal.
FORMULA Limb limb_equal(Limb a, Limb b) { return _mm256_cmpeq_epi64(a, b); }
/// All bits in the slots where a is above b, for numbers below 2^63.
FORMULA Limb limb_above(Limb a, Limb b) { return _mm256_cmpgt_epi64(a, b); }
/// Whether a slot has any bit.
FORMULA bool limb_is_any(Limb a) { return !_mm256_testz_si256(a, a); }
/// Transposes four rows of four words.
FORMULA void transpose(Limb rows[4]) {
  const Limb a = _mm256_unpacklo_epi64(rows[0], rows[1]);
  const Limb b = _mm256_unpackhi_epi64(rows[0], rows[1]);
  const Limb c = _mm256_unpacklo_epi64(rows[2], rows[3]);
  const Limb d = _mm256_unpackhi_epi64(rows[2], rows[3]);
  rows[0] = _mm256_permute2x128_si256(a, c, 0x20);
  rows[1] = _mm256_permute2x128_si256(b, d, 0x20);
  rows[2] = _mm256_permute2x128_si256(a, c, 0x31);
  rows[3] = _mm256_permute2x128_si256(b, d, 0x31);
}
