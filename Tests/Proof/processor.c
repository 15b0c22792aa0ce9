// Executes each instruction that processor.py compares with its model. Reads blocks of three times
// eight words; for each it writes the results, a line for each instruction: its name and words.

//
// With EIGHT defined, the instructions of vectors.h, or their emulation; otherwise the others.

#include <stdio.h>

#if defined(EIGHT)
#include "vectors.h"
#else
#include <immintrin.h>
#include <stdint.h>
#endif

static void print(const char *name, const uint64_t *words, int count) {
  printf("%s", name);
  for (int i = 0; i < count; i++) printf(" %llx", (unsigned long long)words[i]);
  printf("\n");
}

#if defined(EIGHT)

#define SHOW(name, value) \
  do { \
    uint64_t r[8]; \
    _mm512_storeu_si512(r, value); \
    print(name, r, 8); \
  } while (0)

IFMA static void eight(const uint64_t w[3][8]) {
  const __m512i a = _mm512_loadu_si512(w[0]), b = _mm512_loadu_si512(w[1]);
  const __m512i c = _mm512_loadu_si512(w[2]);
  SHOW("llvm.x86.avx512.vpmadd52l.uq.512", _mm512_madd52lo_epu64(a, b, c));
  SHOW("llvm.x86.avx512.vpmadd52h.uq.512", _mm512_madd52hi_epu64(a, b, c));
  SHOW("llvm.x86.avx512.pslli.q.512:12", _mm512_slli_epi64(a, 12));
  SHOW("llvm.x86.avx512.pslli.q.512:48", _mm512_slli_epi64(a, 48));
  SHOW("llvm.x86.avx512.psrli.q.512:52", _mm512_srli_epi64(a, 52));
  SHOW("llvm.x86.avx512.psrai.q.512:48", _mm512_srai_epi64(a, 48));
  SHOW("llvm.x86.avx512.pternlog.q.512:168", _mm512_ternarylogic_epi64(a, b, c, 0xA8));
  SHOW("llvm.x86.avx512.permvar.di.512", _mm512_permutexvar_epi64(b, a));
  SHOW("llvm.umax.v8i64", _mm512_max_epu64(a, b));
  SHOW("llvm.umin.v8i64", _mm512_min_epu64(a, b));
  SHOW("llvm.abs.v8i64", _mm512_abs_epi64(a));
}

#else

#define SHOW_FOUR(name, value) \
  do { \
    uint64_t r[4]; \
    _mm256_storeu_si256((void *)r, value); \
    print(name, r, 4); \
  } while (0)

__attribute__((target("avx2"))) static void four(const uint64_t w[3][8]) {
  const __m256i a = _mm256_loadu_si256((const void *)w[0]);
  const __m256i b = _mm256_loadu_si256((const void *)w[1]);
  __m256i c = _mm256_loadu_si256((const void *)w[2]), product;
  __asm__("vpmuludq %2, %1, %0" : "=x"(product) : "x"(a), "m"(b));
  SHOW_FOUR("vpmuludq", product);
  SHOW_FOUR("llvm.x86.avx2.pslli.q:29", _mm256_slli_epi64(a, 29));
  SHOW_FOUR("llvm.x86.avx2.psrli.q:29", _mm256_srli_epi64(a, 29));
  // A mask of words, as the engine's.
  c = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_srli_epi64(c, 63));
  SHOW_FOUR("llvm.x86.avx2.pblendvb", _mm256_blendv_epi8(a, b, c));
  const uint64_t zero = (uint64_t)_mm256_testz_si256(a, b);
  print("llvm.x86.avx.ptestz.256", &zero, 1);
}

__attribute__((target("bmi2,adx"))) static void scalar(const uint64_t w[3][8]) {
  for (int i = 0; i < 8; i++) {
    unsigned long long a = w[0][i], b = w[1][i], low, high, sum = b, other = b;
    const unsigned char carry = w[2][i] & 1;
    uint64_t r[2];
    r[0] = _addcarry_u64(carry, a, b, &low), r[1] = low;
    print("llvm.x86.addcarry.64", r, 2);
    r[0] = _subborrow_u64(carry, a, b, &low), r[1] = low;
    print("llvm.x86.subborrow.64", r, 2);
    __asm__("mulxq %2, %0, %1" : "=r"(low), "=r"(high) : "r"(a), "d"(b));
    r[0] = high, r[1] = low;
    print("mulxq", r, 2);
    unsigned char out;
    // The other flag is set, and must not matter.
    __asm__("movb %3, %%al\n addb $0x7f, %%al\n seto %%ah\n movb %2, %%al\n addb $0xff, %%al\n"
            "adcxq %4, %0\n setc %1"
            : "+r"(sum), "=&q"(out) : "q"(carry), "q"((unsigned char)1), "r"(a) : "rax", "cc");
    r[0] = out, r[1] = sum;
    print("adcxq", r, 2);
    __asm__("movb %2, %%al\n addb $0x7f, %%al\n adoxq %3, %0\n seto %1"
            : "+r"(other), "=&q"(out) : "q"(carry), "r"(a) : "rax", "cc");
    r[0] = out, r[1] = other;
    print("adoxq", r, 2);
  }
}
#endif

int main(int count, char **arguments) {
  uint64_t words[3][8];
  while (count == 2 && fread(words, sizeof words, 1, stdin) == 1) {
#if defined(EIGHT)
    eight(words);
#else
    if (arguments[1][0] == '4') four(words);
    if (arguments[1][0] == '1') scalar(words);
#endif
  }
  return 0;
}
