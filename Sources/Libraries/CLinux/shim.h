#ifndef SHARE_CLINUX_H
#define SHARE_CLINUX_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Declared by glibc for _GNU_SOURCE only, which would change types that the Glibc module defines without it.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
extern int pipe2(int[2], int);
#define CLINUX_SPAWN_SETSID 0x80

// Any address may be given. Cache lines have 64 bytes on x86-64 and on common processors of ARM.
static inline void clinux_prefetch(const void *address, size_t bytes) {
    const char *end = (const char *)address + bytes;
    for (const char *line = (const char *)((uintptr_t)address & ~(uintptr_t)63); line < end; line += 64) __builtin_prefetch(line);
}

static inline void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

static inline void clinux_set_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

// The flags are an enum of their own type, which Swift does not combine.
static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Sleeps until `a` or `b` (-1: none) has something to read or the time has passed; NULL: as long as it takes. Signals may end it
// early. Returns whether `a` has something to read.
static inline int clinux_wait(int a, int b, const struct timespec *time) {
    struct pollfd descriptors[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    return ppoll(descriptors, 2, time, NULL) > 0 && descriptors[0].revents != 0;
}

// Declared by glibc for _GNU_SOURCE only, as above.
extern int memfd_create(const char *, unsigned int);
extern int close_range(unsigned int, unsigned int, int);
extern int pipe2(int[2], int);

// F_ADD_SEALS and F_GET_SEALS of linux/fcntl.h, which cannot be included beside fcntl.h.
#define CLINUX_ADD_SEALS 1033
#define CLINUX_GET_SEALS 1034
#define CLINUX_SEAL_SEAL 0x1
#define CLINUX_SEAL_SHRINK 0x2
#define CLINUX_SEAL_GROW 0x4
#define CLINUX_SEAL_FUTURE_WRITE 0x10

// MFD_CLOEXEC | MFD_ALLOW_SEALING.
static inline int clinux_memfd(const char *name) { return memfd_create(name, 0x1 | 0x2); }
static inline int clinux_add_seals(int file, int seals) { return fcntl(file, CLINUX_ADD_SEALS, seals); }
// -1 if `file` has no seals.
static inline int clinux_seals(int file) { return fcntl(file, CLINUX_GET_SEALS); }

// DMA_BUF_IOCTL_SYNC of linux/dma-buf.h, and its flags for reading.
extern int ioctl(int, unsigned long, ...);
#define CLINUX_DMA_BUF_SYNC 0x40086200ul
#define CLINUX_DMA_BUF_READ_START 1
#define CLINUX_DMA_BUF_READ_END 5

// Before and after the processor reads a DMA-BUF.
static inline void clinux_sync_dma_buf(int file, int begins) {
    unsigned long long flags = begins ? CLINUX_DMA_BUF_READ_START : CLINUX_DMA_BUF_READ_END;
    ioctl(file, CLINUX_DMA_BUF_SYNC, &flags);
}

// Sleeps until one of `count` descriptors (negative: none) has something to read or the time has passed; NULL: as long as it takes.
static inline void clinux_wait_all(const int *files, int count, const struct timespec *time) {
    struct pollfd descriptors[8];
    nfds_t n = 0;
    for (int i = 0; i < count && n < 8; i++)
        if (files[i] >= 0) descriptors[n++] = (struct pollfd){files[i], POLLIN, 0};
    ppoll(descriptors, n, time, NULL);
}

static inline int clinux_pidfd(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline int clinux_pidfd_kill(int pidfd) { return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0); }

// Sends bytes and, with the first of them, a descriptor (-1: none). Returns what `send` returns.
static inline ssize_t clinux_send(int socket, const void *bytes, size_t count, int descriptor) {
    struct iovec part = {(void *)bytes, count};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Receives bytes, and a descriptor that came with them (-1: none); further ones of the same message are closed. Returns what `recv`
// returns.
static inline ssize_t clinux_receive(int socket, void *bytes, size_t count, int *descriptor) {
    struct iovec part = {bytes, count};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    *descriptor = -1;
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < descriptors; i++) {
            int file;
            memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            if (*descriptor < 0) {
                *descriptor = file;
            } else {
                close(file);
            }
        }
    }
    return received;
}

