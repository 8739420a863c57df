#ifndef SHARE_CNICE_H
#define SHARE_CNICE_H

#include <errno.h>
#include <gio/gio.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <nice/agent.h>
#include <stdlib.h>
#include <string.h>
#include <stun/stunagent.h>
#include <stun/usages/ice.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Of nice/interfaces.h, which includes a header that is not in the default path.
GList *_Nullable nice_interfaces_get_local_ips(gboolean include_loopback);

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

// Properties are variadic in GObject.
static inline void cnice_set_flag(NiceAgent *agent, const char *name, gboolean value) {
    g_object_set(agent, name, value, NULL);
}
static inline void cnice_set_number(NiceAgent *agent, const char *name, guint value) {
    g_object_set(agent, name, value, NULL);
}
static inline void cnice_set_text(NiceAgent *agent, const char *name, const char *value) {
    g_object_set(agent, name, value, NULL);
}
static inline gulong cnice_connect(NiceAgent *agent, const char *signal, GCallback callback, gpointer data) {
    return g_signal_connect_data(agent, signal, callback, data, NULL, (GConnectFlags)0);
}
static inline void cnice_disconnect(NiceAgent *agent, gulong signal) { g_signal_handler_disconnect(agent, signal); }
static inline void cnice_unref(NiceAgent *agent) { g_object_unref(agent); }

static inline NiceAddress *_Nonnull cnice_candidate_address(NiceCandidate *_Nonnull candidate) { return &candidate->addr; }
static inline NiceAddress *_Nonnull cnice_candidate_base(NiceCandidate *_Nonnull candidate) { return &candidate->base_addr; }
static inline void cnice_candidate_set_foundation(NiceCandidate *candidate, const char *text) {
    g_strlcpy(candidate->foundation, text, sizeof(candidate->foundation));
}
static inline const char *_Nonnull cnice_candidate_foundation(const NiceCandidate *_Nonnull candidate) { return candidate->foundation; }

// One sendmsg of `count` packets of `segment` bytes each (the last may be shorter): UDP generic segmentation.
// Returns 0 or an errno.
static inline int cnice_send_segments(int fd, const struct sockaddr_storage *to, socklen_t to_length,
                                      struct iovec *packets, size_t count, uint16_t segment) {
    union {
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr align;
    } control;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_name = (void *)to;
    message.msg_namelen = to_length;
    message.msg_iov = packets;
    message.msg_iovlen = count;
    if (count > 1) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        memcpy(CMSG_DATA(header), &segment, sizeof segment);
    }
    ssize_t sent;
    do sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

static inline socklen_t cnice_address_length(const struct sockaddr_storage *address) {
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static inline int cnice_is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) return 0;
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *x = (const struct sockaddr_in *)a, *y = (const struct sockaddr_in *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a, *y = (const struct sockaddr_in6 *)b;
    return x->sin6_port == y->sin6_port && memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr) == 0;
}

// Connectivity checks made by the agent itself, in addition to libnice's: STUN binding requests with a pair's
// credentials. The last ones are kept until they are answered, each with the number of its destination.
#define CNICE_CHECKS 16
typedef struct {
    StunAgent agent;
    uint8_t key[256];
    size_t key_length;
    uint64_t tie_breaker;
    StunTransactionId transactions[CNICE_CHECKS];
    int32_t destinations[CNICE_CHECKS];  // -1: no request, or it is answered
    int next;
} cnice_checks;

static inline void cnice_stun_init(StunAgent *agent) {
    stun_agent_init(agent, STUN_ALL_KNOWN_ATTRIBUTES, STUN_COMPATIBILITY_RFC5389,
                    (StunAgentUsageFlags)(STUN_AGENT_USAGE_SHORT_TERM_CREDENTIALS | STUN_AGENT_USAGE_USE_FINGERPRINT));
}

static inline cnice_checks *cnice_checks_new(const char *password, uint64_t tie_breaker) {
    cnice_checks *checks = (cnice_checks *)calloc(1, sizeof *checks);
    size_t length = strlen(password);
    if (!checks || length > sizeof checks->key) {
        free(checks);
        return NULL;
    }
    cnice_stun_init(&checks->agent);
    memcpy(checks->key, password, length);
    checks->key_length = length;
    checks->tie_breaker = tie_breaker;
    for (int i = 0; i < CNICE_CHECKS; i++) checks->destinations[i] = -1;
    return checks;
}

// Writes a request. Returns its length; 0 if it does not fit.
static inline size_t cnice_check_write(cnice_checks *checks, const char *username, bool is_controlling, bool nominates,
                                       int32_t destination, uint8_t *buffer, size_t room) {
    int slot = checks->next;
    if (checks->destinations[slot] >= 0) stun_agent_forget_transaction(&checks->agent, checks->transactions[slot]);
    checks->destinations[slot] = -1;
    StunMessage message;
    // The priority of a peer-reflexive candidate (RFC 8445 section 7.1.1): this request finds none.
    size_t length = stun_usage_ice_conncheck_create(
        &checks->agent, &message, buffer, room, (const uint8_t *)username, strlen(username), checks->key,
        checks->key_length, nominates, is_controlling, 110u << 24 | 0xffff00u | 255u, checks->tie_breaker, NULL,
        STUN_USAGE_ICE_COMPATIBILITY_RFC5245);
    if (length == 0) return 0;
    stun_message_id(&message, checks->transactions[slot]);
    checks->destinations[slot] = destination;
    checks->next = (slot + 1) % CNICE_CHECKS;
    return length;
}

