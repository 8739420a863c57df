// lines: writes lines of text to its terminal at an even rate, as a build or a log does.
// usage: lines [-r LINES_PER_SECOND] [-w COLUMNS] [-b LINES_AT_ONCE] [-s SECONDS] [-t]      (-t types letters instead of lines)
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rate = 60, width = 200, burst = 1, seconds = 10, types = 0, o;
    while ((o = getopt(argc, argv, "r:w:b:s:t")) != -1) {
        int v = optarg ? atoi(optarg) : 0;
        if (o == 'r') rate = v;
        else if (o == 'w') width = v;
        else if (o == 'b') burst = v;
        else if (o == 's') seconds = v;
        else if (o == 't') types = 1;
        else { fprintf(stderr, "usage: lines [-r LINES_PER_SECOND] [-w COLUMNS] [-b LINES_AT_ONCE] [-s SECONDS] [-t]\n"); return 2; }
    }
    if (rate < 1 || burst < 1 || width < 20 || width > 1000) { fprintf(stderr, "lines: no such rate or width\n"); return 2; }
    static char line[1002];
    unsigned noise = 1;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long n = 0; n < (long)rate * seconds; n++) {
        int at = types ? snprintf(line, sizeof line, "x") : snprintf(line, sizeof line, "%07ld ", n);
        // Words of 1 to 8 letters, new each time.
        while (!types && at < width) {
            noise = noise * 1664525u + 1013904223u;
            int letters = 1 + (int)(noise >> 29);
            for (int i = 0; i < letters && at < width; i++) {
                noise = noise * 1664525u + 1013904223u;
                line[at++] = (char)('!' + (noise >> 16) % 94);
            }
            if (at < width) line[at++] = ' ';
        }
        if (!types) line[at++] = '\n';
        fwrite(line, 1, (size_t)at, stdout);
        if ((n + 1) % burst) continue;
        fflush(stdout);
        next.tv_nsec += 1000000000L / rate * burst;
        while (next.tv_nsec >= 1000000000L) { next.tv_nsec -= 1000000000L; next.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}
