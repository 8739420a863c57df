// netlab: network namespaces and emulated links between them, for as long as its stdin is open.
//
// The namespaces have no names: only this process holds them, as open files, so nothing is left behind when it ends, however it
// ends. One command a line on stdin, one answer a line on stdout: "ok ..." or "error ...". The first line is "ok" for root and
// "ok USER" for anybody else: USER is the path of a user namespace in which they are root and own the network namespaces.
// Enter a node with `nsenter --net=PATH`, or with `nsenter --user=USER --preserve-credentials --net=PATH`.
//   node                            -> ok PATH        a new namespace, with its loopback interface up
//   run PATH PROGRAM ARGUMENT...    -> ok OUTPUT      runs a short program in it until its end; words end at spaces
//   connect PATH PORT               -> ok             a TCP connection to its 127.0.0.1; the socket comes with the answer
//   forward PATH                    -> ok             it passes packets on between its interfaces
//   link PATH NAME PATH NAME SEED   -> ok N           a pair of TUN devices, up, without addresses; NAME is an interface's
//   set N ab|ba|both KEY=VALUE...   -> ok             see Conditions in LinkEmulation.h; ab: from the first device to the second
//   at MS N ab|ba|both KEY=VALUE... -> ok             the same, so many milliseconds from now
//   figures N ab|ba                 -> ok KEY=VALUE... since the start; longestQueue since the last such question
#define _GNU_SOURCE
#include "LinkEmulation.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LINKS = 16, MOST_CHANGES = 256, LONGEST_LINE = 512 };
typedef struct { int device[2]; Way way[2]; } Link; // way 0 goes from device 0 to device 1
typedef struct { int64_t due; char text[LONGEST_LINE]; } Change;

static Link links[MOST_LINKS];
static int link_count;
static Change changes[MOST_CHANGES];
static int change_count;
static int home; // the namespace of this process itself, which is empty

static int64_t monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void failed(const char *what) { printf("error %s: %s\n", what, strerror(errno)); }

static void raise_interface(const char *name) {
    struct ifreq request = {0};
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    request.ifr_flags = IFF_UP;
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0) return;
    (void)ioctl(s, SIOCSIFFLAGS, &request);
    close(s);
}

static void make_node(void) {
    if (unshare(CLONE_NEWNET)) return failed("unshare");
    raise_interface("lo");
    int node = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int error = errno;
    if (setns(home, CLONE_NEWNET)) { failed("setns"); exit(1); }
    errno = error;
    if (node < 0) return failed("namespace");
    printf("ok /proc/%d/fd/%d\n", getpid(), node);
}

// Calls `body` in the namespace; -1 with errno if it cannot be entered.
static int enter(const char *path, int (*body)(void *), void *with) {
    int node = open(path, O_RDONLY | O_CLOEXEC), result = -1;
    if (node < 0) return -1;
    if (!setns(node, CLONE_NEWNET)) result = body(with);
    int error = errno;
    if (setns(home, CLONE_NEWNET)) { failed("setns"); exit(1); }
    close(node);
    errno = error;
    return result;
}

static int write_text(const char *file, const char *text) {
    int f = open(file, O_WRONLY | O_CLOEXEC);
    int result = f >= 0 && write(f, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
    int error = errno;
    if (f >= 0) close(f);
    errno = error;
    return result;
}

// Makes a user namespace in which whoever started this is root (user_namespaces(7)).
static int become_root(void) {
    char user[64], group[64];
    snprintf(user, sizeof user, "0 %u 1", geteuid());
    snprintf(group, sizeof group, "0 %u 1", getegid());
    if (unshare(CLONE_NEWUSER)) return -1;
    // Without this the kernel lets nobody but root map a group.
    if (write_text("/proc/self/setgroups", "deny")) return -1;
    return write_text("/proc/self/uid_map", user) || write_text("/proc/self/gid_map", group) ? -1 : 0;
}

static int start_forwarding(void *unused) {
    (void)unused;
    // A machine without IPv6 has none to forward.
    (void)write_text("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    return write_text("/proc/sys/net/ipv4/ip_forward", "1");
}

typedef struct { char **words; int output; } Start;

static int start(void *with) {
    Start *s = with;
    pid_t child = fork();
    if (child) return child;
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(s->output, 1);
    dup2(s->output, 2);
    setpriority(PRIO_PROCESS, 0, 0);
    execvp(s->words[0], s->words);
    printf("%s: %s", s->words[0], strerror(errno));
    fflush(stdout);
    _exit(127);
}

static void run(char *arguments) {
    char *words[64] = {0}, *rest, *path = strtok_r(arguments, " ", &rest), output[2048];
    int count = 0, ends[2], status = 0;
    while (count < 63 && (words[count] = strtok_r(NULL, " ", &rest))) count++;
    if (count == 0 || pipe2(ends, O_CLOEXEC)) { printf("error nothing to run\n"); return; }
    pid_t child = enter(path, start, &(Start){words, ends[1]});
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; child > 0 && length < sizeof output - 1; length += (size_t)n)
        if ((n = read(ends[0], output + length, sizeof output - 1 - length)) <= 0) break;
    close(ends[0]);
    if (child < 0) return failed("run");
    waitpid(child, &status, 0);
    for (size_t i = 0; i < length; i++) if (output[i] == '\n') output[i] = ' ';
    output[length] = 0;
    printf("%s %s\n", status == 0 ? "ok" : "error", output);
}

static int open_connection(void *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*(uint16_t *)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || !connect(s, (struct sockaddr *)&address, sizeof address)) return s;
    int error = errno;
    close(s);
    errno = error;
    return -1;
}