// Whether the first 20 bytes of a datagram are those of an answer to an unanswered request.
static inline bool cnice_is_answer(const cnice_checks *checks, const uint8_t *head) {
    if (!checks || head[0] != 1 || head[1] != 1) return false;
    for (int i = 0; i < CNICE_CHECKS; i++) {
        if (checks->destinations[i] >= 0 && memcmp(head + 4, checks->transactions[i], 16) == 0) return true;
    }
    return false;
}

// Returns the number of the destination of a valid answer, with a known transaction and a correct integrity; else -1.
static inline int32_t cnice_check_answered(cnice_checks *checks, const uint8_t *bytes, size_t length) {
    StunMessage message;
    if (length < 20 || stun_agent_validate(&checks->agent, &message, bytes, length, NULL, NULL) != STUN_VALIDATION_SUCCESS) {
        return -1;
    }
    for (int i = 0; i < CNICE_CHECKS; i++) {
        if (checks->destinations[i] < 0 || memcmp(bytes + 4, checks->transactions[i], 16) != 0) continue;
        int32_t destination = checks->destinations[i];
        checks->destinations[i] = -1;
        return destination;
    }
    return -1;
}

typedef enum {
    CNICE_NOTHING,      // no datagram is queued
    CNICE_MEDIA,        // from `from`, and not STUN (RFC 7983)
    CNICE_OTHER_MEDIA,  // from `other`, RTP or RTCP
    CNICE_ANSWER,       // to one of `checks`
    CNICE_OTHER,        // not STUN, from `peer`; it stays in the socket
    CNICE_LEFT,         // it stays in the socket, or is an error: libnice handles it
} cnice_received;

// Receives the next datagram if it is media from `from` or `other`, or an answer to one of `checks`; each may be NULL.
// libnice reads a socket until it is empty: when a datagram is left to libnice, it also reads the answers behind it.
static inline cnice_received cnice_receive(int fd, const struct sockaddr_storage *from, const struct sockaddr_storage *other,
                                           const cnice_checks *checks, struct sockaddr_storage *peer, void *buffer,
                                           size_t room, size_t *length) {
    socklen_t peer_length = sizeof *peer;
    uint8_t head[20];
    ssize_t got;
    do got = recvfrom(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT, (struct sockaddr *)peer, &peer_length);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN ? CNICE_NOTHING : CNICE_LEFT;
    if (got == 0) return CNICE_LEFT;
    cnice_received kind = CNICE_MEDIA;
    if (head[0] >= 20) {
        if (!from || !cnice_is_same_address(peer, from)) {
            if (!other || head[0] < 128 || head[0] > 191 || !cnice_is_same_address(peer, other)) return CNICE_OTHER;
            kind = CNICE_OTHER_MEDIA;
        }
    } else if (got == sizeof head && cnice_is_answer(checks, head)) {
        kind = CNICE_ANSWER;
    } else {
        return CNICE_LEFT;
    }
    got = recv(fd, buffer, room, MSG_DONTWAIT);
    if (got <= 0) return CNICE_LEFT;
    *length = (size_t)got;
    return kind;
}

// The answering side of connectivity checks, for ICE-lite (RFC 8445 section 2.5).
static inline StunAgent *cnice_stun_new(void) {
    StunAgent *agent = (StunAgent *)calloc(1, sizeof *agent);
    if (agent) cnice_stun_init(agent);
    return agent;
}

// Finds the user name of a binding request; NULL for other datagrams. Nothing is verified.
static inline const uint8_t *cnice_request_username(StunAgent *agent, const uint8_t *bytes, size_t length,
                                                    uint16_t *username_length) {
    if (length < 20 || bytes[0] != 0 || bytes[1] != 1 ||
        stun_message_validate_buffer_length(bytes, length, true) != (int)length) {
        return NULL;
    }
    StunMessage message;
    memset(&message, 0, sizeof message);
    message.agent = agent;
    message.buffer = (uint8_t *)bytes;
    message.buffer_len = length;
    return (const uint8_t *)stun_message_find(&message, STUN_ATTRIBUTE_USERNAME, username_length);
}

