#ifndef SHARE_CLINUX_H
#define SHARE_CLINUX_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>

// Declared by glibc for _GNU_SOURCE only, which would change types that the Glibc module defines without it.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
extern int pipe2(int[2], int);
#define CLINUX_SPAWN_SETSID 0x80

static inline void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// The flags are an enum of their own type, which Swift does not combine.
static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Sleeps until `a` or `b` (-1: none) has something to read or the time has passed; NULL: as long as it takes. Signals may end it
// early. Returns whether `a` has something to read.
static inline int clinux_wait(int a, int b, const struct timespec *time) {
    struct pollfd descriptors[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    return ppoll(descriptors, 2, time, NULL) > 0 && descriptors[0].revents != 0;
}

static inline int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

// Starts a program in a session of its own, with no input, no output, `errors` as stderr, no other descriptor, and the
// default action for every signal. Returns an error number; 0 if it runs.
static inline int clinux_spawn_detached(pid_t *id, const char *program, char *const arguments[],
                                        char *const environment[], int errors) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errors, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, CLINUX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(id, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

#endif
