#ifndef SHARE_CLINUX_H
#define SHARE_CLINUX_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>

// Declared by glibc for _GNU_SOURCE only, which would change types that the Glibc module defines without it.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);

static inline void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// The flags are an enum of their own type, which Swift does not combine.
static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Sleeps until `a` or `b` (-1: none) has something to read or the time has passed; NULL: as long as it takes. Signals may end it
// early. Returns whether `a` has something to read.
static inline int clinux_wait(int a, int b, const struct timespec *time) {
    struct pollfd descriptors[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    return ppoll(descriptors, 2, time, NULL) > 0 && descriptors[0].revents != 0;
}

#endif
