#ifndef CIPSECMB_SHIM_H
#define CIPSECMB_SHIM_H

#include <intel-ipsec-mb.h>
#include <stdint.h>

typedef struct gcm_key_data cimb_gcm_key;
typedef struct gcm_context_data cimb_gcm_context;

// A manager with the functions for this CPU; NULL without memory, and for a CPU that has no AES instructions.
static inline IMB_MGR *cimb_manager(void) {
    IMB_MGR *manager = alloc_mb_mgr(0);
    if (!manager) return NULL;
    init_mb_mgr_auto(manager, NULL);
    if (imb_get_errno(manager) != 0 || !(manager->features & IMB_FEATURE_AESNI)) {
        free_mb_mgr(manager);
        return NULL;
    }
    return manager;
}

static inline void cimb_gcm128_expand(const IMB_MGR *manager, const uint8_t *key, cimb_gcm_key *expanded) {
    IMB_AES128_GCM_PRE(manager, key, expanded);
}

static inline void cimb_gcm256_expand(const IMB_MGR *manager, const uint8_t *key, cimb_gcm_key *expanded) {
    IMB_AES256_GCM_PRE(manager, key, expanded);
}

// Encrypts `length` bytes in place and writes the tag of 16 bytes behind them; `header` is authenticated only. The nonce has
// 12 bytes.
static inline void cimb_gcm128_seal(const IMB_MGR *manager, const cimb_gcm_key *key, const void *nonce,
                                    const uint8_t *header, uint64_t header_length, uint8_t *bytes, uint64_t length) {
    cimb_gcm_context context;
    IMB_AES128_GCM_ENC(manager, key, &context, bytes, bytes, length, nonce, header, header_length, bytes + length, 16);
}

static inline void cimb_gcm256_seal(const IMB_MGR *manager, const cimb_gcm_key *key, const void *nonce,
                                    const uint8_t *header, uint64_t header_length, uint8_t *bytes, uint64_t length) {
    cimb_gcm_context context;
    IMB_AES256_GCM_ENC(manager, key, &context, bytes, bytes, length, nonce, header, header_length, bytes + length, 16);
}

#endif