static void make_connection(const char *arguments) {
    char path[128];
    uint16_t port;
    if (sscanf(arguments, "%127s %hu", path, &port) != 2) { printf("error not a port\n"); return; }
    int connection = enter(path, open_connection, &port);
    if (connection < 0) return failed("connect");
    // The answer and the socket in one message (unix(7), SCM_RIGHTS).
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof connection)]; } control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof connection), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &connection, sizeof connection);
    struct iovec text = {.iov_base = "ok\n", .iov_len = 3};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (sendmsg(STDOUT_FILENO, &message, 0) < 0) failed("socket");
    close(connection);
}

static int open_device(void *name) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, IFNAMSIZ, "%s", (const char *)name);
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0) return -1;
    if (ioctl(device, TUNSETIFF, &request)) { close(device); return -1; }
    raise_interface(name);
    return device;
}

static void make_link(char *arguments) {
    char path[2][128], name[2][IFNAMSIZ];
    unsigned long long seed;
    if (sscanf(arguments, "%127s %15s %127s %15s %llu", path[0], name[0], path[1], name[1], &seed) != 5 ||
        link_count == MOST_LINKS) {
        printf("error not a link\n");
        return;
    }
    Link *link = &links[link_count];
    memset(link, 0, sizeof *link);
    for (int i = 0; i < 2; i++) {
        link->device[i] = enter(path[i], open_device, name[i]);
        if (link->device[i] < 0) return failed(name[i]);
        way_seed(&link->way[i], (uint64_t)seed * 2 + (uint64_t)i);
        way_set(&link->way[i], "burst", 1);
        way_set(&link->way[i], "queue", 200);
    }
    printf("ok %d\n", link_count++);
}

// "N ab|ba|both KEY=VALUE..."; what was right before an error stays set.
static const char *set_conditions(const char *arguments) {
    char text[LONGEST_LINE], *rest, *word;
    snprintf(text, sizeof text, "%s", arguments);
    const char *number = strtok_r(text, " ", &rest), *which = strtok_r(NULL, " ", &rest);
    int n = number ? atoi(number) : -1;
    if (n < 0 || n >= link_count || !which) return "no such link";
    while ((word = strtok_r(NULL, " ", &rest))) {
        char *sign = strchr(word, '=');
        if (!sign) return "not KEY=VALUE";
        *sign = 0;
        double value = atof(sign + 1);
        for (int i = 0; i < 2; i++) {
            if (!strcmp(which, i == 0 ? "ba" : "ab")) continue;
            if (!way_set(&links[n].way[i], word, value)) return "no such condition";
        }
    }
    return NULL;
}

static void plan(const char *arguments, int64_t now) {
    double milliseconds;
    int length = 0;
    if (change_count == MOST_CHANGES || sscanf(arguments, "%lf %n", &milliseconds, &length) != 1) {
        printf("error not a change\n");
        return;
    }
    changes[change_count].due = now + (int64_t)(milliseconds * 1e6);
    snprintf(changes[change_count++].text, LONGEST_LINE, "%s", arguments + length);
    printf("ok\n");
}

static void carry_out_plans(int64_t now) {
    for (int i = 0; i < change_count;) {
        if (changes[i].due > now) { i++; continue; }
        const char *error = set_conditions(changes[i].text);
        if (error) fprintf(stderr, "netlab: %s: %s\n", changes[i].text, error);
        // In order: two changes of one instant apply as they were given.
        memmove(&changes[i], &changes[i + 1], sizeof *changes * (size_t)(--change_count - i));
    }
}

