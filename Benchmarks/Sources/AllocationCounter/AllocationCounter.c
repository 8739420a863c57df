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

static void note(size_t size) {
    struct allocation_thread *thread = mine();
    if (!thread || is_inside) return;
    thread->allocations++;
    thread->bytes += size;
    if (!counts->is_tracing) return;
    is_inside = 1;
    uint32_t index = __atomic_fetch_add(&counts->traces, 1, __ATOMIC_RELAXED);
    if (index < ALLOCATION_TRACES) {
        struct allocation_trace *trace = &counts->trace[index];
        void *frames[ALLOCATION_FRAMES + 2];
        int depth = backtrace(frames, ALLOCATION_FRAMES + 2) - 2;
        for (int i = 0; i < depth; i++) trace->frames[i] = (uint64_t)frames[i + 2];
        trace->size = size;
        trace->tid = thread->tid;
        __atomic_store_n(&trace->depth, (uint32_t)(depth < 0 ? 0 : depth), __ATOMIC_RELEASE);
    }
    is_inside = 0;
}

void *malloc(size_t size) { note(size); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { note(count * size); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { note(size); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { note(size); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { note(size); return __libc_memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    note(size);
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void free(void *old) {
    struct allocation_thread *thread = old ? mine() : 0;
    if (thread) thread->frees++;
    __libc_free(old);
}
