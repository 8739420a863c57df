// What the counting library (LD_PRELOAD) and the benchmark share: one file, mapped by both.
#ifndef ALLOCATION_COUNTS_H
#define ALLOCATION_COUNTS_H
#include <stdint.h>
enum { ALLOCATION_THREADS = 256, ALLOCATION_TRACES = 1 << 16, ALLOCATION_FRAMES = 24 };

/// One thread's counts since it began.
struct allocation_thread {
    int32_t tid;
    uint64_t allocations, frees, bytes;
};

/// Where an allocation came from, innermost caller first; `size` is in bytes.
struct allocation_trace {
    int32_t tid;
    uint32_t depth;
    /// What was given out; 0 when it has been freed (live traces only).
    uint64_t address;
    uint64_t size;
    uint64_t frames[ALLOCATION_FRAMES];
};

struct allocation_counts {
    /// Set by the benchmark: 0 count only, 1 trace every allocation, 2 trace what is not freed (at places that the address gives).
    uint32_t tracing;
    /// How many of the entries below are in use; may run past their number.
    uint32_t threads, traces;
    struct allocation_thread thread[ALLOCATION_THREADS];
    struct allocation_trace trace[ALLOCATION_TRACES];
};

/// Swift does not see an array of that length.
static inline struct allocation_trace *allocation_traces(struct allocation_counts *counts) { return counts->trace; }
#endif
