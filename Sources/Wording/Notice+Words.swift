import MediaCore
package import PeerConnection
import Signaling

/// A notice for people and for programs.
package struct NoticeWords: Sendable {
    package enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
        /// The sentence says it in words.
        case boolean(Bool)
    }

    /// The name of the event in `--json`.
    package let event: String
    package let sentence: String
    /// The members of the event.
    package let values: [(String, Value)]

    fileprivate init(_ event: String, _ sentence: String, _ values: [(String, Value)] = []) {
        (self.event, self.sentence, self.values) = (event, sentence, values)
    }

    fileprivate init(_ event: String, _ sentence: String, of track: String, _ failure: SourceFailure) {
        let reason = failure.remedy.isEmpty ? failure.message : "\(failure.message) \(failure.remedy)"
        self.init(event, sentence + reason, [("track", .text(track)), ("reason", .text(failure.message))])
    }
}

extension Notice {
    package var words: NoticeWords {
        switch self {
        case .relay(let notice): notice.words
        case .machine(let notice): notice.words
        case .media(let notice): notice.words
        case .viewing(let notice): notice.words
        }
    }
}

extension Notice.Guest {
    /// What cannot happen without a way for these peers.
    fileprivate var missing: String {
        switch self {
        case .viewer: "nobody can join"
        case .host: "no host can pair"
        }
    }
}

extension Notice.Relay {
    fileprivate var words: NoticeWords {
        switch self {
        case .interrupted(let relay, let guest):
            .init(
                "relay-interrupted",
                "the connection to \(relay) is interrupted: \(guest.missing) meanwhile",
                [("relay", .text(relay))])
        case .connected(let relay):
            .init("relay-connected", "connected to \(relay) again", [("relay", .text(relay))])
        case .tunnelEnded(let reason):
            .init("tunnel-ended", "nobody can join any more: \(reason)", [("reason", .text(reason))])
        case .registrationLost(let reason):
            .init(
                "registration-lost", "no host can pair now: \(reason); registering at the relay again",
                [("reason", .text(reason))])
        case .registrationReplaced:
            .init(
                "registration-replaced",
                "no host can pair any more: another program with the same identity has its tunnel at the relay")
        case .registrationRefused(let reason):
            .init(
                "registration-refused", "no host can pair any more: the relay does not take this service: \(reason)",
                [("reason", .text(reason))])
        case .registrationFailed(let reason):
            .init("registration-failed", "not registered yet: \(reason)", [("reason", .text(reason))])
        case .registered: .init("registered", "registered at the relay again")
        case .notListed(let name, let reason):
            .init(
                "not-listed", "\(name) does not list this broadcast: \(reason)",
                [("by", .text(name)), ("reason", .text(reason))])
        case .publicationLost(let reason):
            .init("publication-lost", "\(reason.sentence): trying other relays", [("reason", .text(reason.sentence))])
        case .publicationMoved(let relay):
            .init("publication-moved", "going on at the relay at \(relay)", [("relay", .text(relay))])
        case .lineLimit(let viewers):
            .init(
                "line-limit", "this machine's line is too slow for \(viewers) viewers", [("viewers", .number(viewers))])
        case .handoverFailed(let relay, let reason):
            .init(
                "handover-failed", "\(relay) does not send to the viewers: \(reason.sentence)",
                [("relay", .text(relay)), ("reason", .text(reason.sentence))])
        }
    }
}

