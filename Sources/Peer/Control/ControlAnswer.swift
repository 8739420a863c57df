import FoundationEssentials
public import Host
public import MediaCore

/// The answer to a ``ControlRequest``: one line of JSON.
public struct ControlAnswer: Codable, Sendable, Equatable {
    public var version = ControlRequest.version
    /// Nil if the request was granted.
    public var error: ControlError.Code?
    /// A sentence for people that explains `error`.
    public var message: String?
    /// The state after the request.
    public var broadcast: BroadcastStatus?
    /// Whether the request changed anything; nil if it only asks.
    public var changed: Bool?
    /// The viewers that were asked for, or those that `remove` may have meant.
    public var viewers: [ViewerStatus]?
    public var removed: RemovedViewer?
    /// The buffer for clips; nil without one.
    public var clips: ClipStatus?
    /// The clip that was saved.
    public var clip: SavedClip?
    /// The camera; nil without one.
    public var camera: CameraStatus?

    public init() {}

    init(_ error: ControlError) {
        self.error = error.code
        message = error.message
    }

    /// One line, without its end.
    public var text: String { ControlJSON.text(self) }

    /// Returns nil if the text is no answer.
    public init?(parsing text: String) {
        guard let answer = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = answer
    }
}

/// The state of a broadcast.
public struct BroadcastStatus: Codable, Sendable, Equatable {
    public struct Audio: Codable, Sendable, Equatable {
        public var track: AudioTrackName
        public var muted: Bool
        /// False if the device could not be opened or has gone.
        public var captured: Bool
        /// The level in dBFS (-70...0), whether it is muted or not; nil in silence, and from a host of before.
        public var level: Double?
    }

    /// The identifier in the link: 13 characters.
    public var id: String
    public var process: Int
    public var name: String?
    /// The captured source: "display :0, 1920 x 1080".
    public var source: String
    /// The name of the service that receives it alone; nil for viewers with the link. Not verified.
    public var service: String?
    /// The link for viewers, which is the key to the broadcast; nil if it has none of its own, and from a host of
    /// before.
    public var link: String?
    public var paused: Bool
    /// The holds of the host's user; nil from a host of before.
    public var holds: [BroadcastHold]?
    /// The host's user has not agreed yet to broadcast; nil if that is over, and from a host of before.
    public var asking: Bool?
    /// Since the link was printed, with pauses.
    public var elapsedSeconds: Int
    /// The viewers' sessions, and those with media flowing.
    public var viewers: Int
    public var connected: Int
    /// The relay or the service that receives it now; nil while the host sends to each viewer, and from a host of
    /// before.
    public var destination: BroadcastReceiver?
    public var audio: [Audio]
}

/// One session of a viewer.
public struct ViewerStatus: Codable, Sendable, Equatable {
    /// Stays the same as long as the session.
    public var number: Int
    public var name: String
    public var kind: String
    public var address: String
    public var words: String
    /// SHA-256 of the certificate, 64 hexadecimal digits.
    public var fingerprint: String
    /// Nil before the connection is complete.
    public var connectedSeconds: Int?
    public var interrupted: Bool
    public var path: String
    public var kilobits: Int
    /// The viewer says that it records; nil from a host of before.
    public var records: Bool?
    /// The relay sends to it; nil if this host does, and from a host of before.
    public var atRelay: Bool?
    /// Nil if it can have none, and from a host of before.
    public var rights: ViewerRights?

    init(_ viewer: ViewerSessionInfo) {
        number = viewer.number
        name = viewer.description.name
        kind = viewer.description.kind
        address = viewer.description.address
        words = viewer.description.words
        fingerprint = Self.hexadecimal(viewer.fingerprint)
        connectedSeconds = viewer.connectedFor.map { Int($0.inSeconds) }
        interrupted = viewer.isInterrupted
        path = viewer.path
        kilobits = viewer.bitrate.kilobitsPerSecond
        records = viewer.description.records
        atRelay = viewer.isAtRelay ? true : nil
        rights = viewer.rights
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A viewer that was removed.
public struct RemovedViewer: Codable, Sendable, Equatable {
    public var name: String
    public var kind: String
    public var address: String
    /// The number of sessions that ended.
    public var sessions: Int
    /// A sentence that says whether the viewer can come back, and how.
    public var readmission: String
}
