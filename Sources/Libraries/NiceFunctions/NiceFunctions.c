// See NiceFunctions.h.

#include "NiceFunctions.h"

#include <dlfcn.h>
#include <gio/gio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// The definitions are this program's alone: libnice's own calls of these functions reach libnice's.
#pragma GCC visibility push(hidden)
#include <nice/agent.h>
#include <stun/stunagent.h>
#include <stun/usages/ice.h>
// Of nice/interfaces.h, which includes a header that is not in the default path.
GList *nice_interfaces_get_local_ips(gboolean include_loopback);
#pragma GCC visibility pop

#define FUNCTIONS(each) \
    each(nice_address_copy_to_sockaddr) each(nice_address_get_port) each(nice_address_init) \
    each(nice_address_ip_version) each(nice_address_set_from_string) each(nice_address_set_port) \
    each(nice_address_to_string) each(nice_agent_add_local_address) each(nice_agent_add_stream) \
    each(nice_agent_attach_recv) each(nice_agent_close_async) each(nice_agent_gather_candidates) \
    each(nice_agent_get_selected_socket) each(nice_agent_get_sockets) each(nice_agent_new_full) \
    each(nice_agent_peer_candidate_gathering_done) each(nice_agent_remove_stream) each(nice_agent_send) \
    each(nice_agent_set_local_credentials) each(nice_agent_set_port_range) each(nice_agent_set_relay_info) \
    each(nice_agent_set_remote_candidates) each(nice_agent_set_remote_credentials) each(nice_candidate_free) \
    each(nice_candidate_new) each(nice_interfaces_get_local_ips) each(stun_agent_default_validater) \
    each(stun_agent_forget_transaction) each(stun_agent_init) each(stun_agent_validate) each(stun_message_find) \
    each(stun_message_id) each(stun_message_validate_buffer_length) each(stun_usage_ice_conncheck_create) \
    each(stun_usage_ice_conncheck_create_reply) each(stun_usage_ice_conncheck_priority) \
    each(stun_usage_ice_conncheck_use_candidate)

#define INDEX(name) index_of_##name,
enum { FUNCTIONS(INDEX) count };
#define NAME(name) #name,
static const char *const names[count] = {FUNCTIONS(NAME)};
static void *functions[count];

static char *failure;

static void load(void) {
    void *library = dlopen("libnice.so.10", RTLD_LAZY | RTLD_LOCAL);
    for (int index = 0; library && index < count; index++) {
        functions[index] = dlsym(library, names[index]);
        if (!functions[index]) library = NULL;
    }
    if (library) return;
    const char *reason = dlerror();
    failure = strdup(reason ? reason : "libnice.so.10 cannot be loaded");
}

const char *nice_functions_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return failure;
}

static inline void *loaded(int index) {
    const char *reason = nice_functions_load();
    if (reason) {
        fprintf(stderr, "%s\n", reason);
        abort();
    }
    return functions[index];
}

// The function of that name in the library, with the type of its header.
#define LOADED(name) ((__typeof__(&name))loaded(index_of_##name))

