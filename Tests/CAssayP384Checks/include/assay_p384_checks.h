#ifndef ASSAY_P384_CHECKS_H
#define ASSAY_P384_CHECKS_H

// The operations of Sources/CAssayP384/field.h. A number is six little-endian words, below p. They
// must not be called without BMI2 and ADX.

void assay_p384_check_multiply(void *result, const void *a, const void *b);
void assay_p384_check_square(void *result, const void *a);
void assay_p384_check_add(void *result, const void *a, const void *b);
void assay_p384_check_subtract(void *result, const void *a, const void *b);

#endif
