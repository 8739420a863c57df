public import Admission
public import HTTP
public import Identifiers
public import MediaCore

/// The report of a service about a broadcast that it receives.
public struct ServiceInfo: Sendable, Equatable {
    /// Nil: unknown.
    public var viewers: Int?
    public var likes: Int?
    /// A new comment of a viewer; its name is as the service says.
    public var comment: BroadcastComment?

    public init(viewers: Int? = nil, likes: Int? = nil, comment: BroadcastComment? = nil) {
        self.viewers = viewers
        self.likes = likes
        self.comment = comment
    }
}

/// An event that a service sends to the host of a session.
public enum ServiceEvent: StreamEvent, TabulatedEvent, Equatable {
    case serviceInfo(ServiceInfo)
    /// The URL at which people can watch: `http` or `https`.
    case broadcastURL(String)
    /// All candidates that the service gathered after its answer, as a trickle fragment (RFC 8840).
    case candidates(fragment: String)
    /// A viewer wants to watch at the relay to which the host publishes, and the host decides.
    case viewer(Knock)
    /// The relay does not wait for the decision about this viewer any more.
    case viewerWithdrawn(KnockID)
    /// A viewer whom the host has sent to this relay, or to its cluster, watches there: SHA-256 of its certificate.
    case viewerJoined([UInt8])
    /// Such a viewer does not watch there any more.
    case viewerLeft([UInt8])
    /// The links of other relays to which the host can publish if this one goes.
    case alternates([String])
    /// The bitrate that the slowest viewer of a relay can get, with audio and headers; nil: as much as the others.
    case slowestBitrate(Bitrate?)
    /// The relay is about to stop: the host goes on at one of its alternates.
    case reconnect
    /// The service has ended the broadcast; no event follows.
    /// - Parameter nextStep: what the host's user may do next, a sentence or a URL.
    case finished(reason: String, nextStep: String?)

    /// The longest reason and next step that a host accepts, in Unicode scalars.
    public static let textLimit = 256

    package static let table: [EventRow<ServiceEvent>] = [
        EventRow(
            "service-info", { if case .serviceInfo(let info) = $0 { InfoData(info: info) } else { nil } },
            { .serviceInfo($0.info) }),
        EventRow(
            "broadcast-url", { if case .broadcastURL(let url) = $0 { URLData(url: url) } else { nil } },
            { PairingGrant.isBroadcastURL($0.url) ? .broadcastURL($0.url) : nil }),
        EventRow(
            "candidates", { if case .candidates(let text) = $0 { SDPFragmentPayload(fragment: text) } else { nil } },
            { .candidates(fragment: $0.fragment) }),
        EventRow(
            "viewer", type: .none, isLasting: false,
            { if case .viewer(let knock) = $0 { ViewerDocument(knock) } else { nil } },
            { $0.knock.map { .viewer($0) } }),
        EventRow(
            "viewer-withdrawn", isLasting: false,
            { if case .viewerWithdrawn(let id) = $0 { WithdrawnData(id: id.text) } else { nil } },
            { KnockID(Substring($0.id)).map { .viewerWithdrawn($0) } }),
        EventRow(
            "viewer-joined", isLasting: false,
            { if case .viewerJoined(let hash) = $0 { PresenceData(hash) } else { nil } },
            { $0.fingerprint.map { .viewerJoined($0) } }),
        EventRow(
            "viewer-left", isLasting: false,
            { if case .viewerLeft(let hash) = $0 { PresenceData(hash) } else { nil } },
            { $0.fingerprint.map { .viewerLeft($0) } }),
        EventRow(
            "alternates", { if case .alternates(let links) = $0 { LinksPayload(links: links) } else { nil } },
            { .alternates($0.links) }),
        EventRow(
            "slowest-bitrate",
            { if case .slowestBitrate(let rate) = $0 { BitrateData(bitrate: rate?.bitsPerSecond) } else { nil } },
            { $0.bitrate ?? 1 > 0 ? .slowestBitrate($0.bitrate.map { Bitrate(unverified: $0) }) : nil }),
        EventRow("reconnect", .reconnect),
        EventRow("finished", isFinal: true, { FinishedData($0) }, { $0.event }),
    ]

    private struct InfoData: Codable {
        struct Comment: Codable {
            var name: String
            var text: String
        }

        let info: ServiceInfo

        private enum CodingKeys: CodingKey { case viewers, likes, comment }

        init(info: ServiceInfo) { self.info = info }

        /// Cleans the texts. Counts may not be negative.
        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            func count(_ key: CodingKeys) throws -> Int? {
                guard let number = try values.decodeIfPresent(Int.self, forKey: key) else { return nil }
                guard number >= 0 else {
                    throw DecodingError.dataCorruptedError(forKey: key, in: values, debugDescription: "negative")
                }
                return min(number, ServiceEvent.countLimit)
            }
            let comment = try values.decodeIfPresent(Comment.self, forKey: .comment)
            info = ServiceInfo(
                viewers: try count(.viewers), likes: try count(.likes),
                comment: comment.flatMap { BroadcastComment(from: $0.name, $0.text) })
        }

        /// Writes what is unknown as `null`.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(info.viewers, forKey: .viewers)
            try values.encode(info.likes, forKey: .likes)
            try values.encode(info.comment.map { Comment(name: $0.from ?? "", text: $0.text) }, forKey: .comment)
        }
    }

    private struct URLData: Codable {
        var url: String
    }

    private struct WithdrawnData: Codable {
        var id: String
    }

    private struct PresenceData: Codable {
        private var viewer: String

        init(_ fingerprint: [UInt8]) { viewer = Base64URL.encode(fingerprint) }

        var fingerprint: [UInt8]? { Base64URL.decode(viewer, count: 32) }
    }

    private struct BitrateData: Codable {
        /// In bit/s.
        var bitrate: Int?

        private enum CodingKeys: CodingKey { case bitrate }

        init(bitrate: Int?) { self.bitrate = bitrate }

        /// Writes `null`, too.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(bitrate, forKey: .bitrate)
        }
    }

    private struct FinishedData: Codable {
        var reason: String
        var nextStep: String?

        private enum CodingKeys: CodingKey { case reason, nextStep }

        init?(_ event: ServiceEvent) {
            guard case .finished(let reason, let nextStep) = event else { return nil }
            (self.reason, self.nextStep) = (reason, nextStep)
        }

        /// Writes `null`, too.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(reason, forKey: .reason)
            try values.encode(nextStep, forKey: .nextStep)
        }

        /// With cleaned texts.
        var event: ServiceEvent {
            let next = nextStep.map { UntrustedText.clean($0, limit: textLimit, fallback: "") }
            return .finished(
                reason: ReasonPayload(reason: reason).cleaned("the service ended the broadcast"),
                nextStep: next.flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    /// The event as a host accepts it: with cleaned texts; nil for impossible counts and URLs.
    package var checked: ServiceEvent? { ServiceEvent(name: name, data: json) }

    /// A comment is sent once.
    package var lasting: ServiceEvent? {
        guard case .serviceInfo(var info) = self else { return row?.isLasting == true ? self : nil }
        info.comment = nil
        return .serviceInfo(info)
    }

    /// Larger counts of viewers and likes are not believed.
    package static let countLimit = 1_000_000_000
}