void nice_address_copy_to_sockaddr(const NiceAddress *addr, struct sockaddr *sin) {
    LOADED(nice_address_copy_to_sockaddr)(addr, sin);
}
guint nice_address_get_port(const NiceAddress *addr) { return LOADED(nice_address_get_port)(addr); }
void nice_address_init(NiceAddress *addr) { LOADED(nice_address_init)(addr); }
int nice_address_ip_version(const NiceAddress *addr) {
    return LOADED(nice_address_ip_version)(addr);
}
gboolean nice_address_set_from_string(NiceAddress *addr, const gchar *str) {
    return LOADED(nice_address_set_from_string)(addr, str);
}
void nice_address_set_port(NiceAddress *addr, guint port) { LOADED(nice_address_set_port)(addr, port); }
void nice_address_to_string(const NiceAddress *addr, gchar *dst) { LOADED(nice_address_to_string)(addr, dst); }
gboolean nice_agent_add_local_address(NiceAgent *agent, NiceAddress *addr) {
    return LOADED(nice_agent_add_local_address)(agent, addr);
}
guint nice_agent_add_stream(NiceAgent *agent, guint n_components) { return LOADED(nice_agent_add_stream)(agent, n_components); }
gboolean nice_agent_attach_recv(NiceAgent *agent, guint stream_id, guint component_id, GMainContext *ctx,
                                NiceAgentRecvFunc func, gpointer data) {
    return LOADED(nice_agent_attach_recv)(agent, stream_id, component_id, ctx, func, data);
}
void nice_agent_close_async(NiceAgent *agent, GAsyncReadyCallback callback, gpointer callback_data) {
    LOADED(nice_agent_close_async)(agent, callback, callback_data);
}
gboolean nice_agent_gather_candidates(NiceAgent *agent, guint stream_id) {
    return LOADED(nice_agent_gather_candidates)(agent, stream_id);
}
GSocket *nice_agent_get_selected_socket(NiceAgent *agent, guint stream_id, guint component_id) {
    return LOADED(nice_agent_get_selected_socket)(agent, stream_id, component_id);
}
GPtrArray *nice_agent_get_sockets(NiceAgent *agent, guint stream_id, guint component_id) {
    return LOADED(nice_agent_get_sockets)(agent, stream_id, component_id);
}
NiceAgent *nice_agent_new_full(GMainContext *ctx, NiceCompatibility compat, NiceAgentOption flags) {
    return LOADED(nice_agent_new_full)(ctx, compat, flags);
}
gboolean nice_agent_peer_candidate_gathering_done(NiceAgent *agent, guint stream_id) {
    return LOADED(nice_agent_peer_candidate_gathering_done)(agent, stream_id);
}
void nice_agent_remove_stream(NiceAgent *agent, guint stream_id) { LOADED(nice_agent_remove_stream)(agent, stream_id); }
gint nice_agent_send(NiceAgent *agent, guint stream_id, guint component_id, guint len, const gchar *buf) {
    return LOADED(nice_agent_send)(agent, stream_id, component_id, len, buf);
}
gboolean nice_agent_set_local_credentials(NiceAgent *agent, guint stream_id, const gchar *ufrag, const gchar *pwd) {
    return LOADED(nice_agent_set_local_credentials)(agent, stream_id, ufrag, pwd);
}
void nice_agent_set_port_range(NiceAgent *agent, guint stream_id, guint component_id, guint min_port, guint max_port) {
    LOADED(nice_agent_set_port_range)(agent, stream_id, component_id, min_port, max_port);
}
gboolean nice_agent_set_relay_info(NiceAgent *agent, guint stream_id, guint component_id, const gchar *server_ip,
                                   guint server_port, const gchar *username, const gchar *password, NiceRelayType type) {
    return LOADED(nice_agent_set_relay_info)(agent, stream_id, component_id, server_ip, server_port, username, password,
                                             type);
}
int nice_agent_set_remote_candidates(NiceAgent *agent, guint stream_id, guint component_id, const GSList *candidates) {
    return LOADED(nice_agent_set_remote_candidates)(agent, stream_id, component_id, candidates);
}
gboolean nice_agent_set_remote_credentials(NiceAgent *agent, guint stream_id, const gchar *ufrag, const gchar *pwd) {
    return LOADED(nice_agent_set_remote_credentials)(agent, stream_id, ufrag, pwd);
}
void nice_candidate_free(NiceCandidate *candidate) { LOADED(nice_candidate_free)(candidate); }
NiceCandidate *nice_candidate_new(NiceCandidateType type) { return LOADED(nice_candidate_new)(type); }
GList *nice_interfaces_get_local_ips(gboolean include_loopback) {
    return LOADED(nice_interfaces_get_local_ips)(include_loopback);
}
bool stun_agent_default_validater(StunAgent *agent, StunMessage *message, uint8_t *username, uint16_t username_len,
                                  uint8_t **password, size_t *password_len, void *user_data) {
    return LOADED(stun_agent_default_validater)(agent, message, username, username_len, password, password_len, user_data);
}
bool stun_agent_forget_transaction(StunAgent *agent, StunTransactionId id) {
    return LOADED(stun_agent_forget_transaction)(agent, id);
}
void stun_agent_init(StunAgent *agent, const uint16_t *known_attributes, StunCompatibility compatibility,
                     StunAgentUsageFlags usage_flags) {
    LOADED(stun_agent_init)(agent, known_attributes, compatibility, usage_flags);
}
StunValidationStatus stun_agent_validate(StunAgent *agent, StunMessage *msg, const uint8_t *buffer, size_t buffer_len,
                                         StunMessageIntegrityValidate validater, void *validater_data) {
    return LOADED(stun_agent_validate)(agent, msg, buffer, buffer_len, validater, validater_data);
}
const void *stun_message_find(const StunMessage *msg, StunAttribute type, uint16_t *palen) {
    return LOADED(stun_message_find)(msg, type, palen);
}
void stun_message_id(const StunMessage *msg, StunTransactionId id) { LOADED(stun_message_id)(msg, id); }
int stun_message_validate_buffer_length(const uint8_t *msg, size_t length, bool has_padding) {
    return LOADED(stun_message_validate_buffer_length)(msg, length, has_padding);
}
size_t stun_usage_ice_conncheck_create(StunAgent *agent, StunMessage *msg, uint8_t *buffer, size_t buffer_len,
                                       const uint8_t *username, const size_t username_len, const uint8_t *password,
                                       const size_t password_len, bool cand_use, bool controlling, uint32_t priority,
                                       uint64_t tie, const char *candidate_identifier,
                                       StunUsageIceCompatibility compatibility) {
    return LOADED(stun_usage_ice_conncheck_create)(agent, msg, buffer, buffer_len, username, username_len, password,
                                                   password_len, cand_use, controlling, priority, tie, candidate_identifier,
                                                   compatibility);
}
StunUsageIceReturn stun_usage_ice_conncheck_create_reply(StunAgent *agent, StunMessage *req, StunMessage *msg, uint8_t *buf,
                                                         size_t *plen, const struct sockaddr_storage *src, socklen_t srclen,
                                                         bool *control, uint64_t tie,
                                                         StunUsageIceCompatibility compatibility) {
    return LOADED(stun_usage_ice_conncheck_create_reply)(agent, req, msg, buf, plen, src, srclen, control, tie,
                                                         compatibility);
}
uint32_t stun_usage_ice_conncheck_priority(const StunMessage *msg) { return LOADED(stun_usage_ice_conncheck_priority)(msg); }
bool stun_usage_ice_conncheck_use_candidate(const StunMessage *msg) {
    return LOADED(stun_usage_ice_conncheck_use_candidate)(msg);
}
