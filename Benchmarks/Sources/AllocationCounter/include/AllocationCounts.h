// What the counting library (LD_PRELOAD) and the benchmark share: one file, mapped by both.
#ifndef ALLOCATION_COUNTS_H
#define ALLOCATION_COUNTS_H
#include <stdint.h>
enum { ALLOCATION_THREADS = 256, ALLOCATION_TRACES = 4096, ALLOCATION_FRAMES = 24 };

/// One thread's counts since it began.
struct allocation_thread {
    int32_t tid;
    uint64_t allocations, frees, bytes;
};

/// Where an allocation came from, innermost caller first; `size` is in bytes.
struct allocation_trace {
    int32_t tid;
    uint32_t depth;
    uint64_t size;
    uint64_t frames[ALLOCATION_FRAMES];
};

struct allocation_counts {
    /// Set by the benchmark: record traces too.
    uint32_t is_tracing;
    /// How many of the entries below are in use; may run past their number.
    uint32_t threads, traces;
    struct allocation_thread thread[ALLOCATION_THREADS];
    struct allocation_trace trace[ALLOCATION_TRACES];
};
#endif
