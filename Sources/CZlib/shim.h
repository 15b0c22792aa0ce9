#pragma once
#include <zlib.h>

/// Begins to decompress gzip (RFC 1952), and nothing else that zlib knows. A macro of zlib.h.
static inline int assay_begin_gzip(z_stream *stream) { return inflateInit2(stream, 16 + MAX_WBITS); }
