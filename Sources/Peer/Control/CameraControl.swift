/// Changes the camera of a running broadcast for other programs of the user.
public struct CameraControl: Sendable {
    public var status: @Sendable () -> CameraStatus
    /// Returns at once whether anything changes; another camera replaces the picture when it delivers.
    public var apply: @Sendable (CameraRequest) throws(ControlError) -> Bool

    public init(
        status: @escaping @Sendable () -> CameraStatus,
        apply: @escaping @Sendable (CameraRequest) throws(ControlError) -> Bool
    ) {
        self.status = status
        self.apply = apply
    }
}

/// The changes to a camera; nil: none. Without any change the request asks for the state.
public struct CameraRequest: Codable, Sendable, Equatable {
    public var enabled: Bool?
    /// "front" or "back".
    public var position: String?
    /// "top-left", "top-right", "bottom-left", "bottom-right", or pixels: "100,50".
    public var place: String?
    /// "20%" of the frame's width, or pixels: "320".
    public var size: String?
    public var mirrored: Bool?

    public init() {}

    var isChange: Bool { self != CameraRequest() }
}

/// The camera of a broadcast.
public struct CameraStatus: Codable, Sendable, Equatable {
    public var enabled: Bool
    public var position: String
    /// Nil if the camera is the whole picture, as `size`.
    public var place: String?
    public var size: String?
    public var mirrored: Bool
    /// The camera that delivers; not verified. Nil if none does.
    public var name: String?
    /// The reason why no camera delivers, in a sentence; nil if nothing is wrong.
    public var problem: String?

    public init(
        enabled: Bool, position: String, place: String?, size: String?, mirrored: Bool, name: String?, problem: String?
    ) {
        self.enabled = enabled
        self.position = position
        self.place = place
        self.size = size
        self.mirrored = mirrored
        self.name = name
        self.problem = problem
    }
}
