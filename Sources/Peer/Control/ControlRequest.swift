import FoundationEssentials
public import MediaCore

/// A request to a running broadcast, from a program of the same user: one line of JSON at its control socket.
///
///     {"version":1,"command":"remove","viewer":"Ann"}
public struct ControlRequest: Sendable, Equatable {
    public enum Command: Sendable, Equatable {
        case status
        case stop
        /// Begins a hold, or ends it.
        case hold(BroadcastHold, Bool)
        /// Mutes audio tracks, or ends that; nil for all.
        case setMuted([AudioTrackName]?, Bool)
        case viewers
        /// Removes the viewer with this name, number, or beginning of the fingerprint.
        case remove(String)
        /// Grants a viewer, named as for `remove`, a right, or takes it back.
        case setRight(ViewerRight, isGranted: Bool, viewer: String)
        /// Writes a comment for all viewers.
        case say(String)
        /// Changes the camera, or asks for its state.
        case camera(CameraRequest)
        /// Saves the last seconds to a file.
        case clip(ClipRequest)
    }

    /// The version of the protocol.
    public static let version = 1

    public var command: Command

    public init(_ command: Command) { self.command = command }

    // MARK: JSON

    private struct Document: Codable {
        var version: Int
        var command: String
        var tracks: [AudioTrackName]?
        var viewer: String?
        var right: ViewerRight?
        var text: String?
        var clip: ClipRequest?
        var camera: CameraRequest?
    }

    /// One line, without its end.
    public var text: String {
        var document = Document(version: Self.version, command: "")
        switch command {
        case .status: document.command = "status"
        case .stop: document.command = "stop"
        case .hold(let hold, let isOn): document.command = isOn ? hold.rawValue : hold.ending
        case .setMuted(let tracks, let isMuted):
            document.command = isMuted ? "mute" : "unmute"
            document.tracks = tracks
        case .viewers: document.command = "viewers"
        case .remove(let viewer):
            document.command = "remove"
            document.viewer = viewer
        case .setRight(let right, let isGranted, let viewer):
            document.command = isGranted ? "grant" : "revoke"
            (document.right, document.viewer) = (right, viewer)
        case .say(let text):
            document.command = "say"
            document.text = text
        case .camera(let camera):
            document.command = "camera"
            document.camera = camera
        case .clip(let clip):
            document.command = "clip"
            document.clip = clip
        }
        return ControlJSON.text(document)
    }

    /// - Throws: `.malformed`, `.version` or `.unknownCommand`.
    public init(parsing text: String) throws(ControlError) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(text.utf8)) else {
            throw ControlError(.malformed, "the request is not JSON as the protocol has it")
        }
        guard document.version == Self.version else {
            throw ControlError(.version, "this host speaks version \(Self.version) of the protocol")
        }
        switch document.command {
        case "status": command = .status
        case "stop": command = .stop
        case "mute": command = .setMuted(document.tracks, true)
        case "unmute": command = .setMuted(document.tracks, false)
        case "viewers": command = .viewers
        case "remove":
            guard let viewer = document.viewer, !viewer.isEmpty else {
                throw ControlError(.malformed, "the request names no viewer")
            }
            command = .remove(viewer)
        case "grant", "revoke":
            guard let viewer = document.viewer, !viewer.isEmpty, let right = document.right else {
                throw ControlError(.malformed, "the request names no viewer, or no right")
            }
            command = .setRight(right, isGranted: document.command == "grant", viewer: viewer)
        case "say":
            guard let text = document.text else { throw ControlError(.malformed, "the request has no text") }
            command = .say(text)
        case "camera": command = .camera(document.camera ?? CameraRequest())
        case "clip":
            guard let clip = document.clip, clip.isValid else {
                throw ControlError(.malformed, "the request names no absolute path, or no length of a clip")
            }
            command = .clip(clip)
        default:
            if let hold = BroadcastHold(rawValue: document.command) {
                command = .hold(hold, true)
            } else if let hold = BroadcastHold.allCases.first(where: { $0.ending == document.command }) {
                command = .hold(hold, false)
            } else {
                throw ControlError(.unknownCommand, "this host knows no such command")
            }
        }
    }
}

/// The audio tracks by the names that viewers see, too.
public enum AudioTrackName: String, Codable, Sendable, CaseIterable {
    case microphone
    case system
}

/// The reason why a request was refused.
public struct ControlError: Error, Sendable, Equatable {
    public enum Code: String, Codable, Sendable {
        case malformed
        case version
        case unknownCommand = "unknown-command"
        /// No viewer, or no audio track, is meant.
        case unknown
        /// More than one viewer is meant; the answer lists them.
        case ambiguous
        /// The broadcast is ending.
        case ended
        /// The operation did not succeed; the message says why.
        case failed
    }
    public var code: Code
    /// A sentence for people, without a full stop.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

enum ControlJSON {
    /// JSON on one line, with sorted keys.
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
