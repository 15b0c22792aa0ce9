// Signs a digest as AssayKeys does: a prepared context is copied for each signature.
//
// usage: signing_cost KEY DIGEST-IN-HEXADECIMAL COUNT
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    if (count != 4) return 2;
    FILE *file = fopen(words[1], "r");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    EVP_PKEY_CTX *prepared = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
    if (!prepared || EVP_PKEY_sign_init(prepared) != 1) return 1;
    unsigned char digest[32];
    for (int i = 0; i < 32; i++) {
        unsigned byte;
        if (sscanf(words[2] + 2 * i, "%2x", &byte) != 1) return 2;
        digest[i] = byte;
    }
    // The first one prepares what later ones share.
    for (int i = 0; i <= atoi(words[3]); i++) {
        unsigned char signature[80];
        size_t length = sizeof signature;
        EVP_PKEY_CTX *context = EVP_PKEY_CTX_dup(prepared);
        if (EVP_PKEY_sign(context, signature, &length, digest, sizeof digest) != 1) return 1;
        EVP_PKEY_CTX_free(context);
    }
    return 0;
}
