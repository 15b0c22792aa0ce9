// Limbs for pair_formulas.h: four slots of two vectors of Neon (Advanced SIMD), which every 64-bit
// processor of Arm has. pair_vectors.h has the same for AVX2.

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

/// The attribute of functions that use limbs: none is needed.
#define VECTORS
#define FORMULA static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline))
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 18")
#endif

static inline enum assay_p256_vectors present_vectors(void) { return assay_p256_vectors_neon; }

/// Slots 0 and 1, then 2 and 3.
typedef uint64x2x2_t Limb;

FORMULA Limb limb_constant(uint64_t c) { return (Limb){{vdupq_n_u64(c), vdupq_n_u64(c)}}; }
FORMULA Limb limb_add(Limb a, Limb b) {
  return (Limb){{vaddq_u64(a.val[0], b.val[0]), vaddq_u64(a.val[1], b.val[1])}};
}
FORMULA Limb limb_subtract(Limb a, Limb b) {
  return (Limb){{vsubq_u64(a.val[0], b.val[0]), vsubq_u64(a.val[1], b.val[1])}};
}
// Intrinsics for shifts want a literal. The operators become the same instructions.
FORMULA Limb limb_shift_right(Limb a, int n) {
  return (Limb){{a.val[0] >> n, a.val[1] >> n}};
}
FORMULA Limb limb_shift_left(Limb a, int n) { return (Limb){{a.val[0] << n, a.val[1] << n}}; }
FORMULA Limb limb_and(Limb a, Limb b) {
  return (Limb){{vandq_u64(a.val[0], b.val[0]), vandq_u64(a.val[1], b.val[1])}};
}
FORMULA Limb limb_low_bits(Limb a, int n) {
  return limb_and(a, limb_constant((UINT64_C(1) << n) - 1));
}
FORMULA Limb limb_packed(Limb a, Limb b, int n) {
  const Limb c = limb_shift_left(b, n);
  return (Limb){{vorrq_u64(a.val[0], c.val[0]), vorrq_u64(a.val[1], c.val[1])}};
}
FORMULA Limb limb_choose(Limb bit, Limb a, Limb b) {
  const Limb mask = limb_subtract(limb_constant(0), bit);
  return (Limb){
      {vbslq_u64(mask.val[0], b.val[0], a.val[0]), vbslq_u64(mask.val[1], b.val[1], a.val[1])}};
}
FORMULA Limb limb_product(Limb a, const Limb *b) {
  return (Limb){
      {vmull_u32(vmovn_u64(a.val[0]), vmovn_u64(b->val[0])),
       vmull_u32(vmovn_u64(a.val[1]), vmovn_u64(b->val[1]))}};
}
FORMULA void expect_top_below(Limb top, double bound) {
  (void)top;
  (void)bound;
}

// What pairs.c needs beside the formulas.

FORMULA Limb limb_load(const uint64_t *from) {
  return (Limb){{vld1q_u64(from), vld1q_u64(from + 2)}};
}
FORMULA void limb_store(uint64_t *to, Limb a) {
  vst1q_u64(to, a.val[0]);
  vst1q_u64(to + 2, a.val[1]);
}
/// All bits in the slots where two numbers are equal.
FORMULA Limb limb_equal(Limb a, Limb b) {
  return (Limb){{vceqq_u64(a.val[0], b.val[0]), vceqq_u64(a.val[1], b.val[1])}};
}
/// All bits in the slots where a is above b.
FORMULA Limb limb_above(Limb a, Limb b) {
  return (Limb){{vcgtq_u64(a.val[0], b.val[0]), vcgtq_u64(a.val[1], b.val[1])}};
}
/// Whether a slot has any bit.
FORMULA bool limb_is_any(Limb a) {
  const uint64x2_t both = vorrq_u64(a.val[0], a.val[1]);
  return (both[0] | both[1]) != 0;
}
/// Transposes four rows of four words.
FORMULA void transpose(Limb rows[4]) {
  const Limb a = rows[0], b = rows[1], c = rows[2], d = rows[3];
  for (int i = 0; i < 2; i++) {
    rows[2 * i].val[0] = vzip1q_u64(a.val[i], b.val[i]);
    rows[2 * i].val[1] = vzip1q_u64(c.val[i], d.val[i]);
    rows[2 * i + 1].val[0] = vzip2q_u64(a.val[i], b.val[i]);
    rows[2 * i + 1].val[1] = vzip2q_u64(c.val[i], d.val[i]);
  }
}
