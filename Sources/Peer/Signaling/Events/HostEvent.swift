public import Admission
public import HTTP
public import Identity
public import MediaCore

/// An event that a host sends to its viewers.
public enum HostEvent: StreamEvent, TabulatedEvent, Equatable {
    /// The broadcast has ended; no event follows.
    case ended(reason: String)
    case viewerCount(Int)
    /// The number of viewers that say that they record.
    case recorderCount(Int)
    /// Who watches, if the host lets viewers know.
    case viewers(WatchingNames)
    /// The publisher sends to this server: at the beginning of each stream, and after ``inactive``.
    case active
    /// The connection between the publisher and this relay is interrupted.
    case inactive
    /// The host holds the broadcast back.
    case held(BroadcastHold)
    /// The host holds nothing back any more.
    case resumed
    /// For one viewer: the host removed it. No event follows on its streams, and its token is not valid any more.
    case removed(reason: String)
    /// For one viewer: all candidates that the host gathered after its answer, as a trickle fragment (RFC 8840).
    case candidates(fragment: String)
    /// The links at which the broadcast can be watched, too, if this server goes.
    case alternates(SignedAlternates)
    /// For all viewers, without a redirect: the server is about to stop, and the viewer goes on at one of its
    /// alternates. For one viewer, with a redirect: the viewer goes on there.
    case reconnect(SignedRedirect?)
    /// For all viewers of a relay: the publisher is about to end its publication there. Those whom the host has sent
    /// there go back to it.
    case returnToHost
    /// For one viewer of a relay: keys of the broadcast, which the host has encrypted for it alone.
    case keys(String)
    /// A viewer has written something, or the host's user.
    case comment(BroadcastComment)
    /// For one viewer: what it may do beside watching.
    case rights(GrantedRights)
    /// Viewers point at the picture.
    case pointers(PointerEvents)
    /// A viewer controls the host's screen, or nobody does.
    case controller(ScreenController)
    /// Events of messages, encrypted for this viewer, or for all viewers of a relay.
    case sealed(SealedEvent)
    /// For one viewer of a relay: what it may do, as the host has encrypted it for that viewer.
    case sealedRights(SealedEvent)
    /// For one viewer: the layers of its video (draft-ietf-wish-whep-events).
    case layers(VideoLayers)
    /// Any other event, with its name and its JSON.
    case other(name: String, json: String)

    package static let table: [EventRow<HostEvent>] = [
        EventRow("active", type: .none, .active),
        // WHEP's events: no stream begins with `inactive`.
        EventRow("inactive", type: .none, isLasting: false, key: "active", .inactive),
        EventRow("layers", type: .none, { if case .layers(let layers) = $0 { layers } else { nil } }, { .layers($0) }),
        EventRow(
            "viewercount", { if case .viewerCount(let count) = $0 { ViewerCount(viewercount: count) } else { nil } },
            { .viewerCount(believable($0.viewercount)) }),
        EventRow(
            "recordercount",
            { if case .recorderCount(let count) = $0 { RecorderCount(recordercount: count) } else { nil } },
            { .recorderCount(believable($0.recordercount)) }),
        EventRow("viewers", { if case .viewers(let names) = $0 { names } else { nil } }, { .viewers($0) }),
        EventRow(
            "paused", type: .written, key: "pause", fallback: .held(.pause),
            { if case .held(let hold) = $0 { HoldDocument(hold) } else { nil } }, { .held($0.known) }),
        EventRow("resumed", key: "pause", .resumed),
        EventRow(
            "alternates", type: .written, { if case .alternates(let alternates) = $0 { alternates } else { nil } },
            { .alternates($0) }),
        EventRow(
            "reconnect", type: .written, fallback: .reconnect(nil),
            { if case .reconnect(let redirect) = $0 { Redirect(redirect: redirect) } else { nil } },
            { .reconnect($0.redirect) }),
        EventRow("return", .returnToHost),
        EventRow(
            "candidates", { if case .candidates(let text) = $0 { SDPFragmentPayload(fragment: text) } else { nil } },
            { .candidates(fragment: $0.fragment) }),
        EventRow(
            "keys", { if case .keys(let text) = $0 { ViewerKeysDocument(keys: text) } else { nil } },
            { .keys($0.keys) }),
        EventRow(
            "comment", isLasting: false, { if case .comment(let comment) = $0 { comment } else { nil } },
            { BroadcastComment(from: $0.from, $0.text).map { .comment($0) } }),
        EventRow("rights", { if case .rights(let rights) = $0 { rights } else { nil } }, { .rights($0) }),
        EventRow(
            "pointers", isLasting: false, { if case .pointers(let events) = $0 { events } else { nil } },
            { .pointers($0) }),
        EventRow(
            "control", { if case .controller(let controller) = $0 { controller } else { nil } }, { .controller($0) }),
        EventRow(
            "sealed", isLasting: false, { if case .sealed(let event) = $0 { event } else { nil } }, { .sealed($0) }),
        EventRow(
            "sealedrights", { if case .sealedRights(let event) = $0 { event } else { nil } }, { .sealedRights($0) }),
        EventRow(
            "removed", isFinal: true, isLasting: false,
            { if case .removed(let reason) = $0 { ReasonPayload(reason: reason) } else { nil } },
            { .removed(reason: $0.cleaned("the host removed you")) }),
        EventRow(
            "ended", isFinal: true, { if case .ended(let reason) = $0 { ReasonPayload(reason: reason) } else { nil } },
            { .ended(reason: $0.cleaned("the host ended the broadcast")) }),
    ]

    /// The names of the events that a server may send, as the WHEP extension announces them.
    static let names = table.map(\.name)

    public init(hold: BroadcastHold?) { self = hold.map { .held($0) } ?? .resumed }

    private struct ViewerCount: Codable {
        var viewercount: Int
    }

    private struct RecorderCount: Codable {
        var recordercount: Int
    }

    private struct Redirect: Codable {
        var redirect: SignedRedirect?

        init(redirect: SignedRedirect?) { self.redirect = redirect }
        init(from decoder: any Decoder) throws { redirect = try SignedRedirect(from: decoder) }
        func encode(to encoder: any Encoder) throws { try redirect?.encode(to: encoder) }
    }

    /// Larger counts, and negative ones, are not believed.
    private static func believable(_ number: Int) -> Int { min(max(number, 0), ServiceEvent.countLimit) }

    public var name: String {
        if case .other(let name, _) = self { name } else { row?.name ?? "" }
    }

    package var json: String {
        if case .other(_, let text) = self { text } else { row?.json(self) ?? "{}" }
    }

    package func marked(_ mark: String) -> HostEvent? {
        guard case .alternates(var alternates) = self, !alternates.links.isEmpty else { return nil }
        alternates.mark = mark
        return .alternates(alternates)
    }

    /// Returns nil if an event of a known name is malformed.
    package init?(name: String, data: String) {
        guard let row = Self.table.first(where: { $0.name == name }) else {
            self = .other(name: name, json: data)
            return
        }
        guard let event = row.event(data) else { return nil }
        self = event
    }
}
