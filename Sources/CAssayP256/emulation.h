// The instructions that vectors.h and assay_p256.c use, in plain C under the same names. With
// ASSAY_EMULATE_IFMA defined, they take the place of immintrin.h, so that the tests and the
// sanitizers run the code of the vectors on a processor without them. It is far slower than the
// portable engine.

#include <stdint.h>
#include <string.h>

/// A struct, because a vector type of this size is passed differently with AVX-512 and without.
typedef struct {
  uint64_t word[8];
} __m512i;
typedef uint8_t __mmask8;

#define EMULATED static inline __attribute__((always_inline))
#define EACH_WORD for (int i = 0; i < 8; i++)

EMULATED __m512i _mm512_loadu_si512(const void *from) {
  __m512i r;
  memcpy(&r, from, sizeof r);
  return r;
}
EMULATED __m512i _mm512_load_si512(const void *from) {
  // The instruction faults as well.
  if ((uintptr_t)from % sizeof(__m512i) != 0) __builtin_trap();
  return _mm512_loadu_si512(from);
}
EMULATED void _mm512_storeu_si512(void *to, __m512i a) { memcpy(to, &a, sizeof a); }

EMULATED __m512i _mm512_set1_epi64(long long a) {
  __m512i r;
  EACH_WORD r.word[i] = (uint64_t)a;
  return r;
}
EMULATED __m512i _mm512_set_epi64(
    long long w7, long long w6, long long w5, long long w4, long long w3, long long w2,
    long long w1, long long w0) {
  return (__m512i){
      {(uint64_t)w0, (uint64_t)w1, (uint64_t)w2, (uint64_t)w3, (uint64_t)w4, (uint64_t)w5,
       (uint64_t)w6, (uint64_t)w7}};
}

EMULATED __m512i _mm512_add_epi64(__m512i a, __m512i b) {
  EACH_WORD a.word[i] += b.word[i];
  return a;
}
EMULATED __m512i _mm512_sub_epi64(__m512i a, __m512i b) {
  EACH_WORD a.word[i] -= b.word[i];
  return a;
}
EMULATED __m512i _mm512_and_si512(__m512i a, __m512i b) {
  EACH_WORD a.word[i] &= b.word[i];
  return a;
}
// Counts are below 64 here.
EMULATED __m512i _mm512_slli_epi64(__m512i a, unsigned count) {
  EACH_WORD a.word[i] <<= count;
  return a;
}
EMULATED __m512i _mm512_srli_epi64(__m512i a, unsigned count) {
  EACH_WORD a.word[i] >>= count;
  return a;
}
EMULATED __m512i _mm512_srai_epi64(__m512i a, unsigned count) {
  EACH_WORD a.word[i] = (uint64_t)((int64_t)a.word[i] >> count);
  return a;
}
EMULATED __m512i _mm512_abs_epi64(__m512i a) {
  EACH_WORD a.word[i] = (int64_t)a.word[i] < 0 ? -a.word[i] : a.word[i];
  return a;
}
EMULATED __m512i _mm512_max_epu64(__m512i a, __m512i b) {
  EACH_WORD a.word[i] = a.word[i] > b.word[i] ? a.word[i] : b.word[i];
  return a;
}
EMULATED __m512i _mm512_min_epu64(__m512i a, __m512i b) {
  EACH_WORD a.word[i] = a.word[i] < b.word[i] ? a.word[i] : b.word[i];
  return a;
}
/// Each bit of the result is that of the table for the bits of a, b and c.
EMULATED __m512i _mm512_ternarylogic_epi64(__m512i a, __m512i b, __m512i c, uint8_t table) {
  __m512i r = {{0}};
  EACH_WORD {
    for (unsigned entry = 0; entry < 8; entry++) {
      if (!(table >> entry & 1)) continue;
      const uint64_t ones = (entry & 4 ? a.word[i] : ~a.word[i]) &
          (entry & 2 ? b.word[i] : ~b.word[i]) & (entry & 1 ? c.word[i] : ~c.word[i]);
      r.word[i] |= ones;
    }
  }
  return r;
}

EMULATED unsigned __int128 product_of_52_bits(uint64_t a, uint64_t b) {
  const uint64_t low = (UINT64_C(1) << 52) - 1;
  return (unsigned __int128)(a & low) * (b & low);
}
EMULATED __m512i _mm512_madd52lo_epu64(__m512i c, __m512i a, __m512i b) {
  EACH_WORD c.word[i] += (uint64_t)product_of_52_bits(a.word[i], b.word[i]) << 12 >> 12;
  return c;
}
EMULATED __m512i _mm512_madd52hi_epu64(__m512i c, __m512i a, __m512i b) {
  EACH_WORD c.word[i] += (uint64_t)(product_of_52_bits(a.word[i], b.word[i]) >> 52);
  return c;
}

EMULATED __mmask8 _mm512_cmpeq_epi64_mask(__m512i a, __m512i b) {
  unsigned mask = 0;
  EACH_WORD mask |= (unsigned)(a.word[i] == b.word[i]) << i;
  return (__mmask8)mask;
}
EMULATED __mmask8 _mm512_cmpge_epu64_mask(__m512i a, __m512i b) {
  unsigned mask = 0;
  EACH_WORD mask |= (unsigned)(a.word[i] >= b.word[i]) << i;
  return (__mmask8)mask;
}
EMULATED __mmask8 _mm512_test_epi64_mask(__m512i a, __m512i b) {
  unsigned mask = 0;
  EACH_WORD mask |= (unsigned)((a.word[i] & b.word[i]) != 0) << i;
  return (__mmask8)mask;
}
EMULATED __mmask8 _mm512_movepi64_mask(__m512i a) {
  unsigned mask = 0;
  EACH_WORD mask |= (unsigned)(a.word[i] >> 63) << i;
  return (__mmask8)mask;
}
EMULATED __m512i _mm512_mask_mov_epi64(__m512i otherwise, __mmask8 mask, __m512i a) {
  EACH_WORD a.word[i] = mask >> i & 1 ? a.word[i] : otherwise.word[i];
  return a;
}

EMULATED __m512i _mm512_unpacklo_epi64(__m512i a, __m512i b) {
  return (__m512i){
      {a.word[0], b.word[0], a.word[2], b.word[2], a.word[4], b.word[4], a.word[6], b.word[6]}};
}
EMULATED __m512i _mm512_unpackhi_epi64(__m512i a, __m512i b) {
  return (__m512i){
      {a.word[1], b.word[1], a.word[3], b.word[3], a.word[5], b.word[5], a.word[7], b.word[7]}};
}
/// Two pairs of words of a, then two of b, each chosen by two bits.
EMULATED __m512i _mm512_shuffle_i64x2(__m512i a, __m512i b, unsigned choices) {
  __m512i r;
  EACH_WORD {
    const unsigned pair = choices >> (i / 2 * 2) & 3;
    r.word[i] = (i < 4 ? a : b).word[2 * pair + (unsigned)i % 2];
  }
  return r;
}
EMULATED __m512i _mm512_permutexvar_epi64(__m512i from, __m512i a) {
  __m512i r;
  EACH_WORD r.word[i] = a.word[from.word[i] % 8];
  return r;
}

#undef EACH_WORD
