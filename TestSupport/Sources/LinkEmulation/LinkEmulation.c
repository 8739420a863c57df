#include "LinkEmulation.h"
#include <stdlib.h>
#include <string.h>

void way_seed(Way *way, uint64_t seed) { way->random = seed; }

// SplitMix64: every seed is valid, also zero.
static double uniform(Way *way) {
    uint64_t z = way->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

bool way_set(Way *way, const char *key, double value) {
    Conditions *c = &way->conditions;
    struct { const char *name; double *field; double least, most; } keys[] = {
        {"rate", &c->rate, 0, 1e8},   {"queue", &c->queue, 0, 1e5}, {"delay", &c->delay, 0, 1e5},
        {"jitter", &c->jitter, 0, 1e5}, {"reorder", &c->reorder, 0, 1}, {"loss", &c->loss, 0, 100},
        {"burst", &c->burst, 1, 1e4}, {"down", &c->down, 0, 1},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].name, key)) continue;
        if (!(value >= keys[i].least && value <= keys[i].most)) return false;
        *keys[i].field = value;
        return true;
    }
    return false;
}

// Gilbert's model: all packets are lost in a burst, which has a mean length of `burst` packets; `loss` is the share of
// packets in bursts.
static bool is_lost(Way *way) {
    const Conditions *c = &way->conditions;
    if (c->down != 0) return true;
    if (c->loss <= 0) return false;
    double share = c->loss / 100;
    if (c->burst <= 1 || share >= 1) return uniform(way) < share;
    double leave = 1 / c->burst, enter = leave * share / (1 - share);
    way->in_burst = way->in_burst ? uniform(way) >= leave : uniform(way) < enter;
    return way->in_burst;
}

void way_accept(Way *way, const uint8_t *bytes, size_t length, int64_t now) {
    const Conditions *c = &way->conditions;
    way->figures.in_packets++;
    way->figures.in_bytes += length;
    if (is_lost(way)) { way->figures.lost++; return; }
    int64_t leaves = now;
    if (c->rate > 0) {
        int64_t starts = way->free_at > now ? way->free_at : now;
        double waiting = (double)(starts - now) / 1e6;
        if (waiting > c->queue) { way->figures.overflowed++; return; }
        if (waiting > way->figures.longest_queue) way->figures.longest_queue = waiting;
        leaves = starts + (int64_t)((double)length * 8e6 / c->rate);
        way->free_at = leaves;
    }
    int64_t due = leaves + (int64_t)(c->delay * 1e6);
    if (c->jitter > 0) due += (int64_t)(uniform(way) * c->jitter * 1e6);
    if (c->reorder == 0 && due < way->last_due) due = way->last_due;
    Packet *packet = malloc(sizeof *packet + length);
    if (!packet) { way->figures.overflowed++; return; }
    packet->due = due;
    packet->length = length;
    packet->next = NULL;
    memcpy(packet->bytes, bytes, length);
    if (!way->last || way->last->due <= due) {
        if (way->last) way->last->next = packet; else way->first = packet;
        way->last = packet;
        way->last_due = due;
    } else {
        Packet **place = &way->first;
        while ((*place)->due <= due) place = &(*place)->next;
        packet->next = *place;
        *place = packet;
    }
}

Packet *way_take(Way *way, int64_t now) {
    Packet *packet = way->first;
    if (!packet || packet->due > now) return NULL;
    way->first = packet->next;
    if (!way->first) way->last = NULL;
    way->figures.out_packets++;
    way->figures.out_bytes += packet->length;
    return packet;
}

const uint8_t *packet_bytes(const Packet *packet) { return packet->bytes; }

void packet_free(Packet *packet) { free(packet); }
