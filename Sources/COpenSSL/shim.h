// OpenSSL's libcrypto and libssl as Swift sees them. The functions below exist only for what the importer
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
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// EVP_PKEY_PUBLIC_KEY: what of a key EVP_PKEY_fromdata makes.
enum { assay_public_key_selection = EVP_PKEY_PUBLIC_KEY };

// Macros of ssl.h that are calls.

static inline int assay_set_least_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline void assay_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }

static inline void assay_keep_no_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
}

static inline void assay_set_strict_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

static inline void assay_set_most_certificate_bytes(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}

static inline int assay_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

static inline int assay_error_is_alert(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET;
}

static inline int assay_error_is_of_ssl(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_SSL;
}

static inline int assay_error_reason(unsigned long error) { return ERR_GET_REASON(error); }

/// Whether the peer's certificate leads to an authority of another context than its handshake's.
/// Dates do not count: they were checked by the handshake.
static inline int assay_peer_is_trusted(SSL *session, SSL_CTX *context) {
    X509 *peer = SSL_get0_peer_certificate(session);
    X509_STORE_CTX *check = peer == NULL ? NULL : X509_STORE_CTX_new();
    int is_trusted = 0;
    if (check != NULL &&
        X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), peer,
                            SSL_get_peer_cert_chain(session)) == 1 &&
        X509_STORE_CTX_set_default(check, "ssl_client") == 1) {
        X509_STORE_CTX_set_flags(check, X509_V_FLAG_NO_CHECK_TIME);
        is_trusted = X509_verify_cert(check) == 1;
    }
    X509_STORE_CTX_free(check);
    return is_trusted;
}

// Subject alternative names: generated inline functions, and a union.

static inline int assay_name_count(const GENERAL_NAMES *names) {
    return sk_GENERAL_NAME_num(names);
}

/// The type (GEN_DNS, GEN_URI) of a name, and its octets where it is of one of the two.
static inline int assay_name(
    const GENERAL_NAMES *names, int index, const unsigned char **octets, int *count) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name->type != GEN_DNS && name->type != GEN_URI) return -1;
    *octets = ASN1_STRING_get0_data(name->d.ia5);
    *count = ASN1_STRING_length(name->d.ia5);
    return name->type;
}
