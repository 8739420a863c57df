#define _GNU_SOURCE
#include "Namespaces.h"
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int socket_in_namespace(const char *path) {
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), node = open(path, O_RDONLY | O_CLOEXEC), s = -1;
    if (home >= 0 && node >= 0 && !setns(node, CLONE_NEWNET)) {
        s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (setns(home, CLONE_NEWNET)) abort(); // this thread would go on in the wrong place
    }
    if (home >= 0) close(home);
    if (node >= 0) close(node);
    return s;
}
