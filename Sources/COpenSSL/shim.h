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

// What a session remembers for its callbacks, in its application data: the number of handshake
// messages since the last application data, and whether it speaks HTTP.

enum { assay_most_handshake_messages = 32, assay_speaks_http = 1 << 16 };

static inline uintptr_t assay_state(const SSL *session) {
    return (uintptr_t)SSL_get_ex_data(session, 0);
}

static inline int assay_set_state(SSL *session, uintptr_t state) {
    return SSL_set_ex_data(session, 0, (void *)state);
}

static inline int assay_set_speaks_http(SSL *session) {
    return assay_set_state(session, assay_speaks_http);
}

/// The number of handshake messages from the peer since the last call.
static inline int assay_take_handshake_messages(SSL *session) {
    uintptr_t state = assay_state(session);
    assay_set_state(session, state & assay_speaks_http);
    return (int)(state & (assay_speaks_http - 1));
}

static inline int assay_has_too_many_handshake_messages(const SSL *session) {
    return (assay_state(session) & (assay_speaks_http - 1)) > assay_most_handshake_messages;
}

/// Counts handshake messages of the peer. OpenSSL reads on until there is application data, which a
/// peer need not send: above the limit, the rest of the received bytes is dropped, so that the read
/// ends and its caller sees the count.
static inline void assay_count_message(
    int is_write, int version, int type, const void *bytes, size_t count, SSL *session,
    void *argument) {
    (void)version, (void)bytes, (void)count, (void)argument;
    if (is_write || type != SSL3_RT_HANDSHAKE) return;
    assay_set_state(session, assay_state(session) + 1);
    if (assay_has_too_many_handshake_messages(session)) BIO_reset(SSL_get_rbio(session));
}

static inline void assay_count_handshake_messages(SSL_CTX *context) {
    SSL_CTX_set_msg_callback(context, assay_count_message);
}

/// Selects HTTP/2 or HTTP/1.1 where the session speaks them, and refuses any other offer: RFC 7301,
/// 3.2.
static inline int assay_select_protocol(
    SSL *session, const unsigned char **selected, unsigned char *count,
    const unsigned char *offered, unsigned int offered_count, void *argument) {
    static const unsigned char http[] = {2,   'h', '2', 8,   'h', 't',
                                         't', 'p', '/', '1', '.', '1'};
    (void)argument;
    if (assay_state(session) & assay_speaks_http &&
        SSL_select_next_proto((unsigned char **)selected, count, http, sizeof http, offered,
                              offered_count) == OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static inline void assay_select_protocols(SSL_CTX *context) {
    SSL_CTX_set_alpn_select_cb(context, assay_select_protocol, NULL);
}

static inline int assay_set_signatures(SSL_CTX *context, const char *names) {
    return (int)SSL_CTX_set1_sigalgs_list(context, names);
}

static inline int assay_set_groups(SSL_CTX *context, const char *names) {
    return (int)SSL_CTX_set1_groups_list(context, names);
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
