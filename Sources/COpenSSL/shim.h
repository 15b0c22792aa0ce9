// OpenSSL's libcrypto as Swift sees it. The functions below exist only for what the importer
// cannot see: macros.
#pragma once
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

/// EVP_PKEY_PUBLIC_KEY: what of a key EVP_PKEY_fromdata makes.
enum { assay_public_key_selection = EVP_PKEY_PUBLIC_KEY };
