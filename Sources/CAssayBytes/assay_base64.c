#include "assay_base64.h"

#if defined(__x86_64__) || defined(__aarch64__)

#include <string.h>

// A step by a table of all characters decodes 64 of them to 48 octets, and stores no more.
enum { wide_characters = 64, wide_octets = 48 };

enum { no = 0x80 };
// The values of the digits that both alphabets have; `no` for other ASCII characters.
static const uint8_t shared_digits[128] = {
    no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no,
    no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no,
    no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, no,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, no, no, no, no, no, no,
    no, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, no, no, no, no, no,
    no, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, no, no, no, no, no,
};

/// Writes the values of the characters of an alphabet: the shared ones, and its own two digits.
static inline void write_values(
    uint8_t values[sizeof shared_digits], uint8_t digit62, uint8_t digit63) {
  memcpy(values, shared_digits, sizeof shared_digits);
  values[digit62 & 0x7F] = 62;
  values[digit63 & 0x7F] = 63;
}
#endif

#if defined(__x86_64__)

#include <immintrin.h>

// A step decodes 32 characters to 24 octets, and stores 32. The eight octets beyond them belong to
// characters that follow: twelve more stand for nine.
enum { step_characters = 32, step_octets = 24, needed_characters = 44 };

#define AVX2 __attribute__((target("avx2")))

// Bit h stands for the high half h of a character; bit 0 also for the halves that no digit has.
static const uint8_t bits_of_high_halves[16] = {
    1, 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1, 1, 1, 1, 1, 1, 1, 1,
};
// The high halves with which each low half makes no digit that both alphabets have: those are 0x30
// to 0x39, 0x41 to 0x5A and 0x61 to 0x7A.
static const uint8_t bits_of_low_halves[16] = {
    0x55, 0x05, 0x05, 0x05, 0x05, 0x05, 0x05, 0x05, 0x05, 0x05, 0x0D, 0xAD, 0xAD, 0xAD, 0xAD, 0xAD,
};
// The difference between value and character, by the high half.
static const int8_t differences[16] = {0, 0, 0, 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a'};

/// Sixteen octets in each half.
AVX2 static inline __m256i twice(const void *octets) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)octets));
}

/// What the difference of a digit's high half lacks to its value.
AVX2 static inline __m256i correction(int value, uint8_t digit) {
  return _mm256_set1_epi8((char)(value - digit - differences[digit >> 4 & 15]));
}

AVX2 static size_t decode_by_avx2(
    const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62, uint8_t digit63) {
  uint8_t low_halves[16];
  memcpy(low_halves, bits_of_low_halves, sizeof low_halves);
  low_halves[digit62 & 15] &= (uint8_t)~bits_of_high_halves[digit62 >> 4];
  low_halves[digit63 & 15] &= (uint8_t)~bits_of_high_halves[digit63 >> 4];
  const __m256i low_bits = twice(low_halves);
  const __m256i high_bits = twice(bits_of_high_halves);
  const __m256i by_high_half = twice(differences);
  const __m256i half = _mm256_set1_epi8(15);
  const __m256i only62 = _mm256_set1_epi8((char)digit62);
  const __m256i only63 = _mm256_set1_epi8((char)digit63);
  const __m256i correction62 = correction(62, digit62);
  const __m256i correction63 = correction(63, digit63);
  // The lower three octets of each 32 bits, highest first, together in each half.
  const __m256i octets = _mm256_setr_epi8(
      2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13,
      12, -1, -1, -1, -1);
  // Moves the halves' twelve octets together.
  const __m256i halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
  size_t done = 0;
  while (count - done >= needed_characters) {
    const __m256i characters = _mm256_loadu_si256((const __m256i *)(text + done));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(characters, 4), half);
    const __m256i low = _mm256_and_si256(characters, half);
    if (!_mm256_testz_si256(
            _mm256_shuffle_epi8(low_bits, low), _mm256_shuffle_epi8(high_bits, high)))
      break;
    const __m256i corrections = _mm256_or_si256(
        _mm256_and_si256(_mm256_cmpeq_epi8(characters, only62), correction62),
        _mm256_and_si256(_mm256_cmpeq_epi8(characters, only63), correction63));
    const __m256i offsets =
        _mm256_add_epi8(_mm256_shuffle_epi8(by_high_half, high), corrections);
    const __m256i values = _mm256_add_epi8(characters, offsets);
    // Two values of 6 bits become 12, the earlier one higher; two of 12 become 24.
    const __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
    const __m256i blocks = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
    const __m256i packed =
        _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(blocks, octets), halves);
    _mm256_storeu_si256((__m256i *)output, packed);
    done += step_characters;
    output += step_octets;
  }
  return done;
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

