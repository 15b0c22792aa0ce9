// The limbs for pair_formulas.h that this processor's instructions make, if any. With them come the
// attribute VECTORS of the functions that use them, and `present_vectors`.

#include "include/assay_p256_pairs.h"

#if defined(__x86_64__)
#define HAS_VECTORS
#include "pair_vectors.h"
#elif defined(__aarch64__)
#define HAS_VECTORS
#include "neon_vectors.h"
#endif
