import MediaCore

/// Which streams record a target, given what the server has.
struct CapturePlan: Equatable {
    /// The origin of one recorded stream: a source, or of a monitor source one playback alone.
    struct Origin: Hashable {
        /// The name of the source.
        var source: String
        /// The index of a sink input that plays on the monitored sink.
        var playback: UInt32?
    }

    struct Stream: Equatable {
        var origin: Origin
        /// Whether anything plays; the stream is corked otherwise.
        var isPlaying: Bool
    }

    /// More playbacks than this are not recorded at once; those that play come first.
    static let maximumStreams = 16

    var streams: [Stream] = []
    /// A description for people.
    var summary: String
    /// Why a device cannot be recorded.
    var failure: SourceFailure?
    /// A sentence for people, while there is nothing to record yet.
    var notice: String?

    init(_ target: CaptureTarget, _ server: ServerSnapshot) {
        summary = target.summary
        switch target {
        case .systemAudio: planSystemAudio(server)
        case .application(let name): planApplication(name, server)
        case .microphone(let name): planMicrophone(name, server)
        }
    }

    /// The monitor of the default sink costs one stream whatever plays. While a viewer's stream is there, even corked,
    /// the other streams are recorded one by one instead.
    private mutating func planSystemAudio(_ server: ServerSnapshot) {
        guard let sink = server.sinks.first(where: { $0.name == server.defaultSink }), let monitor = sink.monitor else {
            return
        }
        summary = "what plays on \(sink.description)"
        let playbacks = server.playbacks.filter { $0.sink == sink.index }
        let others = playbacks.filter { !$0.isOwn }
        if others.count < playbacks.count {
            record(others, server)
        } else {
            streams = [
                Stream(origin: Origin(source: monitor), isPlaying: others.contains { !$0.isCorked })
            ]
        }
    }

    private mutating func planApplication(_ name: String, _ server: ServerSnapshot) {
        let all = server.playbacks.filter { !$0.isOwn }
        let wanted = all.filter { $0.matches(name) }
        record(wanted, server)
        if let first = wanted.first {
            summary = "what \(first.application.title) plays"
            return
        }
        var others: [String] = []
        for title in all.map(\.application.title) where !others.contains(title) { others.append(title) }
        notice =
            "\"\(name)\" plays nothing at present; its audio is shared as soon as it plays. "
            + (others.isEmpty ? "No application plays now." : "These play now: \(others.joined(separator: ", ")).")
    }

    private mutating func record(_ playbacks: [ServerSnapshot.Playback], _ server: ServerSnapshot) {
        let first = playbacks.filter { !$0.isCorked } + playbacks.filter(\.isCorked)
        streams = first.prefix(Self.maximumStreams).compactMap { playback in
            guard let monitor = server.sinks.first(where: { $0.index == playback.sink })?.monitor else { return nil }
            return Stream(
                origin: Origin(source: monitor, playback: playback.index), isPlaying: !playback.isCorked)
        }
    }

    private mutating func planMicrophone(_ wanted: String?, _ server: ServerSnapshot) {
        let microphones = server.microphones
        let found: ServerSnapshot.Source
        if let wanted {
            guard
                let match = server.sources.first(where: { $0.name == wanted })
                    ?? server.sources.first(where: { $0.description.lowercased() == wanted.lowercased() })
            else {
                let list = microphones.map { "\($0.name) (\($0.description))" }.joined(separator: ", ")
                failure = SourceFailure(
                    .noSuchDevice, "There is no microphone \"\(wanted)\".",
                    remedy: list.isEmpty ? "No microphone is connected." : "These exist: \(list).")
                return
            }
            found = match
        } else {
            guard
                let microphone = microphones.first(where: { $0.name == server.defaultSource }) ?? microphones.first
            else {
                failure = SourceFailure(
                    .noSuchDevice, "No microphone is connected.", remedy: "Connect one, or share without a microphone.")
                return
            }
            found = microphone
        }
        summary = found.description
        streams = [Stream(origin: Origin(source: found.name), isPlaying: true)]
    }
}

extension CapturePlan.Origin {
    /// All of a source.
    init(source: String) { self.init(source: source, playback: nil) }
}