// Has the kernel end this process with the thread that has started it.
static inline void clinux_end_with_parent(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Runs in the child between fork and exec: only what is safe after a fork of a process with threads. Ends by _exit.
static inline void clinux_become(
    const char *path, char *const arguments[], char *const environment[], int socket, int takesInput, pid_t parent,
    int report) {
    // A program that reads the terminal stays in the foreground, with its parent.
    if (!takesInput) setpgid(0, 0);
    // The kernel ends the child with the thread that made it; a parent that ended before is not noticed by prctl.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct rlimit noCore = {0, 0};
    setrlimit(RLIMIT_CORE, &noCore);
    // Moved out of the way first: the socket becomes 3, the report 4.
    int high = fcntl(socket, F_DUPFD, 64), end = fcntl(report, F_DUPFD, 64);
    if (!takesInput) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
    }
    // stdout belongs to the parent's own output.
    dup2(2, 1);
    dup2(high, 3);
    dup2(end, 4);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    close_range(5, ~0U, 0);
    execve(path, arguments, environment);
    int error = errno;
    ssize_t ignored = write(4, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

// Starts a program with `socket` as descriptor 3 and no other one beside 0 to 2; in a process group of its own, unless it takes input. It ends with the
// calling thread. Returns its process; -1 with errno if it cannot be executed.
static inline pid_t clinux_spawn(
    const char *path, char *const arguments[], char *const environment[], int socket, int takesInput) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    pid_t parent = getpid(), child = fork();
    if (child == 0) clinux_become(path, arguments, environment, socket, takesInput, parent, report[1]);
    int failure = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0) {
        ssize_t count;
        do { count = read(report[0], &failure, sizeof failure); } while (count < 0 && errno == EINTR);
        if (count > 0) {
            siginfo_t ignored;
            waitid(P_PID, (id_t)child, &ignored, WEXITED);
            child = -1;
        }
    }
    close(report[0]);
    errno = failure;
    return child;
}

// What a supervisor and its parent say to each other, a message each.
struct clinux_report {
    // 0: `value` is the program's process, or an error number, negative. 1: `value` is its wait status, and nothing of it is left.
    int32_t kind, value;
};

// Kills and reaps the children of this process, which has one thread; `except` (0: none) is left alone and only the dead are reaped
// then. Returns how many there were; -1 if the kernel does not tell (CONFIG_PROC_CHILDREN).
static inline int clinux_reap(pid_t except) {
    char text[4096];
    int count = 0, file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text);
    close(file);
    pid_t child = 0;
    for (ssize_t i = 0; i < length; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            child = child * 10 + (text[i] - '0');
            continue;
        }
        if (child > 0 && child != except) {
            siginfo_t ignored;
            if (except == 0) kill(child, SIGKILL);
            waitid(P_PID, (id_t)child, &ignored, WEXITED | WNOHANG);
            count++;
        }
        child = 0;
    }
    return count;
}

// Runs in the child of a fork of a process with threads, as clinux_become does, and never returns. Adopts what the program leaves
// behind by forking twice (PR_SET_CHILD_SUBREAPER), and kills all of it when the program or the parent has ended.
static inline void clinux_supervise(
    const char *path, char *const arguments[], char *const environment[], int socket, int control) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    // The parent's descriptors must not stay open here: others wait for their ends.
    int high = fcntl(socket, F_DUPFD, 64), end = fcntl(control, F_DUPFD, 64), start[2];
    dup2(high, 3);
    dup2(end, 4);
    close_range(5, ~0U, 0);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    int32_t failure = 0;
    pid_t self = getpid(), child = pipe2(start, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) clinux_become(path, arguments, environment, 3, 0, self, start[1]);
    if (child < 0) {
        failure = errno;
    } else {
        close(3);
        close(start[1]);
        while (read(start[0], &failure, sizeof failure) < 0 && errno == EINTR) {}
        close(start[0]);
    }
    struct clinux_report report = {0, failure != 0 ? -failure : child};
    int isOver = send(4, &report, sizeof report, MSG_NOSIGNAL) < 0 || failure != 0;
    int program = isOver ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
    while (!isOver && program >= 0) {
        struct pollfd descriptors[2] = {{4, POLLIN, 0}, {program, POLLIN, 0}};
        // What has ended of those that were adopted is reaped once a second.
        if (poll(descriptors, 2, 1000) == 0) clinux_reap(child);
        if (descriptors[1].revents != 0) break;
        if (descriptors[0].revents == 0) continue;
        char command;
        if (recv(4, &command, 1, 0) != 1) break;
        kill(-child, command == 'T' ? SIGTERM : SIGKILL);
    }
    int status = 0;
    if (child > 0) {
        // The group exists as long as its leader was not waited for.
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        // A process that is being killed may have started another one: 2 s at most.
        for (int round = 0; round < 400 && clinux_reap(0) > 0; round++) poll(NULL, 0, 5);
    }
    report = (struct clinux_report){1, status};
    if (failure == 0) send(4, &report, sizeof report, MSG_NOSIGNAL);
    _exit(0);
}

