#ifndef SHARE_COPENSSL_H
#define SHARE_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

// Functions for macros, which Swift does not see.

static inline int cssl_require_dtls12(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) &&
           SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION);
}
static inline void cssl_configure(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(context, 16384);
    SSL_CTX_set_read_ahead(context, 1);
}
static inline int cssl_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}
static inline int cssl_set_link_mtu(SSL *ssl, long bytes) { return (int)DTLS_set_link_mtu(ssl, bytes); }

// Microseconds until the next retransmission, or -1 when none is due.
static inline int64_t cssl_timeout_microseconds(SSL *ssl) {
    struct timeval left = {0, 0};
    if (DTLSv1_get_timeout(ssl, &left) != 1) return -1;
    return (int64_t)left.tv_sec * 1000000 + left.tv_usec;
}
static inline int cssl_handle_timeout(SSL *ssl) { return (int)DTLSv1_handle_timeout(ssl); }

// Retransmission intervals: the first as set, then doubled up to 3 s.
static unsigned int cssl_interval(SSL *ssl, unsigned int previous) {
    if (previous == 0) return (unsigned int)(uintptr_t)SSL_get_app_data(ssl);
    return previous > 1500000 ? 3000000 : previous * 2;
}
static inline void cssl_set_interval(SSL *ssl, unsigned int microseconds) {
    SSL_set_app_data(ssl, (void *)(uintptr_t)microseconds);
    DTLS_set_timer_cb(ssl, cssl_interval);
}

// Any certificate passes the handshake; its fingerprint is compared afterwards (RFC 8122), before keys are exported.
// Leaving out the chain's verification also leaves out its attack surface.
static int cssl_accept_certificate(X509_STORE_CTX *store, void *data) {
    (void)data;
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}
static inline void cssl_require_certificate(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, cssl_accept_certificate, NULL);
}

// TLS over a stream. Sessions are not resumed, and give back the buffers that they do not need.
static inline int cssl_configure_stream(SSL_CTX *context, int least, int most) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
    return SSL_CTX_set_min_proto_version(context, least) && SSL_CTX_set_max_proto_version(context, most);
}
static inline int cssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int cssl_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }

// `note` is called with each message of TLS, of which it can see those of the handshake that have arrived.
static inline void cssl_watch(SSL *ssl, void (*note)(int, int, int, const void *, size_t, SSL *, void *), void *data) {
    SSL_set_msg_callback(ssl, note);
    SSL_set_msg_callback_arg(ssl, data);
}

// HTTP/1.1 if the client offers it; none otherwise (RFC 7301).
static int cssl_select_http1(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                             unsigned int count, void *data) {
    static const unsigned char http1[] = "\x08http/1.1";
    unsigned char *found = NULL;
    (void)ssl;
    (void)data;
    if (SSL_select_next_proto(&found, length, http1, sizeof http1 - 1, offered, count) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}
static inline void cssl_select_http1_by_alpn(SSL_CTX *context) {
    SSL_CTX_set_alpn_select_cb(context, cssl_select_http1, NULL);
}

// The subjectAltName of a certificate; NULL if it has none.
static inline GENERAL_NAMES *cssl_names(const X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}
static inline int cssl_names_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
// The bytes of a name of DNS (1) or of an address (2); 0 for others.
static inline int cssl_name(const GENERAL_NAMES *names, int index, const uint8_t **bytes, int *length) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    const ASN1_STRING *text = name->type == GEN_DNS      ? name->d.dNSName
                              : name->type == GEN_IPADD ? name->d.iPAddress
                                                         : NULL;
    if (text == NULL) return 0;
    *bytes = ASN1_STRING_get0_data(text);
    *length = ASN1_STRING_length(text);
    return name->type == GEN_DNS ? 1 : 2;
}
static inline void cssl_names_free(GENERAL_NAMES *names) { GENERAL_NAMES_free(names); }

// When a certificate expires, in seconds since 1970; -1 if it does not say so.
static inline int64_t cssl_expiry(const X509 *certificate) {
    struct tm parts;
    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) == 1 ? (int64_t)timegm(&parts) : -1;
}

// Encrypts `length` bytes in place and writes the tag of 16 bytes behind them; `header` is authenticated only. The context
// has its key. Returns 1.
static inline int cssl_gcm_seal(EVP_CIPHER_CTX *context, const void *nonce, const uint8_t *header, int header_length,
                                uint8_t *bytes, int length) {
    int written = 0;
    return EVP_EncryptInit_ex(context, NULL, NULL, NULL, (const uint8_t *)nonce) == 1 &&
           EVP_EncryptUpdate(context, NULL, &written, header, header_length) == 1 &&
           (length == 0 || EVP_EncryptUpdate(context, bytes, &written, bytes, length) == 1) &&
           EVP_EncryptFinal_ex(context, bytes + length, &written) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, bytes + length) == 1;
}

static inline EVP_PKEY *cssl_generate_p256(void) { return EVP_EC_gen("P-256"); }

// The key of an uncompressed point; NULL if that is not on P-256. A third of the time that d2i_PUBKEY takes.
static inline EVP_PKEY *cssl_p256_public(const uint8_t *point, size_t length) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"P-256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, length),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (context != NULL && EVP_PKEY_fromdata_init(context) == 1 &&
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    return key;
}

static inline void cssl_free(void *memory) { OPENSSL_free(memory); }

static inline void cssl_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void cssl_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

#endif
