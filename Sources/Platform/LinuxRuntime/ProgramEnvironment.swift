internal import Glibc

/// The environment that programs of others are started with: this process's variables of a list. Others stay here, as
/// SHARE_TOKEN and SHARE_TURN_CREDENTIAL do, and what names this process's connections to a service manager.
public enum ProgramEnvironment {
    private static let names: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TZ", "TERM", "COLORTERM", "NO_COLOR", "LANG",
        "LANGUAGE", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
        "DESKTOP_SESSION", "BROWSER", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy",
        "all_proxy", "no_proxy",
    ]
    /// Locale, folders, desktop, toolkits, sound servers, graphics drivers and players.
    private static let prefixes = [
        "LC_", "XDG_", "KDE_", "GNOME_", "GTK_", "GDK_", "QT_", "SDL_", "PULSE_", "PIPEWIRE_", "ALSA_", "LIBVA_",
        "VDPAU_",
        "MESA_", "__GL", "__EGL", "__NV_", "VK_", "MOZ_", "MPV_", "VLC_",
    ]

    /// Whether a variable is passed on.
    public static func passes(_ name: some StringProtocol) -> Bool {
        names.contains(String(name)) || prefixes.contains { name.hasPrefix($0) }
    }

    /// Those of an environment that are passed on.
    public static func selected(of environment: [String: String]) -> [String: String] {
        environment.filter { passes($0.key) }
    }

    /// Those of this process that are passed on: `NAME=VALUE` each.
    public static var texts: [String] {
        var texts: [String] = []
        var next = environ
        while let text = next.pointee {
            let text = String(cString: text)
            if let end = text.firstIndex(of: "="), passes(text[..<end]) { texts.append(text) }
            next += 1
        }
        return texts
    }
}
