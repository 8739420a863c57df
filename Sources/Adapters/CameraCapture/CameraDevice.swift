public import MediaCore

/// A camera of this machine.
public struct CameraDevice: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        /// The serial number of a node of PipeWire.
        case node(String)
        /// The path of a device of the kernel.
        case path(String)
    }

    /// The number in `CaptureSource.Camera.number`.
    public var number: Int
    /// Its name for people: not verified, as programs name their cameras themselves.
    public let name: String
    /// Stays the same when the camera is unplugged and plugged again.
    public let id: String
    let place: Place
    /// The kernel's device behind it: "/dev/video0"; nil for a camera that a program plays.
    let path: String?

    /// The cameras that are there now: those of PipeWire, and those of the kernel that PipeWire does not have.
    /// - Throws: `.noSuchDevice` if there is none, with the reason.
    public static func all(_ place: CameraSearch = CameraSearch()) throws(SourceFailure) -> [CameraDevice] {
        try place.find()
    }

    /// The first of the cameras that is meant.
    static func first(_ choice: CaptureSource.Camera, of cameras: [CameraDevice]) -> CameraDevice? {
        switch choice {
        case .number(let number): cameras.first { $0.number == number }
        case .name(let name):
            cameras.first { $0.id == name || $0.path == name }
                ?? cameras.first { "\($0.name)\n\($0.id)".lowercased().contains(name.lowercased()) }
        }
    }
}

/// Where cameras are looked for.
public struct CameraSearch: Sendable {
    /// The socket of PipeWire; nil for the one of the user.
    public var socket: String?
    /// The folder of the kernel's devices.
    public var devices = "/dev"

    public init() {}

    func find() throws(SourceFailure) -> [CameraDevice] {
        var cameras: [CameraDevice] = []
        var reason = "PipeWire does not run"
        if let connection = PipeWireConnection.open(socket) {
            do throws(SourceFailure) {
                cameras = try PipeWireConnection.cameras(connection)
                reason = "PipeWire has none"
            } catch {
                reason = error.message
            }
        }
        let known = Set(cameras.compactMap(\.path))
        cameras += V4L2Camera.devices(in: devices).filter { $0.path.map { !known.contains($0) } ?? true }
        guard !cameras.isEmpty else {
            throw SourceFailure(
                .noSuchDevice, "there is no camera: \(reason), and \(devices) has none",
                remedy: "Plug one in; share sources lists cameras.")
        }
        // The kernel's numbers first, so that the built-in camera of a laptop is 0.
        cameras.sort { Self.order($0) < Self.order($1) }
        for index in cameras.indices { cameras[index].number = index }
        return cameras
    }

    private static func order(_ camera: CameraDevice) -> (Int, String) {
        let digits = camera.path.map { $0.reversed().prefix { $0.isASCII && $0.isNumber }.reversed() }
        return (digits.flatMap { Int(String($0)) } ?? .max, camera.id)
    }
}
