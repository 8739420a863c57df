import Admission
import CommandSupport
import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling
import Synchronization

/// Reports the host's events on stderr and as JSON on stdout.
enum HostReporter {
    private static let refusals = Mutex(RefusalCounter())

    /// Prints the number of refusals that were counted, once no more arrive. Call it each second, and at the end.
    static func settle(isEnd: Bool = false) {
        refusals.withLock { $0.settle(at: .now, isEnd: isEnd) }.report()
    }

    /// - Parameters:
    ///   - isEnding: the broadcast ends, so that it says nothing of viewers that go with it.
    ///   - takingBack: how the control is taken back.
    static func report(
        _ event: BroadcastEvent, _ output: DataOutput, isEnding: Bool = false, takingBack: String = "x"
    ) {
        switch event {
        case .sharing(let what): ErrorOutput.writeLine("share: sharing \(what)")
        case .knock(let who):
            output.event("knock", fields(who))
        case .accepted(let who, let isRemembered):
            output.event("accepted", fields(who) + [("remembered", .boolean(isRemembered))])
            if isRemembered { ErrorOutput.writeLine("share: \(title(who)) is known and was let in without a question") }
        case .refused(let who, let reason):
            output.event("refused", ["name": .string(who.name), "reason": .string(reason)])
            refusals.withLock { $0.add("\(title(who)) was not let in: \(reason)", at: .now) }.report()
        case .viewerJoined, .connected, .interrupted, .resumed, .viewerLeft, .viewerRemoved:
            reportSession(event, output, isEnding: isEnding)
        case .viewerCount(let viewers): output.event("viewers", ["viewers": .integer(viewers)])
        case .routeChanged(let isOverRelay, let relay, let isSealed):
            output.event(
                "route",
                [
                    "route": .string(isOverRelay ? "relay" : "direct"), "relay": .string(relay),
                    "encrypted": .boolean(isSealed),
                ])
            let sight = isSealed ? "but cannot watch" : "and can watch; --route direct prevents that"
            ErrorOutput.writeLine(
                isOverRelay
                    ? "share: \(relay) sends to the viewers from now on, \(sight)"
                    : "share: this machine sends to each viewer again")
        case .linkChanged(let link, let isFirst):
            output.eventAfterLink("link-changed", [("link", .string(link.text)), ("first", .boolean(isFirst))])
            ErrorOutput.writeLine(
                isFirst
                    ? "share: the first link works again: \(link.text)"
                    : "share: who wants to join now needs this link, until the first relay is back: \(link.text)")
        case .comment, .rightsChanged: reportMessage(event, output)
        case .controlChanged(let change): report(change, output, takingBack)
        case .holdChanged(let change): report(change, output)
        case .audioMuted(let kind, let isMuted):
            output.event(isMuted ? "muted" : "unmuted", ["track": .string(kind.rawValue)])
            ErrorOutput.writeLine("share: the \(kind.audioName) is \(isMuted ? "muted" : "on again")")
        case .notice(let notice): output.notice(notice)
        case .ended: break
        }
    }

    /// Prints what a viewer says, or what it may do from now on.
    private static func reportMessage(_ event: BroadcastEvent, _ output: DataOutput) {
        switch event {
        case .comment(let comment, let who):
            output.event(
                "comment", ["from": who.map { .string($0.name) } ?? .null, "text": .string(comment.text)])
            ErrorOutput.writeLine(
                who.map { "share: \(UntrustedText.quote($0.name)) says: \(comment.text)" }
                    ?? "share: said to all viewers: \(comment.text)")
        case .rightsChanged(let who, let rights):
            output.event(
                "rights",
                [("name", .string(who.name))] + rights.fields.map { ($0, $1) })
            let granted = ViewerRight.allCases.filter { rights[$0] == .yes }.map(\.rawValue)
            ErrorOutput.writeLine(
                "share: \(title(who)) may \(granted.isEmpty ? "only watch" : granted.joined(separator: ", ")) from now on"
            )
        default: break
        }
    }

    private static func report(_ change: ControlChange, _ output: DataOutput, _ takingBack: String) {
        let who = title(change.viewer)
        guard let end = change.end else {
            output.event("control", ["name": .string(change.viewer.name), "state": .string("begun")])
            return ErrorOutput.writeLine("share: \(who) controls this screen; \(takingBack) takes it back")
        }
        output.event(
            "control",
            [
                "name": .string(change.viewer.name), "state": .string(end.rawValue),
                "inputs": .integer(change.inputs), "dropped": .integer(change.dropped),
            ])
        let reason =
            switch end {
            case .released: "has given the control back"
            case .takenBack: "does not control this screen any more"
            case .passedOn: "does not control this screen any more: another viewer does"
            case .held: "does not control this screen any more, as nothing of it is shown"
            case .lost: "does not control this screen any more: the connection is lost"
            }
        ErrorOutput.writeLine("share: \(who) \(reason)")
    }

    private static func report(_ change: BroadcastHoldChange, _ output: DataOutput) {
        let hold = change.hold
        guard let duration = change.duration else {
            output.event(hold.participle)
            let meaning =
                switch hold {
                case .pause: "nothing is captured"
                case .freeze: "the viewers keep the last frame, and hear what goes on"
                case .blank: "the viewers see a grey picture, and nothing is captured"
                }
            return ErrorOutput.writeLine("share: \(hold.participle): \(meaning); share \(hold.ending) continues")
        }
        output.event(hold.endingParticiple, [hold.participle + "Ms": .init(milliseconds: duration.inMilliseconds)])
        let rest = change.effective.map { ", and still \($0.participle)" } ?? ""
        ErrorOutput.writeLine("share: \(hold.endingParticiple)\(rest)")
    }

