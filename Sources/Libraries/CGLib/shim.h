#ifndef SHARE_CGLIB_H
#define SHARE_CGLIB_H

#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

// Declared by glibc for _GNU_SOURCE only, which would change types that the Glibc module defines without it.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

// A GSource that fires at an instant of CLOCK_MONOTONIC. Re-arming writes one field without a lock or system call, so
// only the thread that iterates the context may do it. `earliest` is where the loop looks for that instant.
typedef struct {
    GSource base;
    int64_t deadline;  // nanoseconds, INT64_MAX when unset
    int64_t latest;    // the loop waits no longer; at or after the deadline
    int64_t *earliest;
    const int64_t *now;  // of this iteration
} cglib_timer;

static gboolean cglib_timer_prepare(GSource *source, gint *timeout) {
    cglib_timer *timer = (cglib_timer *)source;
    *timeout = -1;
    if (timer->deadline <= *timer->now) return TRUE;
    if (timer->latest < *timer->earliest) *timer->earliest = timer->latest;
    return FALSE;
}

static gboolean cglib_timer_check(GSource *source) {
    cglib_timer *timer = (cglib_timer *)source;
    return timer->deadline <= *timer->now;
}

static gboolean cglib_timer_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    cglib_timer *timer = (cglib_timer *)source;
    timer->deadline = timer->latest = INT64_MAX;
    if (callback) callback(data);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs cglib_timer_functions = {cglib_timer_prepare, cglib_timer_check, cglib_timer_dispatch,
                                             NULL, NULL, NULL};

static inline cglib_timer *cglib_timer_new(const int64_t *now, int64_t *earliest) {
    cglib_timer *timer = (cglib_timer *)g_source_new(&cglib_timer_functions, sizeof(cglib_timer));
    timer->deadline = timer->latest = INT64_MAX;
    timer->earliest = earliest;
    timer->now = now;
    return timer;
}

// A GSource that fires at its ready time, which any thread may set.
static gboolean cglib_wakeup_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    g_source_set_ready_time(source, -1);
    if (callback) callback(data);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs cglib_wakeup_functions = {NULL, NULL, cglib_wakeup_dispatch, NULL, NULL, NULL};

static inline GSource *cglib_wakeup_new(void) { return g_source_new(&cglib_wakeup_functions, sizeof(GSource)); }

// A source that only waits for a descriptor to be readable, for a reader that empties it.
static gboolean cglib_watch_dispatch(gint descriptor, GIOCondition condition, gpointer data) { return G_SOURCE_CONTINUE; }

static inline GSource *cglib_watch_new(gint descriptor) {
    GSource *source = g_unix_fd_source_new(descriptor, G_IO_IN);
    g_source_set_callback(source, (GSourceFunc)(void (*)(void))cglib_watch_dispatch, NULL, NULL);
    return source;
}

// The first half of g_main_context_iteration; `cglib_dispatch` is the second. It waits to the nanosecond for the
// earliest timer, where GLib would round up to the next millisecond. `descriptors` holds `*capacity` entries and grows
// with g_realloc. The caller sets `*now` before and after the call. Returns the number of descriptors in use.
static inline gint cglib_wait(GMainContext *context, GPollFD **descriptors, gint *capacity, gint *priority,
                              const int64_t *now, int64_t *earliest) {
    gint timeout = -1, count;
    *earliest = INT64_MAX;
    gboolean ready = g_main_context_prepare(context, priority);
    while ((count = g_main_context_query(context, *priority, &timeout, *descriptors, *capacity)) > *capacity) {
        *capacity = count;
        *descriptors = g_renew(GPollFD, *descriptors, count);
    }
    struct timespec wait = {0, 0}, *limit = NULL;
    if (ready || timeout == 0) {
        limit = &wait;
    } else if (timeout > 0 || *earliest != INT64_MAX) {
        int64_t nanoseconds = timeout > 0 ? (int64_t)timeout * 1000000 : INT64_MAX;
        if (*earliest != INT64_MAX && *earliest - *now < nanoseconds) nanoseconds = *earliest - *now;
        if (nanoseconds < 0) nanoseconds = 0;
        wait.tv_sec = nanoseconds / 1000000000;
        wait.tv_nsec = nanoseconds % 1000000000;
        limit = &wait;
    }
    // GPollFD is struct pollfd on every Linux. On EINTR the revents are unspecified: clear them.
    if (ppoll((struct pollfd *)*descriptors, (nfds_t)count, limit, NULL) < 0) {
        for (gint i = 0; i < count; i++) (*descriptors)[i].revents = 0;
    }
    return count;
}

static inline void cglib_dispatch(GMainContext *context, GPollFD *descriptors, gint count, gint priority) {
    g_main_context_check(context, priority, descriptors, count);
    g_main_context_dispatch(context);
}

// An epoll set whose members are waited for to be readable. epoll_event is packed, which Swift does not import.
static inline int cglib_epoll_new(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int cglib_epoll_add(int set, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

static inline void cglib_epoll_remove(int set, int descriptor) {
    struct epoll_event event = {0, {0}};
    epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event);
}

// Writes up to 64 readable members, without waiting. Returns how many.
static inline int cglib_epoll_wait(int set, int *descriptors, int capacity) {
    struct epoll_event events[64];
    int count = epoll_wait(set, events, capacity < 64 ? capacity : 64, 0);
    for (int i = 0; i < count; i++) descriptors[i] = events[i].data.fd;
    return count < 0 ? 0 : count;
}

static inline void cglib_close(int descriptor) { close(descriptor); }

#endif