// Verifies a binding request, and writes the answer. Returns its length; 0 if the request is not authentic.
static inline size_t cnice_answer_request(StunAgent *agent, const uint8_t *bytes, size_t length, const uint8_t *username,
                                          uint16_t username_length, const char *password,
                                          const struct sockaddr_storage *from, bool is_controlling, uint64_t tie_breaker,
                                          uint8_t *buffer, size_t room, bool *nominates, uint32_t *priority) {
    StunDefaultValidaterData users[2] = {
        {(uint8_t *)username, username_length, (uint8_t *)password, strlen(password)}, {NULL, 0, NULL, 0}};
    StunMessage request, answer;
    if (stun_agent_validate(agent, &request, bytes, length, stun_agent_default_validater, users) != STUN_VALIDATION_SUCCESS) {
        return 0;
    }
    size_t answer_length = room;
    StunUsageIceReturn result = stun_usage_ice_conncheck_create_reply(
        agent, &request, &answer, buffer, &answer_length, from, cnice_address_length(from), &is_controlling,
        tie_breaker, STUN_USAGE_ICE_COMPATIBILITY_RFC5245);
    if (result != STUN_USAGE_ICE_RETURN_SUCCESS && result != STUN_USAGE_ICE_RETURN_ROLE_CONFLICT) return 0;
    *nominates = stun_usage_ice_conncheck_use_candidate(&request);
    *priority = stun_usage_ice_conncheck_priority(&request);
    return answer_length;
}

// Receives up to 32 messages by one system call. With UDP_GRO a message holds several datagrams of one sender, all of
// the same length but the last.
#define CNICE_BATCH 32
#define CNICE_BATCH_ROOM 65536
#define CNICE_SOL_UDP 17
#define CNICE_UDP_GRO 104
#define CNICE_TIMESTAMPNS 35
typedef struct {
    struct cnice_message {
        struct msghdr header;
        unsigned int length;
    } messages[CNICE_BATCH];
    struct iovec rooms[CNICE_BATCH];
    struct sockaddr_storage sources[CNICE_BATCH];
    struct cnice_control {
        uint8_t bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec))] __attribute__((aligned(8)));
    } controls[CNICE_BATCH];
    int64_t received;  // CLOCK_REALTIME of the system call, in nanoseconds
    uint8_t bytes[CNICE_BATCH][CNICE_BATCH_ROOM] __attribute__((aligned(64)));
} cnice_batch;

// Has the kernel join datagrams that arrive together, and note when they arrived. Older kernels refuse the first, which does no harm.
static inline void cnice_prepare_batches(int fd) {
    int one = 1;
    setsockopt(fd, CNICE_SOL_UDP, CNICE_UDP_GRO, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, CNICE_TIMESTAMPNS, &one, sizeof one);
}

static inline cnice_batch *cnice_batch_new(void) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, sizeof(cnice_batch)) != 0) return NULL;
    cnice_batch *batch = (cnice_batch *)memory;
    memset(batch->messages, 0, sizeof batch->messages);
    for (int i = 0; i < CNICE_BATCH; i++) {
        batch->rooms[i].iov_base = batch->bytes[i];
        batch->rooms[i].iov_len = CNICE_BATCH_ROOM;
        batch->messages[i].header.msg_iov = &batch->rooms[i];
        batch->messages[i].header.msg_iovlen = 1;
        batch->messages[i].header.msg_name = &batch->sources[i];
        batch->messages[i].header.msg_control = batch->controls[i].bytes;
    }
    return batch;
}

// Returns how many messages there were.
static inline int cnice_batch_receive(cnice_batch *batch, int fd) {
    // The kernel replaces these lengths. It sets the flags anew, and leaves the rest.
    for (int i = 0; i < CNICE_BATCH; i++) {
        batch->messages[i].header.msg_namelen = sizeof batch->sources[i];
        batch->messages[i].header.msg_controllen = sizeof batch->controls[i].bytes;
    }
    long got;
    do got = syscall(SYS_recvmmsg, fd, batch->messages, CNICE_BATCH, MSG_DONTWAIT, NULL);
    while (got < 0 && errno == EINTR);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    batch->received = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return got < 0 ? 0 : (int)got;
}

// The message of a number, the length of its datagrams (that of the last may be less), and how many nanoseconds it waited in
// the socket: 0 if the kernel does not say. NULL if the message was longer than the room.
static inline uint8_t *cnice_batch_bytes(cnice_batch *batch, int index, size_t *length, size_t *segment, int64_t *age) {
    struct msghdr *header = &batch->messages[index].header;
    *length = *segment = batch->messages[index].length;
    *age = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level == CNICE_SOL_UDP && part->cmsg_type == CNICE_UDP_GRO) {
            int size;
            memcpy(&size, CMSG_DATA(part), sizeof size);
            if (size > 0) *segment = (size_t)size;
        } else if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == CNICE_TIMESTAMPNS) {
            struct timespec arrival;
            memcpy(&arrival, CMSG_DATA(part), sizeof arrival);
            *age = batch->received - ((int64_t)arrival.tv_sec * 1000000000 + arrival.tv_nsec);
        }
    }
    return header->msg_flags & MSG_TRUNC ? NULL : batch->bytes[index];
}
static inline const struct sockaddr_storage *_Nonnull cnice_batch_source(const cnice_batch *_Nonnull batch, int index) {
    return &batch->sources[index];
}

static inline int cnice_send_datagram(int fd, const struct sockaddr_storage *to, const void *bytes, size_t length) {
    const struct sockaddr *address = (const struct sockaddr *)to;
    return sendto(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, address, cnice_address_length(to)) < 0 ? errno : 0;
}

#endif