    /// Prints an event of one viewer's session.
    private static func reportSession(_ event: BroadcastEvent, _ output: DataOutput, isEnding: Bool) {
        switch event {
        case .viewerJoined(let who, let viewers):
            output.event(
                "viewer-joined",
                [
                    "name": .string(who.name), "kind": .string(who.kind), "viewers": .integer(viewers),
                    "records": .boolean(who.records),
                ])
        case .connected(let who, let path):
            output.event("connected", ["name": .string(who.name), "path": .string(path)])
            ErrorOutput.writeLine(
                "share: \(title(who)) \(["service", "extension"].contains(who.kind) ? "receives the broadcast" : who.records ? "watches and records" : "watches")"
            )
        case .interrupted(let who):
            output.event("interrupted", ["name": .string(who.name)])
            ErrorOutput.writeLine("share: no packets from \(title(who)); waiting 30 s")
        case .resumed(let who, let path, let silence):
            output.event(
                "resumed",
                [
                    "name": .string(who.name), "path": .string(path),
                    "afterMs": .init(milliseconds: silence.inMilliseconds),
                ])
            ErrorOutput.writeLine("share: \(title(who)) watches again")
        case .viewerLeft(let who, let reason, let viewers):
            output.event(
                "viewer-left",
                [
                    "name": .string(who.name), "reason": .string(reason.sentence),
                    "code": .string(reason.code.rawValue),
                    "viewers": .integer(viewers),
                ])
            if isEnding { return }
            if reason == .moved {
                ErrorOutput.writeLine("share: \(title(who)) watches at the relay from now on")
            } else if reason.code == .viewerLeft, reason != .replaced {
                ErrorOutput.writeLine("share: \(title(who)) has left")
            } else if reason != .replaced, reason.code != .removed {
                ErrorOutput.writeLine("share: \(title(who)) has gone: \(reason.sentence)")
            }
            if !reason.remedy.isEmpty { ErrorOutput.writeLine("       \(reason.remedy)") }
        case .viewerRemoved(let who, let sessions):
            output.event(
                "viewer-removed",
                ["name": .string(who.name), "address": .string(who.address), "sessions": .integer(sessions)])
            ErrorOutput.writeLine("share: \(title(who)) was removed")
        default: break
        }
    }

    static func report(_ statistics: HostStatistics, _ output: DataOutput) {
        output.event(
            "statistics",
            [
                "viewers": .integer(statistics.viewers), "connected": .integer(statistics.connected),
                "destination": statistics.destination.map { .string($0.name) } ?? .null,
                "encrypted": statistics.destination.map { .boolean($0.isEncrypted == true) } ?? .null,
                "paused": .boolean(statistics.isPaused),
                "holds": .list(BroadcastHold.allCases.filter(statistics.holds.contains).map { .string($0.rawValue) }),
                "muted": .list(statistics.audio.filter(\.isMuted).map { .string($0.kind.rawValue) }),
                "levels": .list(
                    statistics.audio.map { track in
                        .object([
                            "track": .string(track.kind.rawValue),
                            "level": track.level.map { .number(($0 * 10).rounded() / 10) } ?? .null,
                        ])
                    }),
                "frames": .integer(statistics.video.frames), "keyframes": .integer(statistics.video.keyframes),
                "refinements": .integer(statistics.video.refinements), "skipped": .integer(statistics.video.skipped),
                "baseViewers": .integer(statistics.baseViewers), "lowViewers": .integer(statistics.lowViewers),
                "upperLayerFrames": .integer(statistics.video.upperLayerFrames),
                "lowFrames": .integer(statistics.video.lowFrames),
                "width": .integer(statistics.video.size.width), "height": .integer(statistics.video.size.height),
                "encodedBytes": .integer(statistics.video.bytes), "sentBytes": .integer(statistics.sent.bytes),
                "sentPackets": .integer(statistics.sent.packets),
                "retransmissions": .integer(statistics.sent.retransmissions),
                "encodeMs": .init(milliseconds: Double(statistics.video.encodeNanoseconds) / 1e6),
                "readMs": .init(milliseconds: Double(statistics.video.readNanoseconds) / 1e6),
                "estimateKbit": statistics.paths.estimate.map { .integer($0.kilobitsPerSecond) } ?? .null,
                "roundTripMs": .init(milliseconds: statistics.paths.roundTrip?.inMilliseconds),
                "limit": statistics.paths.qualityLimitationReason.map { .string($0) } ?? .null,
                "badPackets": .integer(statistics.sent.badPackets),
                "queueMs": .init(milliseconds: statistics.paths.backlog?.inMilliseconds),
                "loss": .number((statistics.paths.fractionLost * 10_000).rounded() / 10_000),
                "routes": .list(statistics.routes.map { .string($0) }),
                "layers": .list(statistics.layers.map { .string($0.rawValue) }),
                "freezes": .integer(statistics.sent.freezes),
                "freezeMs": .init(milliseconds: statistics.sent.freezeTime.inMilliseconds),
                "keyframeRequests": .integer(statistics.sent.keyframeRequests),
                "recoveries": .integer(statistics.video.recoveries),
            ])
    }

    private static func fields(_ who: ViewerDescription) -> [(String, JSONValue)] {
        [
            ("name", .string(who.name)), ("kind", .string(who.kind)), ("address", .string(who.address)),
            ("words", .string(who.words)), ("records", .boolean(who.records)),
            ("announced", .boolean(who.isFromAnnouncement)),
        ]
    }

    private static func title(_ who: ViewerDescription) -> String {
        "\(UntrustedText.quote(who.name)) (\(who.kind), \(who.address))"
    }
}

extension MediaTrackKind {
    /// The track's name in a sentence.
    var audioName: String { self == .microphoneAudio ? "microphone" : "system audio" }
}
