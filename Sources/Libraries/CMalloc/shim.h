#include <malloc.h>
#include <sys/prctl.h>

// prctl is variadic.
static inline int cmalloc_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
