// Limbs for formulas.h: eight slots of a vector of AVX-512 with IFMA.
//
// The functions that include this need the attribute IFMA.

#include <stdint.h>

#if defined(ASSAY_EMULATE_IFMA)
#include "emulation.h"
#define IFMA
#else
#include <immintrin.h>
#define IFMA __attribute__((target("avx512f,avx512dq,avx512ifma")))
#endif

enum { slots = 8 };

/// Bit i stands for slot i.
typedef __mmask8 Mask;
typedef __m512i Limb;

#define FORMULA IFMA static inline __attribute__((always_inline))

FORMULA Limb limb_constant(uint64_t c) { return _mm512_set1_epi64((long long)c); }
FORMULA Limb limb_add(Limb a, Limb b) { return _mm512_add_epi64(a, b); }
FORMULA Limb limb_subtract(Limb a, Limb b) { return _mm512_sub_epi64(a, b); }
FORMULA Limb limb_shift_right(Limb a, unsigned n) { return _mm512_srli_epi64(a, n); }
FORMULA Limb limb_shift_left(Limb a, unsigned n) { return _mm512_slli_epi64(a, n); }
FORMULA Limb limb_low_bits(Limb a, unsigned n) {
  return _mm512_and_si512(a, limb_constant((UINT64_C(1) << n) - 1));
}
FORMULA Limb limb_joined(Limb a, Limb b, unsigned n) {
  // The table 0xA8 is (a | b) & c.
  return _mm512_ternarylogic_epi64(
      a, _mm512_slli_epi64(b, n), limb_constant((UINT64_C(1) << 52) - 1), 0xA8);
}
FORMULA Limb limb_factor(Limb a) { return a; }
FORMULA Limb limb_add_low(Limb c, Limb a, Limb b) { return _mm512_madd52lo_epu64(c, a, b); }
FORMULA Limb limb_add_high(Limb c, Limb a, Limb b) { return _mm512_madd52hi_epu64(c, a, b); }
FORMULA Limb limb_choose(Mask mask, Limb a, Limb b) { return _mm512_mask_mov_epi64(a, mask, b); }
FORMULA void expect_top_below(Limb top, double bound) {
  (void)top;
  (void)bound;
}