extension Notice.Machine {
    fileprivate var words: NoticeWords {
        switch self {
        case .fewDescriptors(let limit):
            .init(
                "few-descriptors",
                "this process may open \(limit) files only, which limits viewers and connections: "
                    + "raise the hard limit (ulimit -Hn)",
                [("limit", .number(limit))])
        case .loopbackOnly:
            .init(
                "loopback-only",
                "this machine has no address but loopback, which Firefox and GStreamer do not use for media: "
                    + "watch with share join or Chromium")
        case .listeningFailed(let guest):
            .init(
                "listening-failed",
                "the listening socket has failed, and \(guest.missing) any more: start anew")
        case .serverUnused(let reason): .init("server-unused", reason, [("reason", .text(reason))])
        case .serverFailed(let url, let finding):
            .init(
                "server-failed", "\(url) \(finding.words): \(finding.remedy)",
                [("url", .text(url)), ("reason", .text(finding.words))])
        }
    }
}

extension Notice.Media {
    fileprivate var words: NoticeWords {
        switch self {
        case .audioMissing(let track, let failure):
            .init("audio-missing", "without \(track). ", of: track, failure)
        case .audioInterrupted(let track, let failure):
            .init(
                "audio-interrupted",
                failure.code == .deviceGone ? "the \(track) has gone: " : "without \(track) for now. ",
                of: track, failure)
        case .audioEnded(let track, let failure):
            .init(
                "audio-ended", "the \(track) has gone: \(failure.message)",
                [("track", .text(track)), ("reason", .text(failure.message))])
        case .audioChanged(let text): .init("audio-changed", text, [("text", .text(text))])
        case .recordingEnded(let failure):
            .init(
                "recording-ended", "nothing is recorded any more: \(failure.message)",
                [("reason", .text(failure.message))])
        case .tooLongPackets(let limit):
            .init(
                "too-long-packets",
                "the sender's video packets are too long, and are left out: their payloads have more than "
                    + "\(limit) bytes (1,200 are usual)",
                [("limit", .number(limit))])
        case .videoUnsupported(let codec):
            .init(
                "video-unsupported", "\(codec.rawValue) video cannot be shown here", [("codec", .text(codec.rawValue))])
        case .soundMissing(let reason): .init("sound-missing", "no sound: \(reason)", [("reason", .text(reason))])
        case .layersUnlimited(let error):
            .init("layers-unlimited", "all layers of the video come: \(error)", [("reason", .text("\(error)"))])
        }
    }
}

extension Notice.Viewing {
    fileprivate var words: NoticeWords {
        switch self {
        case .serverBusy(let server, let error, let seconds):
            .init(
                "server-busy", "\(server) is busy (\(error)); asking again in \(seconds) s",
                [("server", .text(server)), ("reason", .text("\(error)")), ("seconds", .number(seconds))])
        case .knockQueueFull:
            .init(
                "knock-queue-full", "others are waiting for the host's answer; asking again until there is room")
        case .sessionLost(let reason, let relay):
            .init(
                "session-lost", "\(reason.sentence): trying the relay at \(relay)",
                [("reason", .text(reason.sentence)), ("relay", .text(relay))])
        case .returningToHost(let reason):
            .init(
                "returning-to-host", "\(reason.sentence): going back to the host",
                [("reason", .text(reason.sentence))])
        case .redirectFailed(let relay, let reason):
            .init(
                "redirect-failed",
                relay.map { "the relay at \($0) does not send (\(reason.sentence)): watching at the host itself" }
                    ?? "the host does not send itself (\(reason.sentence)): watching at the relay",
                Self.server(relay) + [("reason", .text(reason.sentence))])
        case .redirected(let relay, let isEncrypted):
            .init(
                "redirected",
                relay.map {
                    "the host sends over the relay at \($0) from now on"
                        + (isEncrypted ? ", encrypted from end to end" : "; the relay can watch")
                } ?? "the host sends itself again from now on",
                Self.server(relay) + (relay == nil ? [] : [("encrypted", .boolean(isEncrypted))]))
        case .framesRefused:
            .init(
                "frames-refused",
                "the relay sends pictures that are not the host's; they are not shown: somebody may be tampering")
        }
    }

    private static func server(_ relay: String?) -> [(String, NoticeWords.Value)] {
        relay.map { [("relay", .text($0))] } ?? []
    }
}
