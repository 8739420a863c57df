#ifndef SHARE_CGIO_H
#define SHARE_CGIO_H

#include <gio/gio.h>
#include <gio/gunixfdlist.h>

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
static inline void cgio_ref(void *_Nonnull object) { g_object_ref(object); }

// RequestName (D-Bus Specification) without a queue. Returns whether this connection owns the name now.
static inline gboolean cgio_own_name_alone(GDBusConnection *_Nonnull bus, const char *_Nonnull name, gint timeout) {
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
        g_variant_new("(su)", name, (guint32)4), G_VARIANT_TYPE("(u)"), G_DBUS_CALL_FLAGS_NONE, timeout, NULL, NULL);
    guint32 code = 0;
    if (reply) {
        g_variant_get(reply, "(u)", &code);
        g_variant_unref(reply);
    }
    return code == 1;
}

// Properties as a{sv}. The builder is freed by cgio_properties_end.
static inline GVariantBuilder *_Nonnull cgio_properties_new(void) {
    return g_variant_builder_new(G_VARIANT_TYPE("a{sv}"));
}
static inline void cgio_properties_add(GVariantBuilder *_Nonnull properties, const char *_Nonnull name,
                                       GVariant *_Nonnull value) {
    g_variant_builder_add(properties, "{sv}", name, value);
}
static inline GVariant *_Nonnull cgio_properties_end(GVariantBuilder *_Nonnull properties) {
    GVariant *result = g_variant_builder_end(properties);
    g_variant_builder_unref(properties);
    return result;
}

// Replies to a method call with one value, or with none.
static inline void cgio_reply(GDBusConnection *_Nonnull bus, GDBusMessage *_Nonnull call, GVariant *_Nullable value) {
    GDBusMessage *reply = g_dbus_message_new_method_reply(call);
    if (value) g_dbus_message_set_body(reply, g_variant_new_tuple(&value, 1));
    g_dbus_connection_send_message(bus, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
    g_object_unref(reply);
}
static inline void cgio_reply_error(GDBusConnection *_Nonnull bus, GDBusMessage *_Nonnull call,
                                    const char *_Nonnull name, const char *_Nonnull message) {
    GDBusMessage *reply = g_dbus_message_new_method_error_literal(call, name, message);
    g_dbus_connection_send_message(bus, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
    g_object_unref(reply);
}

// Emits org.freedesktop.DBus.Properties.PropertiesChanged.
static inline void cgio_emit_changed(GDBusConnection *_Nonnull bus, const char *_Nonnull path,
                                     const char *_Nonnull interface, GVariant *_Nonnull properties) {
    g_dbus_connection_emit_signal(bus, NULL, path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
                                  g_variant_new("(s@a{sv}as)", interface, properties, NULL), NULL);
}

// Sends a message, which is released. Returns its serial number; 0 if the connection is closed.
static inline guint32 cgio_send(GDBusConnection *_Nonnull bus, GDBusMessage *_Nonnull message) {
    guint32 serial = 0;
    if (!g_dbus_connection_send_message(bus, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, &serial, NULL)) serial = 0;
    g_object_unref(message);
    return serial;
}

static inline void cgio_flush(GDBusConnection *_Nonnull bus) { g_dbus_connection_flush_sync(bus, NULL, NULL); }

// Calls a method whose reply is the index of a descriptor that comes with it. Returns the descriptor; -1 if there is none.
static inline int cgio_call_for_descriptor(GDBusConnection *_Nonnull bus, const char *_Nonnull destination,
                                           const char *_Nonnull path, const char *_Nonnull interface,
                                           const char *_Nonnull method, GVariant *_Nullable arguments, gint timeout) {
    GUnixFDList *descriptors = NULL;
    GVariant *reply = g_dbus_connection_call_with_unix_fd_list_sync(
        bus, destination, path, interface, method, arguments, G_VARIANT_TYPE("(h)"), G_DBUS_CALL_FLAGS_NONE, timeout, NULL,
        &descriptors, NULL, NULL);
    int descriptor = -1;
    if (reply) {
        gint32 index = -1;
        g_variant_get(reply, "(h)", &index);
        if (descriptors && index >= 0 && index < g_unix_fd_list_get_length(descriptors))
            descriptor = g_unix_fd_list_get(descriptors, index, NULL);
        g_variant_unref(reply);
    }
    if (descriptors) g_object_unref(descriptors);
    return descriptor;
}

#endif
