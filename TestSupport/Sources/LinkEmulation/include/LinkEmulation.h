// One direction of an emulated link: loss, serialization at the rate behind a drop-tail queue, delay.
#ifndef LINK_EMULATION_H
#define LINK_EMULATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Packet Packet;
struct Packet {
    Packet *next;
    int64_t due; // ns, CLOCK_MONOTONIC
    size_t length;
    uint8_t bytes[];
};

typedef struct {
    double rate;    // kbit/s of IP packets; 0: no limit
    double queue;   // ms at the rate; beyond it the newest packet is dropped
    double delay;   // ms
    double jitter;  // ms, uniform in 0..jitter, added to the delay
    double reorder; // 1: jitter may reorder; 0: a packet never overtakes
    double loss;    // %, mean
    double burst;   // mean length of a run of losses, in packets; 1: independent losses
    double down;    // 1: nothing passes
} Conditions;

typedef struct {
    uint64_t in_packets, in_bytes, out_packets, out_bytes, lost, overflowed;
    double longest_queue; // ms, since it was last read
} Figures;

typedef struct {
    Conditions conditions;
    Figures figures;
    uint64_t random;
    bool in_burst;
    int64_t free_at;  // when the last accepted packet has left the queue
    int64_t last_due;
    Packet *first, *last;
} Way;

void way_seed(Way *way, uint64_t seed);
// False: there is no such key, or the value is out of range.
bool way_set(Way *way, const char *key, double value);
void way_accept(Way *way, const uint8_t *bytes, size_t length, int64_t now);
// Returns the packet that is due, to be freed with packet_free; NULL if there is none yet.
Packet *way_take(Way *way, int64_t now);

const uint8_t *packet_bytes(const Packet *packet);
void packet_free(Packet *packet);

#endif
