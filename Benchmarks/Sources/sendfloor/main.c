// The least time in which a frame can be sent to many viewers over loopback: one sendmsg a viewer with UDP segmentation, and nothing
// else. Nothing is encrypted, and there is no state of a viewer. Another process reads the packets, as the viewers of `share-lab bench
// relay` do, and throws them away.
// usage: sendfloor VIEWERS THREADS PACKETS FRAMES SECONDS
//     PACKETS of 1,200 bytes a frame, FRAMES a second. Prints from the beginning of a frame until a viewer's sendmsg has returned.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#define SEGMENT 103  // UDP_SEGMENT
#define GRO 104      // UDP_GRO
#define SIZE 1200
#define MOST_PACKETS 50
#define VIEWERS_OF_ADDRESS 16

static int viewers, threads, packets, output;
static struct sockaddr_in *places;
static char payload[MOST_PACKETS * SIZE];
static double *delays, began;
static pthread_barrier_t begin, end;

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int open_viewer(struct sockaddr_in *place, int number) {
    int viewer = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
    socklen_t length = sizeof *place;
    setsockopt(viewer, SOL_UDP, GRO, &yes, sizeof yes);
    place->sin_family = AF_INET;
    place->sin_addr.s_addr = htonl(0x7f000101 + number / VIEWERS_OF_ADDRESS);
    if (viewer < 0 || bind(viewer, (struct sockaddr *)place, length) != 0 ||
        getsockname(viewer, (struct sockaddr *)place, &length) != 0) {
        perror("a viewer's socket");
        exit(71);
    }
    return viewer;
}

static void read_all(const int *sockets) {
    static char buffer[65536];
    struct epoll_event events[64];
    int epoll = epoll_create1(0);
    for (int i = 0; i < viewers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = sockets[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &event);
    }
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++)
            while (recv(events[i].data.fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) {}
    }
}

static void send_to(struct sockaddr_in *place) {
    union {
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec frame = {payload, (size_t)packets * SIZE};
    struct msghdr message = {.msg_name = place, .msg_namelen = sizeof *place, .msg_iov = &frame, .msg_iovlen = 1,
                             .msg_control = &control, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    uint16_t size = SIZE;
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof size);
    memcpy(CMSG_DATA(header), &size, sizeof size);
    sendmsg(output, &message, MSG_DONTWAIT);
}

// A thread's share of a frame.
static void send_share(int thread) {
    pthread_barrier_wait(&begin);
    for (int i = thread; i < viewers; i += threads) {
        send_to(&places[i]);
        delays[i] = seconds_now() - began;
    }
    pthread_barrier_wait(&end);
}

static void *serve(void *thread) {
    for (;;) send_share((int)(intptr_t)thread);
}

static int compare(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(int count, char **arguments) {
    int values[5];
    for (int i = 0; i < 5; i++) values[i] = i + 1 < count ? atoi(arguments[i + 1]) : 0;
    if (count != 6 || values[0] < 1 || values[0] > 4000 || values[1] < 1 || values[1] > 64 || values[2] < 1 ||
        values[2] > MOST_PACKETS || values[3] < 1 || values[3] > 1000 || values[4] < 1 || values[4] > 600) {
        fprintf(stderr, "usage: sendfloor VIEWERS THREADS PACKETS FRAMES SECONDS\n");
        return 64;
    }
    viewers = values[0], threads = values[1], packets = values[2];
    int frames = values[3] * values[4];
    places = calloc(viewers, sizeof *places);
    delays = calloc(viewers, sizeof *delays);
    double *all = calloc((size_t)frames * viewers, sizeof *all);
    int *sockets = calloc(viewers, sizeof *sockets);
    for (int i = 0; i < viewers; i++) sockets[i] = open_viewer(&places[i], i);
    pid_t reader = fork();
    if (reader == 0) read_all(sockets);
    output = socket(AF_INET, SOCK_DGRAM, 0);
    pthread_barrier_init(&begin, NULL, threads);
    pthread_barrier_init(&end, NULL, threads);
    pthread_t thread;
    for (int i = 1; i < threads; i++) pthread_create(&thread, NULL, serve, (void *)(intptr_t)i);
    for (int frame = 0; frame < frames; frame++) {
        struct timespec pause = {.tv_nsec = 999999999 / values[3]};
        nanosleep(&pause, NULL);
        began = seconds_now();
        send_share(0);
        memcpy(all + (size_t)frame * viewers, delays, viewers * sizeof *delays);
    }
    kill(reader, SIGKILL);
    waitpid(reader, NULL, 0);
    size_t total = (size_t)frames * viewers;
    qsort(all, total, sizeof *all, compare);
    printf("%d viewers, %d packets %d times a second, %d threads: median %.2f ms, 99 %% %.2f ms\n", viewers, packets, values[3],
           threads, all[total / 2] * 1e3, all[total * 99 / 100] * 1e3);
}
