// Counts what each thread of a program allocates: LD_PRELOAD this library and name a file in SHARE_ALLOCATIONS, which is
// made as large as `struct allocation_counts` and mapped by whoever wants to read it while the program runs.
#define _GNU_SOURCE
#include "AllocationCounts.h"
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static struct allocation_counts *counts;
static __thread struct allocation_thread *own __attribute__((tls_model("initial-exec")));
static __thread int is_inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void open_counts(void) {
    const char *name = getenv("SHARE_ALLOCATIONS");
    int file = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    void *memory = ftruncate(file, sizeof *counts) ? MAP_FAILED : mmap(0, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    // The first call loads libgcc, which allocates.
    void *frames[4];
    backtrace(frames, 4);
    if (memory != MAP_FAILED) counts = memory;
}

static struct allocation_thread *mine(void) {
    if (!own && counts) {
        uint32_t index = __atomic_fetch_add(&counts->threads, 1, __ATOMIC_RELAXED);
        if (index >= ALLOCATION_THREADS) return 0;
        own = &counts->thread[index];
        own->tid = (int32_t)syscall(SYS_gettid);
    }
    return own;
}

enum { EVERY = 1, LIVE = 2, PROBES = 64 };

static struct allocation_trace *place(uint64_t address, uint64_t expected) {
    uint64_t start = (address >> 4) * 0x9E3779B97F4A7C15u >> 40;
    for (uint64_t i = 0; i < PROBES; i++) {
        struct allocation_trace *trace = &counts->trace[(start + i) % ALLOCATION_TRACES];
        uint64_t found = expected;
        if (__atomic_compare_exchange_n(&trace->address, &found, expected ? 0 : address, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return trace;
    }
    return 0;
}

static void *note(void *memory, size_t size) {
    struct allocation_thread *thread = mine();
    if (!thread || !memory || is_inside) return memory;
    thread->allocations++;
    thread->bytes += size;
    uint32_t mode = counts->tracing;
    if (!mode) return memory;
    is_inside = 1;
    struct allocation_trace *trace = 0;
    if (mode == LIVE) {
        trace = place((uint64_t)memory, 0);
    } else {
        uint32_t index = __atomic_fetch_add(&counts->traces, 1, __ATOMIC_RELAXED);
        if (index < ALLOCATION_TRACES) trace = &counts->trace[index];
    }
    if (trace) {
        void *frames[ALLOCATION_FRAMES + 2];
        int depth = backtrace(frames, ALLOCATION_FRAMES + 2) - 2;
        for (int i = 0; i < depth; i++) trace->frames[i] = (uint64_t)frames[i + 2];
        trace->size = size;
        trace->tid = thread->tid;
        __atomic_store_n(&trace->depth, (uint32_t)(depth < 0 ? 0 : depth), __ATOMIC_RELEASE);
    }
    is_inside = 0;
    return memory;
}

static void note_free(void *old) {
    struct allocation_thread *thread = old ? mine() : 0;
    if (!thread) return;
    thread->frees++;
    if (counts->tracing == LIVE) place((uint64_t)old, (uint64_t)old);
}

void *malloc(size_t size) { return note(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) { return note(__libc_calloc(count, size), count * size); }
void *realloc(void *old, size_t size) { note_free(old); return note(__libc_realloc(old, size), size); }
void *memalign(size_t alignment, size_t size) { return note(__libc_memalign(alignment, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { return note(__libc_memalign(alignment, size), size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *memory = note(__libc_memalign(alignment, size), size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void free(void *old) {
    note_free(old);
    __libc_free(old);
}
