#ifndef ASSAY_RECORDS_H
#define ASSAY_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum {
  assay_record_numbers = 24,
  assay_record_dates = 4,
  assay_record_values = 11,
  /// The first value that is a date. The others follow it.
  assay_record_first_date = 7,
};

/// A number of a record: one to eight octets, big-endian.
typedef struct {
  /// The offset of its end; at least 8.
  uint16_t end;
  uint8_t octets;
  /// The index of its value.
  uint8_t value;
} assay_record_number;

/// What all records of one layout have, and where they differ. The octets that have to match are
/// in an array of their own.
typedef struct {
  /// The first eight octets in memory.
  uint64_t head;
  /// Octets per record; at least 32.
  uint32_t size;
  uint32_t number_count;
  /// Whether any of the dates varies.
  uint32_t has_dates;
  /// The offsets of the four dates. One that does not vary repeats another.
  uint16_t date_offsets[assay_record_dates];
  /// The first octets of the dates read last, of which those up to the T count. In the order 0,
  /// 2, 1, 3, by which two vectors hold them.
  uint8_t days[assay_record_dates][16];
  /// The beginnings of those days, in milliseconds since 1970.
  int64_t beginnings[assay_record_dates];
  /// -1 for a date that varies, otherwise 0.
  int64_t varies[assay_record_dates];
  /// The values of all records; those that vary are 0.
  int64_t values[assay_record_values];
  assay_record_number numbers[assay_record_numbers];
} assay_record_pattern;

typedef enum {
  /// The octets or a number do not match.
  assay_record_differs,
  /// All values were read.
  assay_record_read,
  /// All values but the dates were read: a date is not of the day read last, or has no such time.
  assay_record_has_other_dates,
} assay_record_result;

/// Whether this processor has the instructions of `assay_record_values_of`.
int assay_record_is_supported(void);

/// Compares a record with the octets of a layout and reads its values.
///
/// `blocks` has the last 32 octets of the layout's record and their mask, then the first 32 and
/// theirs, and so on up to the last: `assay_record_blocks` of them. A record matches if it agrees
/// in all bits of the mask. For a date, which has the form `2015-09-22T08:55:28Z`, these are all
/// bits but the lower halves of the digits.
///
/// `record` has the octets of `pattern->size`, `values` space for `assay_record_values`.
assay_record_result assay_record_values_of(
    const uint8_t *record, const assay_record_pattern *pattern, const uint8_t *blocks,
    int64_t *values);

/// Begins a pattern with the remembered record and its values. What varies is added then.
void assay_record_begin(
    assay_record_pattern *pattern, const uint8_t *record, size_t size, const int64_t *values);

/// Adds a number that varies.
void assay_record_add_number(
    assay_record_pattern *pattern, size_t end, size_t octets, size_t value);

/// Adds a date of 20 octets that varies. `value` is its index from `assay_record_first_date` on.
void assay_record_add_date(assay_record_pattern *pattern, size_t offset, size_t value);

/// Sets the day of a date: its first 16 octets, and the milliseconds when it began.
void assay_record_set_day(
    assay_record_pattern *pattern, size_t value, const uint8_t *octets, int64_t beginning);

/// Forgets all days.
void assay_record_forget_days(assay_record_pattern *pattern);

#endif
