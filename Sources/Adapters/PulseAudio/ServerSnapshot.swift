/// What a sound server had at one moment: its devices, and the streams that play.
struct ServerSnapshot: Equatable, Sendable {
    /// An output device.
    struct Sink: Equatable, Sendable {
        var index: UInt32
        var name: String
        var description: String
        /// The source that records what plays on it; nil if it has none.
        var monitor: String?
    }

    /// An input device: a microphone, or the monitor of a sink.
    struct Source: Equatable, Sendable {
        var name: String
        var description: String
        var isMonitor: Bool
    }

    /// A stream that an application plays (a sink input).
    struct Playback: Equatable, Sendable {
        var index: UInt32
        /// The index of the sink that it plays on.
        var sink: UInt32
        /// The application has paused it.
        var isCorked = false
        var application = ApplicationIdentity()
        /// What it plays: the title of a song or page, or whatever the application says.
        var title: String?
        /// It plays a broadcast that somebody watches with `share join`.
        var isOwn = false
    }

    var defaultSink: String?
    var defaultSource: String?
    var sinks: [Sink] = []
    var sources: [Source] = []
    var playbacks: [Playback] = []

    var microphones: [Source] { sources.filter { !$0.isMonitor } }
}

/// How the sound server knows an application.
struct ApplicationIdentity: Hashable, Sendable {
    /// `application.name`, for people: "Firefox".
    var name: String?
    /// `application.process.binary`: "firefox".
    var program: String?
    /// `application.id`: "org.mozilla.firefox".
    var identifier: String?
    /// `application.process.id`, in decimal.
    var process: String?

    /// The name for people.
    var title: String { name ?? program ?? identifier ?? process.map { "process \($0)" } ?? "an application" }

    /// - Parameter wanted: an application's name, program, identifier or process id, without regard to case. Whole
    ///   words at the beginning of the name are enough: "vlc" is "VLC media player".
    func matches(_ wanted: String) -> Bool {
        let wanted = wanted.lowercased()
        if [name, program, identifier, process].contains(where: { $0?.lowercased() == wanted }) { return true }
        guard let name = name?.lowercased(), name.hasPrefix(wanted), !wanted.isEmpty else { return false }
        return name.dropFirst(wanted.count).first.map { !$0.isLetter && !$0.isNumber } ?? true
    }
}

extension ServerSnapshot.Playback {
    /// - Parameter wanted: as for an application; the stream's whole title counts, too.
    func matches(_ wanted: String) -> Bool {
        application.matches(wanted) || title?.lowercased() == wanted.lowercased()
    }
}
