internal import CPipeWire
internal import Glibc
internal import MediaCore

/// Connections to the PipeWire server of this user.
enum PipeWireConnection {
    /// - Parameter path: of the socket; nil: `$PIPEWIRE_REMOTE`, else `pipewire-0`, in `$PIPEWIRE_RUNTIME_DIR`, else in
    ///   `$XDG_RUNTIME_DIR`.
    /// - Returns: a descriptor; nil if PipeWire does not run.
    static func open(_ path: String?) -> Int32? {
        guard let path = path ?? standardPath else { return nil }
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard file >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isShort = bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        if isShort { withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) } }
        let isConnected =
            isShort
            && withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        guard isConnected else {
            close(file)
            return nil
        }
        return file
    }

    private static var standardPath: String? {
        let name = variable("PIPEWIRE_REMOTE") ?? "pipewire-0"
        if name.hasPrefix("/") { return name }
        return (variable("PIPEWIRE_RUNTIME_DIR") ?? variable("XDG_RUNTIME_DIR")).map { $0 + "/" + name }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
        return value
    }

    /// How long PipeWire may take to list its cameras.
    private static let patience: Int32 = 3_000

    /// The cameras that PipeWire has, without numbers.
    /// - Parameter descriptor: closed in any case.
    static func cameras(_ descriptor: Int32) throws(SourceFailure) -> [CameraDevice] {
        final class List { var cameras: [CameraDevice] = [] }
        initialize
        let list = List()
        let result = withExtendedLifetime(list) {
            cpw_list_cameras(descriptor, patience, Unmanaged.passUnretained(list).toOpaque()) {
                owner, serial, name, description, path in
                guard let owner else { return }
                let list = Unmanaged<List>.fromOpaque(owner).takeUnretainedValue()
                let (id, path) = (String(cString: name), String(cString: path))
                let device = path.hasPrefix("v4l2:") ? String(path.dropFirst(5)) : nil
                let shown = UntrustedText.clean(
                    String(cString: description), limit: 80,
                    fallback: UntrustedText.clean(id, limit: 80, fallback: "camera"))
                list.cameras.append(
                    CameraDevice(
                        number: 0, name: shown, id: id, place: .node(String(cString: serial)), path: device))
            }
        }
        guard result == 0 else {
            throw SourceFailure(
                .unsupported, "PipeWire does not tell which cameras there are (errno \(-result))",
                remedy: "Start the services pipewire and wireplumber of your user.")
        }
        return list.cameras
    }

    static let initialize: Void = cpw_init()
}
