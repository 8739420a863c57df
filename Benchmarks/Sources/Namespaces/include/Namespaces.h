#ifndef NAMESPACES_H
#define NAMESPACES_H
// A TCP socket of the network namespace whose file that is; -1 with errno.
int socket_in_namespace(const char *path);
#endif
