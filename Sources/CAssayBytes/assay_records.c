#include "assay_records.h"

#include <string.h>

// The position of a date in `days`.
static size_t position(size_t date) { return (date & 1) * 2 + date / 2; }

void assay_record_begin(
    assay_record_pattern *pattern, const uint8_t *record, size_t size, const int64_t *values) {
  memset(pattern, 0, sizeof *pattern);
  memcpy(&pattern->head, record, sizeof pattern->head);
  pattern->size = (uint32_t)size;
  memcpy(pattern->values, values, sizeof pattern->values);
}

void assay_record_add_number(
    assay_record_pattern *pattern, size_t end, size_t octets, size_t value) {
  pattern->numbers[pattern->number_count] =
      (assay_record_number){(uint16_t)end, (uint8_t)octets, (uint8_t)value};
  pattern->number_count += 1;
  pattern->values[value] = 0;
}

void assay_record_add_date(assay_record_pattern *pattern, size_t offset, size_t value) {
  for (size_t date = 0; date < assay_record_dates; date += 1)
    if (date == value || !pattern->has_dates) pattern->date_offsets[date] = (uint16_t)offset;
  pattern->has_dates = 1;
  pattern->varies[value] = -1;
  pattern->values[assay_record_first_date + value] = 0;
}

void assay_record_set_day(
    assay_record_pattern *pattern, size_t value, const uint8_t *octets, int64_t beginning) {
  // A date that does not vary is compared where another is.
  for (size_t date = 0; date < assay_record_dates; date += 1) {
    if (pattern->date_offsets[date] != pattern->date_offsets[value]) continue;
    memcpy(pattern->days[position(date)], octets, sizeof pattern->days[0]);
    pattern->beginnings[date] = beginning;
  }
}

void assay_record_forget_days(assay_record_pattern *pattern) {
  memset(pattern->days, 0, sizeof pattern->days);
  memset(pattern->beginnings, 0, sizeof pattern->beginnings);
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *octets) {
  return _mm256_loadu_si256((const __m256i *)octets);
}

AVX2 static inline __m256i both(const void *low, const void *high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
      _mm_loadu_si128((const __m128i *)high), 1);
}

/// The bits in which 32 octets differ from a block.
AVX2 static inline __m256i difference(const uint8_t *octets, const uint8_t *block) {
  return _mm256_and_si256(_mm256_xor_si256(load(octets), load(block)), load(block + 32));
}

AVX2 static inline int matches(
    const uint8_t *record, const assay_record_pattern *pattern, const uint8_t *blocks) {
  const size_t size = pattern->size;
  __m256i seen = difference(record + size - 32, blocks);
  for (size_t offset = 0; offset + 32 < size; offset += 32) {
    blocks += 64;
    seen = _mm256_or_si256(seen, difference(record + offset, blocks));
  }
  return _mm256_testz_si256(seen, seen);
}

/// Reads the numbers. Returns 0 if one is longer than it has to be (X.690, section 8.3.2).
static inline int read_numbers(
    const uint8_t *record, const assay_record_pattern *pattern, int64_t *values) {
  for (uint32_t index = 0; index < pattern->number_count; index += 1) {
    const assay_record_number number = pattern->numbers[index];
    uint64_t word;
    memcpy(&word, record + number.end - sizeof word, sizeof word);
    const unsigned bits = 8u * number.octets;
    const int64_t value = (int64_t)(__builtin_bswap64(word) << (64 - bits)) >> (64 - bits);
    // The first nine bits are neither all 0 nor all 1.
    if (bits > 8 && (uint64_t)((value >> (bits - 9)) + 1) < 2) return 0;
    values[number.value] = value;
  }
  return 1;
}

