import HTTP
import MediaCore
import PeerConnection
import Signaling
import Testing
import Wording

@testable import CommandSupport

/// What programs and people get of a notice.
@Suite struct NoticeTests {
    private static let failure = SourceFailure(.deviceGone, "It was unplugged.", remedy: "Plug it in.")
    private static let reason = EndReason(.connectionLost, "the relay has gone")
    private static let error = SignalingError(.busy, "no more")

    private static let all: [Notice] = [
        .relay(.interrupted(relay: "R", .viewer)), .relay(.connected(relay: "R")),
        .relay(.tunnelEnded(reason: "it stopped")), .relay(.registrationLost(reason: "it stopped")),
        .relay(.registrationReplaced), .relay(.registrationRefused(reason: "unknown")),
        .relay(.registrationFailed(reason: "silent")), .relay(.registered),
        .relay(.notListed(by: "R", reason: "full")), .relay(.publicationLost(reason)),
        .relay(.publicationMoved(relay: "r.example:443")), .relay(.lineLimit(viewers: 12)),
        .relay(.handoverFailed(relay: "R", reason)), .machine(.fewDescriptors(limit: 256)), .machine(.loopbackOnly),
        .machine(.listeningFailed(.viewer)),
        .machine(.serverUnused(reason: "stun:a has no address")), .machine(.serverFailed(url: "stun:a", .silent)),
        .media(.audioMissing(track: "microphone", failure)),
        .media(.audioInterrupted(track: "microphone", failure)), .media(.audioEnded(track: "microphone", failure)),
        .media(.audioChanged(text: "two streams")), .media(.recordingEnded(failure)),
        .media(.tooLongPackets(limit: 1_372)), .media(.videoUnsupported(.av1)), .media(.soundMissing(reason: "none")),
        .media(.layersUnlimited(error)), .viewing(.serverBusy(server: "r.example:443", error, seconds: 3)),
        .viewing(.knockQueueFull), .viewing(.sessionLost(reason, relay: "r.example:443")),
        .viewing(.returningToHost(reason)), .viewing(.redirectFailed(relay: nil, reason)), .viewing(.framesRefused),
        .viewing(.redirected(relay: "r.example:443", isEncrypted: true)),
    ]

    /// The events of `--json` that are no notices.
    private static let taken: Set<String> = [
        "link", "knock", "accepted", "refused", "viewer-joined", "connected", "interrupted", "resumed", "viewer-left",
        "viewers", "viewer-removed", "route", "paused", "muted", "unmuted", "statistics", "countdown", "ended",
        "recorders", "layers", "first-picture", "audio-alone", "publisher-interrupted", "publisher-resumed",
        "recording", "recorded", "recording-failed", "dropped", "pairing", "paired", "pairing-refused",
        "broadcast-opened", "broadcast-closed", "application", "live", "closed", "meeting-opened", "meeting-closed",
        "draining", "listed", "certificate", "relay-joined", "relay-left", "fetched", "fetch-ended", "cluster-lost",
        "warning",
    ]

    @Test func eachHasAnEventOfItsOwn() {
        let events = Self.all.map(\.words.event)
        #expect(Set(events).count == events.count)
        #expect(Set(events).isDisjoint(with: Self.taken))
        for event in events { #expect(event.allSatisfy { $0.isLowercase || $0 == "-" }, "\(event)") }
    }

    @Test func eachHasASentenceWithItsValues() {
        for words in Self.all.map(\.words) {
            #expect(!words.sentence.isEmpty && words.sentence.last != " ", "\(words.event)")
            for (name, value) in words.values {
                switch value {
                case .text(let text): #expect(words.sentence.contains(text), "\(words.event) \(name)")
                case .number(let number): #expect(words.sentence.contains("\(number)"), "\(words.event) \(name)")
                case .boolean: break
                }
            }
        }
    }

    @Test func programsLearnThatNobodyCanJoinAnyMore() {
        let words = Notice.relay(.tunnelEnded(reason: "another program has its place")).words
        #expect(words.event == "tunnel-ended" && words.sentence.hasPrefix("nobody can join any more"))
        #expect(words.fields.map(\.0) == ["reason"])
    }

    @Test func whoCannotComeIsSaid() {
        #expect(Notice.relay(.interrupted(relay: "R", .viewer)).words.sentence.hasSuffix("nobody can join meanwhile"))
        #expect(Notice.relay(.interrupted(relay: "R", .host)).words.sentence.hasSuffix("no host can pair meanwhile"))
    }
}
