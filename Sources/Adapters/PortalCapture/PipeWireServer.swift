internal import Glibc
package import MediaCore

/// The PipeWire server of this user.
package enum PipeWireServer {
    package static let missing = SourceFailure(
        .unsupported, "PipeWire does not run, which carries the picture",
        remedy: "Start the services pipewire and wireplumber of your user.")

    /// Whether it accepts connections: at `$PIPEWIRE_REMOTE`, else `pipewire-0`, in `$PIPEWIRE_RUNTIME_DIR`, else in
    /// `$XDG_RUNTIME_DIR`.
    package static var answers: Bool {
        let name = variable("PIPEWIRE_REMOTE") ?? "pipewire-0"
        if name.hasPrefix("/") { return answers(at: name) }
        guard let folder = variable("PIPEWIRE_RUNTIME_DIR") ?? variable("XDG_RUNTIME_DIR") else { return false }
        return answers(at: folder + "/" + name)
    }

    package static func answers(at path: String) -> Bool {
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard file >= 0 else { return false }
        defer { close(file) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
        return value
    }
}
