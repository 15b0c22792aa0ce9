#include "assay_p384_checks.h"

#if defined(__x86_64__) || defined(__aarch64__)

#include "../../Sources/CAssayP384/field.h"

NUMBERS void assay_p384_check_multiply(void *result, const void *a, const void *b) {
  *(Number *)result = multiplied(a, b);
}

NUMBERS void assay_p384_check_square(void *result, const void *a) {
  *(Number *)result = squared(a);
}

NUMBERS void assay_p384_check_add(void *result, const void *a, const void *b) {
  *(Number *)result = added(a, b);
}

NUMBERS void assay_p384_check_subtract(void *result, const void *a, const void *b) {
  *(Number *)result = subtracted(a, b);
}

#else

void assay_p384_check_multiply(void *result, const void *a, const void *b) {
  (void)result, (void)a, (void)b;
  __builtin_trap();
}

void assay_p384_check_square(void *result, const void *a) {
  (void)result, (void)a;
  __builtin_trap();
}

void assay_p384_check_add(void *result, const void *a, const void *b) {
  assay_p384_check_multiply(result, a, b);
}

void assay_p384_check_subtract(void *result, const void *a, const void *b) {
  assay_p384_check_multiply(result, a, b);
}

#endif
