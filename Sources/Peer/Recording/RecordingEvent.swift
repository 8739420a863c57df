public import MediaCore

/// A file of a recording.
public struct RecordedFile: Equatable, Sendable {
    public var path: String
    /// The playing time.
    public var duration: MediaDuration
    public var bytes: Int

    public init(path: String, duration: MediaDuration, bytes: Int) {
        self.path = path
        self.duration = duration
        self.bytes = bytes
    }
}

/// An event of a `Recorder`, emitted on the disk thread.
public enum RecordingEvent: Sendable {
    /// The first frame or packet of a file is written.
    case started(path: String)
    /// A file is complete.
    case finished(RecordedFile)
    /// The recording has ended, as its file cannot be written. What was written before is kept, and was reported with
    /// `finished`. The session goes on.
    case failed(RecordingFailure)
    /// The disk was too slow: so many frames and packets have been dropped so far.
    case dropped(Int)
}

/// The reason why a recording has ended.
public struct RecordingFailure: Error, Equatable, Sendable {
    /// A phrase for people.
    public var message: String
    /// Advice to the user; may be empty.
    public var remedy: String

    public init(_ message: String, remedy: String = "") {
        self.message = message
        self.remedy = remedy
    }
}

/// The counters of a `Recorder`.
public struct RecordingStatistics: Equatable, Sendable {
    /// Frames and packets that were written.
    public var frames = 0
    public var packets = 0
    /// Frames and packets that the queue had no room for.
    public var dropped = 0
    /// Packets that came after their place in the file.
    public var latePackets = 0
    /// Of all files.
    public var bytes = 0
    public var duration: MediaDuration = .zero
}
