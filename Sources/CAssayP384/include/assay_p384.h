#ifndef ASSAY_P384_H
#define ASSAY_P384_H

#include <stdbool.h>

/// Whether this processor has the instructions: MULX, ADCX and ADOX (BMI2 and ADX), or those of any
/// 64-bit processor of Arm. Without them, no other function must be called.
bool assay_p384_is_supported(void);

// A coordinate is six little-endian words, below p. Points are public, as signatures are.

/// Doubles a point with Jacobian coordinates: x, y and z.
void assay_p384_double(void *point);

/// Adds a point with affine coordinates, x and y, to one with Jacobian coordinates. Where the
/// points are equal or opposite, or the first one is at infinity, its z becomes 0.
void assay_p384_add(void *point, const void *other);

#endif