// The lower three octets of each 32 bits, highest first. The places after them are not stored.
static const uint8_t triples[64] = {
    2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 18, 17, 16, 22, 21, 20, 26, 25, 24, 30, 29, 28, 34,
    33, 32, 38, 37, 36, 42, 41, 40, 46, 45, 44, 50, 49, 48, 54, 53, 52, 58, 57, 56, 62, 61, 60,
};

/// Looks up the values of 64 characters at once.
AVX512 static size_t decode_by_avx512(
    const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62, uint8_t digit63) {
  uint8_t values[sizeof shared_digits];
  write_values(values, digit62, digit63);
  const __m512i first = _mm512_loadu_si512(values);
  const __m512i second = _mm512_loadu_si512(values + 64);
  const __m512i octets = _mm512_loadu_si512(triples);
  size_t done = 0;
  while (count - done >= wide_characters) {
    const __m512i characters = _mm512_loadu_si512(text + done);
    const __m512i found = _mm512_permutex2var_epi8(first, characters, second);
    // The look-up ignores the highest bit of a character.
    if (_mm512_movepi8_mask(_mm512_or_si512(found, characters)) != 0) break;
    // Two values of 6 bits become 12, the earlier one higher; two of 12 become 24.
    const __m512i pairs = _mm512_maddubs_epi16(found, _mm512_set1_epi32(0x01400140));
    const __m512i blocks = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00011000));
    _mm512_mask_storeu_epi8(
        output, ((__mmask64)1 << wide_octets) - 1, _mm512_permutexvar_epi8(octets, blocks));
    done += wide_characters;
    output += wide_octets;
  }
  return done;
}

size_t assay_base64_decode_by(
    int width, const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62,
    uint8_t digit63) {
  if (width == 64 && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw"))
    return decode_by_avx512(text, count, output, digit62, digit63);
  if (width == 32 && __builtin_cpu_supports("avx2"))
    return decode_by_avx2(text, count, output, digit62, digit63);
  return 0;
}

#elif defined(__aarch64__)

#include <arm_neon.h>

/// Looks up the values of 64 characters in four registers: every fourth one in each.
static size_t decode_by_neon(
    const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62, uint8_t digit63) {
  uint8_t values[sizeof shared_digits];
  write_values(values, digit62, digit63);
  const uint8x16x4_t first = vld1q_u8_x4(values);
  const uint8x16x4_t second = vld1q_u8_x4(values + 64);
  const uint8x16_t distance = vdupq_n_u8(64);
  size_t done = 0;
  while (count - done >= wide_characters) {
    const uint8x16x4_t characters = vld4q_u8(text + done);
    uint8x16_t v[4], wrong = vdupq_n_u8(0);
    for (int i = 0; i < 4; i++) {
      // A look-up beyond 64 values gives 0, so that one of the two gives the value.
      const uint8x16_t c = characters.val[i];
      v[i] = vorrq_u8(vqtbl4q_u8(first, c), vqtbl4q_u8(second, veorq_u8(c, distance)));
      wrong = vorrq_u8(wrong, vorrq_u8(v[i], c));
    }
    // Neither a value nor an ASCII character has the highest bit.
    if (vmaxvq_u8(wrong) >= no) break;
    const uint8x16x3_t octets = {
        {vorrq_u8(vshlq_n_u8(v[0], 2), vshrq_n_u8(v[1], 4)),
         vorrq_u8(vshlq_n_u8(v[1], 4), vshrq_n_u8(v[2], 2)),
         vorrq_u8(vshlq_n_u8(v[2], 6), v[3])}};
    vst3q_u8(output, octets);
    done += wide_characters;
    output += wide_octets;
  }
  return done;
}

size_t assay_base64_decode_by(
    int width, const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62,
    uint8_t digit63) {
  return width == 64 ? decode_by_neon(text, count, output, digit62, digit63) : 0;
}

#else

size_t assay_base64_decode_by(
    int width, const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62,
    uint8_t digit63) {
  (void)width, (void)text, (void)count, (void)output, (void)digit62, (void)digit63;
  return 0;
}

#endif

size_t assay_base64_decode(
    const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62, uint8_t digit63) {
  const size_t done = assay_base64_decode_by(64, text, count, output, digit62, digit63);
  return done + assay_base64_decode_by(
                    32, text + done, count - done, output + done / 4 * 3, digit62, digit63);
}
