#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <malloc.h>
#include <sys/prctl.h>

// prctl is variadic.
static inline int cmalloc_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

static inline int cmalloc_release_segments(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    (void)context;
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        // Pages that were written to have no copy in the file.
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        unsigned long begin = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        unsigned long end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

// Unmaps the read-only pages of the program and its libraries; the next use maps each again from the page cache.
static inline void cmalloc_release_program_pages(void) { dl_iterate_phdr(cmalloc_release_segments, 0); }