// Starts a program as clinux_spawn does, without input, below a supervisor, which is a process of its own. `program` gets the
// program's process, and `control` this end of the connection to the supervisor: 'T' asks the program and its group to end, 'K'
// kills them, and its end kills everything that the program has started. Returns the supervisor; -1 with errno.
static inline pid_t clinux_spawn_supervised(
    const char *path, char *const arguments[], char *const environment[], int socket, int *control, pid_t *program) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    pid_t supervisor = fork();
    if (supervisor == 0) clinux_supervise(path, arguments, environment, socket, ends[1]);
    int failure = supervisor < 0 ? errno : 0;
    close(ends[1]);
    struct clinux_report report = {0, 0};
    if (supervisor > 0) {
        ssize_t count;
        do { count = recv(ends[0], &report, sizeof report, 0); } while (count < 0 && errno == EINTR);
        if (count != sizeof report || report.value <= 0) {
            failure = count == sizeof report && report.value < 0 ? -report.value : ESRCH;
            siginfo_t ignored;
            waitid(P_PID, (id_t)supervisor, &ignored, WEXITED);
        }
    }
    if (failure != 0) {
        close(ends[0]);
        errno = failure;
        return -1;
    }
    *control = ends[0];
    *program = report.value;
    return supervisor;
}

// Takes the supervisor's last message, without waiting. Returns 1 with the wait status, 0 if there is none yet, and -1 if the
// supervisor has gone without one.
static inline int clinux_take_end(int control, int *status) {
    struct clinux_report report;
    ssize_t count = recv(control, &report, sizeof report, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count != sizeof report || report.kind != 1) return -1;
    *status = report.value;
    return 1;
}

// Limits the address space of a process (RLIMIT_AS), never to more than it has. glibc declares prlimit for _GNU_SOURCE only.
static inline void clinux_limit_memory(pid_t process, uint64_t bytes) {
    uint64_t limit[2];
    if (syscall(SYS_prlimit64, process, RLIMIT_AS, NULL, limit) != 0) return;
    for (int i = 0; i < 2; i++)
        if (limit[i] > bytes) limit[i] = bytes;
    syscall(SYS_prlimit64, process, RLIMIT_AS, limit, NULL);
}

static inline int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

// Starts a program with three streams (-1: /dev/null), no other descriptor and no blocked signal. `group`: 0 is that of this process, 1 one of its
// own, 2 a session of its own. Ignored signals have their default action again, except for SIGHUP without a session (nohup). Returns an
// error number; 0 if it runs.
static inline int clinux_spawn_program(
    pid_t *id, const char *program, char *const arguments[], char *const environment[], const int streams[3], int group) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    // None is overwritten before it is duplicated.
    int high[3], error = 0;
    for (int number = 0; number < 3; number++) {
        high[number] = streams[number] < 0 ? -1 : fcntl(streams[number], F_DUPFD_CLOEXEC, 3);
        if (streams[number] >= 0 && high[number] < 0) error = errno;
    }
    for (int number = 0; number < 3; number++) {
        if (high[number] < 0) posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
        else posix_spawn_file_actions_adddup2(&actions, high[number], number);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    if (group != 2) sigdelset(&signals, SIGHUP);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    int where = group == 0 ? 0 : group == 1 ? POSIX_SPAWN_SETPGROUP : CLINUX_SPAWN_SETSID;
    posix_spawnattr_setflags(&attributes, where | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0) error = posix_spawnp(id, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (int number = 0; number < 3; number++)
        if (high[number] >= 0) close(high[number]);
    return error;
}

#endif