/// What is wrong with the times of two dates: 0 if nothing is. Their seconds of the day are the
/// lower 32 bits of each half.
AVX2 static inline __m256i read_times(const uint8_t *low, const uint8_t *high, __m256i *seconds) {
  // Of the last 16 octets, `-MM-DDThh:mm:ssZ`, the digits of the time.
  const __m256i time = _mm256_setr_epi8(
      7, 8, 10, 11, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 7, 8, 10, 11, 13, 14, -1, -1,
      -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i largest = _mm256_setr_epi16(23, 59, 59, 0, 0, 0, 0, 0, 23, 59, 59, 0, 0, 0, 0, 0);
  const __m256i units =
      _mm256_setr_epi16(3600, 60, 1, 0, 0, 0, 0, 0, 3600, 60, 1, 0, 0, 0, 0, 0);
  const __m256i octets = _mm256_shuffle_epi8(both(low + 4, high + 4), time);
  const __m256i digits = _mm256_and_si256(octets, _mm256_set1_epi8(15));
  const __m256i numbers = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
  const __m256i sums = _mm256_madd_epi16(numbers, units);
  *seconds = _mm256_add_epi32(sums, _mm256_srli_epi64(sums, 32));
  return _mm256_or_si256(
      _mm256_cmpgt_epi8(digits, _mm256_set1_epi8(9)), _mm256_cmpgt_epi16(numbers, largest));
}

/// Reads the dates. Returns 0 if one is of another day, or has no such time.
AVX2 static inline int read_dates(
    const uint8_t *record, const assay_record_pattern *pattern, int64_t *values) {
  const uint8_t *date0 = record + pattern->date_offsets[0];
  const uint8_t *date1 = record + pattern->date_offsets[1];
  const uint8_t *date2 = record + pattern->date_offsets[2];
  const uint8_t *date3 = record + pattern->date_offsets[3];
  const __m256i day = _mm256_setr_epi32(-1, -1, 0x00FFFFFF, 0, -1, -1, 0x00FFFFFF, 0);
  const __m256i other = _mm256_or_si256(
      _mm256_xor_si256(both(date0, date2), load(pattern->days)),
      _mm256_xor_si256(both(date1, date3), load(pattern->days + 2)));
  __m256i even, odd;
  const __m256i faults =
      _mm256_or_si256(read_times(date0, date2, &even), read_times(date1, date3, &odd));
  const __m256i wrong = _mm256_or_si256(faults, _mm256_and_si256(other, day));
  if (!_mm256_testz_si256(wrong, wrong)) return 0;
  const __m256i milliseconds =
      _mm256_mul_epu32(_mm256_unpacklo_epi64(even, odd), _mm256_set1_epi64x(1000));
  const __m256i dates = _mm256_add_epi64(milliseconds, load(pattern->beginnings));
  int64_t *const first = values + assay_record_first_date;
  const __m256i varying = _mm256_and_si256(dates, load(pattern->varies));
  _mm256_storeu_si256((__m256i *)first, _mm256_or_si256(load(first), varying));
  return 1;
}

AVX2 static assay_record_result values_by_avx2(
    const uint8_t *record, const assay_record_pattern *pattern, const uint8_t *blocks,
    int64_t *values) {
  if (!matches(record, pattern, blocks)) return assay_record_differs;
  memcpy(values, pattern->values, sizeof pattern->values);
  if (!read_numbers(record, pattern, values)) return assay_record_differs;
  if (pattern->has_dates && !read_dates(record, pattern, values))
    return assay_record_has_other_dates;
  return assay_record_read;
}

int assay_record_is_supported(void) { return __builtin_cpu_supports("avx2") != 0; }

assay_record_result assay_record_values_of(
    const uint8_t *record, const assay_record_pattern *pattern, const uint8_t *blocks,
    int64_t *values) {
  return values_by_avx2(record, pattern, blocks, values);
}

#else

int assay_record_is_supported(void) { return 0; }

assay_record_result assay_record_values_of(
    const uint8_t *record, const assay_record_pattern *pattern, const uint8_t *blocks,
    int64_t *values) {
  (void)record, (void)pattern, (void)blocks, (void)values;
  return assay_record_differs;
}

#endif
