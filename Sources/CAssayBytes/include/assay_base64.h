#ifndef ASSAY_BASE64_H
#define ASSAY_BASE64_H

#include <stddef.h>
#include <stdint.h>

/// Decodes the front of a base64 text, as far as vector instructions reach: the last characters are
/// left to the caller, and so is everything from a block of 32 with a character that is no digit.
/// Without such instructions on this processor, that is the whole text.
///
/// `digit62` and `digit63` are the two ASCII digits in which the alphabets differ. `output` needs
/// space for the octets of the whole text. Returns the number of decoded characters, a multiple of
/// 32.
size_t assay_base64_decode(
    const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62, uint8_t digit63);

/// The same by vectors of 32 octets (AVX2) or of 64 (AVX-512 VBMI, or four registers of Neon) alone;
/// 0 on processors without them. For tests.
size_t assay_base64_decode_by(
    int width, const uint8_t *text, size_t count, uint8_t *output, uint8_t digit62,
    uint8_t digit63);

#endif