static void tell_figures(const char *arguments) {
    int n;
    char which[8];
    if (sscanf(arguments, "%d %7s", &n, which) != 2 || n < 0 || n >= link_count) {
        printf("error no such link\n");
        return;
    }
    Figures *f = &links[n].way[!strcmp(which, "ba")].figures;
    printf("ok inPackets=%llu inBytes=%llu outPackets=%llu outBytes=%llu lost=%llu overflowed=%llu longestQueue=%.3f\n",
           (unsigned long long)f->in_packets, (unsigned long long)f->in_bytes, (unsigned long long)f->out_packets,
           (unsigned long long)f->out_bytes, (unsigned long long)f->lost, (unsigned long long)f->overflowed,
           f->longest_queue);
    f->longest_queue = 0;
}

static void obey(char *line, int64_t now) {
    char *arguments = strchr(line, ' ');
    if (arguments) *arguments++ = 0; else arguments = line + strlen(line);
    if (!strcmp(line, "node")) make_node();
    else if (!strcmp(line, "link")) make_link(arguments);
    else if (!strcmp(line, "run")) run(arguments);
    else if (!strcmp(line, "connect")) make_connection(arguments);
    else if (!strcmp(line, "forward")) {
        if (enter(arguments, start_forwarding, NULL)) failed("forward"); else printf("ok\n");
    } else if (!strcmp(line, "at")) plan(arguments, now);
    else if (!strcmp(line, "figures")) tell_figures(arguments);
    else if (!strcmp(line, "set")) {
        const char *error = set_conditions(arguments);
        if (error) printf("error %s\n", error); else printf("ok\n");
    } else printf("error no such command\n");
    fflush(stdout);
}

// False at the end of stdin.
static bool read_commands(int64_t now) {
    static char text[8192];
    static size_t length;
    ssize_t count = read(STDIN_FILENO, text + length, sizeof text - length);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (count == 0) return false;
    length += (size_t)count;
    for (char *end; (end = memchr(text, '\n', length));) {
        *end = 0;
        obey(text, now);
        length -= (size_t)(end + 1 - text);
        memmove(text, end + 1, length);
    }
    return length < sizeof text;
}

static int64_t earliest_due(void) {
    int64_t due = INT64_MAX;
    for (int i = 0; i < link_count; i++)
        for (int w = 0; w < 2; w++)
            if (links[i].way[w].first && links[i].way[w].first->due < due) due = links[i].way[w].first->due;
    for (int i = 0; i < change_count; i++)
        if (changes[i].due < due) due = changes[i].due;
    return due;
}

static void carry(Link *link) {
    static uint8_t bytes[65536];
    for (int w = 0; w < 2; w++) {
        Way *way = &link->way[w];
        for (ssize_t n; (n = read(link->device[w], bytes, sizeof bytes)) > 0;)
            way_accept(way, bytes, (size_t)n, monotonic());
        for (Packet *packet; (packet = way_take(way, monotonic()));) {
            // A device that is down or full loses it, as the wire would.
            if (write(link->device[1 - w], packet->bytes, packet->length) < 0) way->figures.lost++;
            packet_free(packet);
        }
    }
}

int main(void) {
    bool is_root = !unshare(CLONE_NEWNET);
    if ((!is_root && (become_root() || unshare(CLONE_NEWNET))) ||
        (home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0) {
        printf("error emulated networks need root, or a kernel that lets others make user namespaces: %s\n",
               strerror(errno));
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // Late packets would be jitter: wake on time, and before those who only compute.
    prctl(PR_SET_TIMERSLACK, 1);
    (void)setpriority(PRIO_PROCESS, 0, -15);
    if (is_root) printf("ok\n"); else printf("ok /proc/%d/ns/user\n", getpid());
    fflush(stdout);
    for (;;) {
        struct pollfd files[1 + 2 * MOST_LINKS] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        nfds_t count = 1;
        for (int i = 0; i < link_count; i++)
            for (int w = 0; w < 2; w++) files[count++] = (struct pollfd){.fd = links[i].device[w], .events = POLLIN};
        int64_t due = earliest_due(), wait = due == INT64_MAX ? -1 : due - monotonic();
        if (due != INT64_MAX && wait < 0) wait = 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        if (ppoll(files, count, due == INT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR) return 1;
        int64_t now = monotonic();
        carry_out_plans(now);
        for (int i = 0; i < link_count; i++) carry(&links[i]);
        if (files[0].revents && !read_commands(now)) return 0;
    }
}
