#ifndef SHARE_CGIO_H
#define SHARE_CGIO_H

#include <gio/gio.h>

// Functions for GLib's variadic functions and macros.

static inline GDBusConnection *_Nullable cgio_connect(const char *_Nonnull address) {
    return g_dbus_connection_new_for_address_sync(
        address, (GDBusConnectionFlags)(G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                        G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION),
        NULL, NULL, NULL);
}

// Desktop Notifications Specification 1.2, Notify. Returns the notification's id; 0 if no service accepted it.
static inline guint32 cgio_notify(GDBusConnection *_Nonnull bus, guint32 replaces, const char *_Nonnull summary,
                                  const char *_Nonnull body, gint expires, gint timeout) {
    GVariantBuilder actions, hints;
    g_variant_builder_init(&actions, G_VARIANT_TYPE("as"));
    g_variant_builder_init(&hints, G_VARIANT_TYPE("a{sv}"));
    GVariant *arguments = g_variant_new("(susssasa{sv}i)", "share", replaces, "video-display", summary, body, &actions,
                                        &hints, expires);
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
        "Notify", arguments, G_VARIANT_TYPE("(u)"), G_DBUS_CALL_FLAGS_NONE, timeout, NULL, NULL);
    guint32 identifier = 0;
    if (reply) {
        g_variant_get(reply, "(u)", &identifier);
        g_variant_unref(reply);
    }
    return identifier;
}

static inline void cgio_close_notification(GDBusConnection *_Nonnull bus, guint32 identifier, gint timeout) {
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
        "CloseNotification", g_variant_new("(u)", identifier), NULL, G_DBUS_CALL_FLAGS_NONE, timeout, NULL, NULL);
    if (reply) g_variant_unref(reply);
}

static inline void cgio_disconnect(GDBusConnection *_Nonnull bus) {
    g_dbus_connection_close_sync(bus, NULL, NULL);
    g_object_unref(bus);
}

// For a notification service, as in tests.
static inline gboolean cgio_own_name(GDBusConnection *_Nonnull bus, const char *_Nonnull name) {
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
        g_variant_new("(su)", name, (guint32)0), NULL, G_DBUS_CALL_FLAGS_NONE, 5000, NULL, NULL);
    if (reply) g_variant_unref(reply);
    return reply != NULL;
}
static inline void cgio_answer(GDBusConnection *_Nonnull bus, GDBusMessage *_Nonnull call, guint32 identifier) {
    GDBusMessage *reply = g_dbus_message_new_method_reply(call);
    if (identifier) g_dbus_message_set_body(reply, g_variant_new("(u)", identifier));
    g_dbus_connection_send_message(bus, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
    g_object_unref(reply);
}
static inline void cgio_unref(void *_Nonnull object) { g_object_unref(object); }

#endif
