public import MediaCore

/// Saves clips of a session for other programs of the user.
public struct ClipControl: Sendable {
    /// The name of the session whose last seconds are kept: "Ann's screen".
    public var name: @Sendable () -> String
    /// The length that a clip could have now, and the longest one.
    public var status: @Sendable () -> (available: MediaDuration, length: MediaDuration)
    /// Saves the last seconds (nil: all that is kept) to a new file, or into a folder.
    public var save: @Sendable (_ length: MediaDuration?, _ path: String) async throws(ControlError) -> SavedClip

    public init(
        name: @escaping @Sendable () -> String,
        status: @escaping @Sendable () -> (available: MediaDuration, length: MediaDuration),
        save: @escaping @Sendable (_ length: MediaDuration?, _ path: String) async throws(ControlError) -> SavedClip
    ) {
        self.name = name
        self.status = status
        self.save = save
    }

    func save(_ request: ClipRequest) async throws(ControlError) -> SavedClip {
        try await save(request.seconds.map { MediaDuration(nanoseconds: Int64($0 * 1e9)) }, request.file)
    }

    var state: ClipStatus {
        let (available, length) = status()
        return ClipStatus(
            name: UntrustedText.clean(name(), fallback: "share"), availableSeconds: available.inSeconds,
            lengthSeconds: length.inSeconds)
    }
}

/// The wanted length and file of a clip.
public struct ClipRequest: Codable, Sendable, Equatable {
    /// The last seconds; nil: all that is kept.
    public var seconds: Double?
    /// An absolute path: of a file that does not exist yet, or of a folder.
    public var file: String

    public init(seconds: Double?, file: String) {
        self.seconds = seconds
        self.file = file
    }

    /// A day is more than any buffer keeps.
    var isValid: Bool { seconds.map { $0 > 0 && $0 <= 86_400 } ?? true && file.hasPrefix("/") }
}

/// The buffer for clips of a session.
public struct ClipStatus: Codable, Sendable, Equatable {
    /// Of the broadcast; not verified.
    public var name: String
    public var availableSeconds: Double
    public var lengthSeconds: Double
}

public struct SavedClip: Codable, Sendable, Equatable {
    public var file: String
    public var seconds: Double
    public var bytes: Int

    public init(file: String, seconds: Double, bytes: Int) {
        self.file = file
        self.seconds = seconds
        self.bytes = bytes
    }
}

/// Meets the requests of other programs of the user to a running viewer, which keeps clips. Safe from any thread.
public final class ViewerControl: Sendable {
    private let clips: ClipControl

    public init(_ clips: ClipControl) { self.clips = clips }

    /// Answers one line of a control socket.
    public func answer(_ line: String) async -> String {
        do throws(ControlError) {
            var answer = ControlAnswer()
            switch try ControlRequest(parsing: line).command {
            case .status: break
            case .clip(let request): answer.clip = try await clips.save(request)
            default: throw ControlError(.unknownCommand, "this is a viewer, and no host")
            }
            answer.clips = clips.state
            return answer.text
        } catch {
            return ControlAnswer(error).text
        }
    }
}
