// Executes each intrinsic of Neon that neon.py compares with its model. Reads blocks of three times
// eight words; for each it writes the results, a line for each intrinsic: its name and words.

#include <arm_neon.h>
#include <stdio.h>

static void print(const char *name, uint64x2_t value) {
  printf("%s %llx %llx\n", name, (unsigned long long)value[0], (unsigned long long)value[1]);
}

#define SHOW(name, ...) print(#name, name(__VA_ARGS__))

static void show(const uint64_t w[3][8]) {
  const uint64x2_t a = vld1q_u64(w[0]), b = vld1q_u64(w[1]), c = vld1q_u64(w[2]);
  SHOW(vaddq_u64, a, b);
  SHOW(vsubq_u64, a, b);
  SHOW(vandq_u64, a, b);
  SHOW(vorrq_u64, a, b);
  SHOW(vceqq_u64, a, b);
  SHOW(vcgtq_u64, a, b);
  SHOW(vzip1q_u64, a, b);
  SHOW(vzip2q_u64, a, b);
  print("vceqq_u64:equal", vceqq_u64(a, vcombine_u64(vget_low_u64(a), vget_high_u64(b))));
  SHOW(vdupq_n_u64, a[0]);
  print("vmovn_u64", vmovl_u32(vmovn_u64(a)));
  SHOW(vmull_u32, vmovn_u64(a), vmovn_u64(b));
  // A mask of words, as the engine's.
  SHOW(vbslq_u64, vreinterpretq_u64_s64(vshrq_n_s64(vreinterpretq_s64_u64(c), 63)), a, b);
  print("<<:29", a << 29);
  print(">>:29", a >> 29);
}

int main(void) {
  uint64_t words[3][8];
  while (fread(words, sizeof words, 1, stdin) == 1) show(words);
  return 0;
}
