import CommandSupport
import LinuxRuntime
import MediaCore
import ShareKit
import Signaling
import Viewer

/// The printed form of an event: a JSON event, and a sentence on stderr.
struct EventLine {
    let event: String
    let fields: [(String, JSONValue)]
    /// Nil: people are told nothing.
    let sentence: String?

    init(_ event: String, _ fields: KeyValuePairs<String, JSONValue> = [:], _ sentence: String? = nil) {
        self.event = event
        self.fields = fields.map { ($0, $1) }
        self.sentence = sentence
    }

    init(_ event: String, _ sentence: String) { self.init(event, [:], sentence) }
}

extension DataOutput {
    func write(_ line: EventLine) {
        event(line.event, line.fields)
        if let sentence = line.sentence { ErrorOutput.writeLine("share: \(sentence)") }
    }
}

extension ViewerSessionEvent {
    /// Nil: the event is not printed, or is a notice.
    var line: EventLine? {
        switch self {
        case .knocking(let words):
            EventLine(
                "knock", ["words": .string(words)], "waiting for the host to let you in; your words are: \(words)")
        case .accepted: EventLine("accepted")
        case .connected(let path): EventLine("connected", ["path": .string(path)], "connected (\(path))")
        case .interrupted: EventLine("interrupted", "no packets from the host; reconnecting for 30 s")
        case .resumed(let path, let silence):
            EventLine(
                "resumed", ["path": .string(path), "afterMs": .init(milliseconds: silence.inMilliseconds)],
                "connected again (\(path))")
        case .publisherInterrupted:
            EventLine("publisher-interrupted", ViewerReporter.interruptionSentence)
        case .publisherResumed: EventLine("publisher-resumed", "the host sends to the relay again")
        case .broadcastHeld(let hold):
            EventLine("paused", ["hold": .string(hold.rawValue)], hold.sentenceForViewers)
        case .broadcastResumed: EventLine("resumed", "the host has resumed the broadcast")
        case .hostEvent(let event): event.line
        case .named, .waiting, .notice: nil
        }
    }
}

extension BroadcastHold {
    var sentenceForViewers: String {
        switch self {
        case .pause: "the host has paused the broadcast"
        case .freeze: "the host has frozen the picture"
        case .blank: "the host has hidden the picture"
        }
    }
}

extension HostEvent {
    /// Nil: the session acts on the event, and reports what it does.
    fileprivate var line: EventLine? {
        switch self {
        case .viewerCount(let count): EventLine("viewers", ["viewers": .integer(count)])
        case .recorderCount(let count):
            EventLine(
                "recorders", ["recorders": .integer(count)],
                count > 0 ? "a viewer records this session" : "no viewer records any more")
        case .viewers(let watching):
            EventLine(
                "watching",
                ["names": .list(watching.names.map { .string($0) }), "viewers": .integer(watching.count)],
                watching.sentence)
        case .comment(let comment):
            EventLine(
                "comment", ["from": comment.from.map { .string($0) } ?? .null, "text": .string(comment.text)],
                "\(comment.from.map { UntrustedText.quote($0) } ?? "the host") says: \(comment.text)")
        case .rights(let rights): EventLine("rights", rights.rights.fields, rights.rights.sentenceForViewer)
        case .pointers(let events):
            EventLine(
                "pointers", ["from": .list(Set(events.pointers.map(\.from)).sorted().map { .string($0) })])
        case .controller(let controller):
            EventLine(
                "control", ["by": controller.by.map { .string($0) } ?? .null],
                controller.by.map { "\(UntrustedText.quote($0)) controls the host's screen" }
                    ?? "no viewer controls the host's screen any more")
        case .layers(let found): EventLine("layers", ["layers": .list(found.layers.map(\.json))])
        case .ended, .removed, .active, .inactive, .held, .resumed, .candidates, .alternates, .reconnect,
            .returnToHost, .keys, .sealed, .sealedRights, .other:
            nil
        }
    }
}

extension WatchingNames {
    fileprivate var sentence: String {
        let others = count - names.count
        let named = names.map { UntrustedText.quote($0) } + (others > 0 ? ["\(others) more"] : [])
        guard let last = named.last else { return "nobody watches" }
        let list = named.count > 1 ? named.dropLast().joined(separator: ", ") + " and " + last : last
        return "\(list) \(count == 1 ? "watches" : "watch")"
    }
}

extension ViewerRights {
    /// Nil: there is nothing that this viewer can do about it.
    fileprivate var sentenceForViewer: String? {
        switch comment {
        case .yes: "you can write comments: type a line here"
        case .ask: "a line that you type here asks the host whether you may write comments"
        case .no: nil
        }
    }
}

extension VideoLayer {
    fileprivate var json: JSONValue {
        .object([
            "layer": .integer(Int(temporalLayer)), "bitrateKbit": .integer(bitrate.kilobitsPerSecond),
            "width": size.map { .integer($0.width) } ?? .null, "height": size.map { .integer($0.height) } ?? .null,
        ])
    }
}
