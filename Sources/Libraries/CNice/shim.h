#include <nice/agent.h>
#include <gio/gio.h>
#include <glib-unix.h>
