public import Admission
import FoundationEssentials
public import HTTP
public import Identifiers
public import MediaCore

/// What a service reports about a broadcast that it receives.
public struct ServiceInfo: Sendable, Equatable {
    public struct Comment: Sendable, Equatable {
        public var name: String
        public var text: String

        public init(name: String, text: String) {
            self.name = name
            self.text = text
        }
    }

    /// Nil: unknown.
    public var viewers: Int?
    public var likes: Int?
    /// A new comment of a viewer.
    public var comment: Comment?

    public init(viewers: Int? = nil, likes: Int? = nil, comment: Comment? = nil) {
        self.viewers = viewers
        self.likes = likes
        self.comment = comment
    }
}

/// An event that a service sends to the host of a session.
public enum ServiceEvent: StreamEvent, Equatable {
    case serviceInfo(ServiceInfo)
    /// Where people can watch: an `http` or `https` URL.
    case broadcastURL(String)
    /// All candidates that the service gathered after its answer, as a trickle fragment (RFC 8840).
    case candidates(fragment: String)
    /// A viewer wants to watch at the relay to which the host publishes, and the host decides.
    case viewer(Knock)
    /// The relay does not wait for the decision about this viewer any more.
    case viewerWithdrawn(KnockID)
    /// The links of other relays to which the host can publish if this one goes.
    case alternates([String])
    /// What the slowest viewer of a relay can get, audio and headers included; nil: as much as the others.
    case slowestBitrate(Bitrate?)
    /// The relay is about to stop: the host goes on at one of its alternates.
    case reconnect
    /// The service has ended the broadcast; no event follows.
    /// - Parameter nextStep: what the host's user may do next, a sentence or a URL.
    case finished(reason: String, nextStep: String?)

    /// The longest reason, next step and text of a comment that a host accepts, in Unicode scalars.
    public static let textLimit = 256

    public var name: String {
        switch self {
        case .serviceInfo: "service-info"
        case .broadcastURL: "broadcast-url"
        case .candidates: "candidates"
        case .viewer: "viewer"
        case .viewerWithdrawn: "viewer-withdrawn"
        case .alternates: "alternates"
        case .slowestBitrate: "slowest-bitrate"
        case .reconnect: "reconnect"
        case .finished: "finished"
        }
    }

    private struct InfoDocument: Codable {
        struct Comment: Codable {
            var name: String
            var text: String
        }
        var type = "service-info"
        var viewers: Int?
        var likes: Int?
        var comment: Comment?

        private enum CodingKeys: CodingKey { case type, viewers, likes, comment }

        init(_ info: ServiceInfo) {
            viewers = info.viewers
            likes = info.likes
            comment = info.comment.map { Comment(name: $0.name, text: $0.text) }
        }

        /// Writes what is unknown as `null`.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(type, forKey: .type)
            try values.encode(viewers, forKey: .viewers)
            try values.encode(likes, forKey: .likes)
            try values.encode(comment, forKey: .comment)
        }
    }
    private struct URLDocument: Codable {
        var type = "broadcast-url"
        var url: String
    }
    private struct CandidatesDocument: Codable {
        var type = "candidates"
        var fragment: String
    }
    private struct WithdrawnDocument: Codable {
        var type = "viewer-withdrawn"
        var id: String
    }
    private struct AlternatesDocument: Codable {
        var type = "alternates"
        var links: [String]
    }
    /// In bit/s.
    private struct BitrateDocument: Codable {
        var type = "slowest-bitrate"
        var bitrate: Int?

        private enum CodingKeys: CodingKey { case type, bitrate }

        init(_ bitrate: Bitrate?) { self.bitrate = bitrate?.bitsPerSecond }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(type, forKey: .type)
            try values.encode(bitrate, forKey: .bitrate)
        }
    }
    private struct FinishedDocument: Codable {
        var type = "finished"
        var reason: String
        var nextStep: String?

        private enum CodingKeys: CodingKey { case type, reason, nextStep }

        init(reason: String, nextStep: String?) {
            self.reason = reason
            self.nextStep = nextStep
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(type, forKey: .type)
            try values.encode(reason, forKey: .reason)
            try values.encode(nextStep, forKey: .nextStep)
        }
    }

    package var json: String {
        switch self {
        case .serviceInfo(let info): Self.json(InfoDocument(info))
        case .broadcastURL(let url): Self.json(URLDocument(url: url))
        case .candidates(let fragment): Self.json(CandidatesDocument(fragment: fragment))
        case .viewer(let knock): Self.json(ViewerDocument(knock))
        case .viewerWithdrawn(let id): Self.json(WithdrawnDocument(id: id.text))
        case .alternates(let links): Self.json(AlternatesDocument(links: links))
        case .slowestBitrate(let bitrate): Self.json(BitrateDocument(bitrate))
        case .reconnect: "{\"type\":\"reconnect\"}"
        case .finished(let reason, let nextStep): Self.json(FinishedDocument(reason: reason, nextStep: nextStep))
        }
    }

    package var isFinal: Bool {
        if case .finished = self { true } else { false }
    }

    /// The event as a host accepts it: with cleaned texts; nil for impossible counts and URLs.
    package var checked: ServiceEvent? { ServiceEvent(name: name, data: json) }

    /// A comment is sent once, and so is what concerns one viewer.
    package var lasting: ServiceEvent? {
        switch self {
        case .viewer, .viewerWithdrawn: return nil
        default: break
        }
        guard case .serviceInfo(var info) = self else { return self }
        info.comment = nil
        return .serviceInfo(info)
    }

    /// Larger counts of viewers and likes are not believed.
    package static let countLimit = 1_000_000_000

    /// Cleans all text that a user will see. Counts may not be negative.
    package init?(name: String, data: String) {
        func document<Document: Decodable>(_ type: Document.Type) -> Document? {
            try? JSONDecoder().decode(type, from: Data(data.utf8))
        }
        func clean(_ text: String, fallback: String) -> String {
            UntrustedText.clean(text, limit: Self.textLimit, fallback: fallback)
        }
        switch name {
        case "service-info":
            guard let found = document(InfoDocument.self), found.viewers ?? 0 >= 0, found.likes ?? 0 >= 0 else {
                return nil
            }
            let comment = found.comment.map {
                ServiceInfo.Comment(
                    name: UntrustedText.clean($0.name, fallback: "somebody"), text: clean($0.text, fallback: ""))
            }
            self = .serviceInfo(
                ServiceInfo(
                    viewers: found.viewers.map { min($0, Self.countLimit) },
                    likes: found.likes.map { min($0, Self.countLimit) }, comment: comment))
        case "broadcast-url":
            guard let found = document(URLDocument.self), PairingGrant.isBroadcastURL(found.url) else { return nil }
            self = .broadcastURL(found.url)
        case "candidates":
            guard let found = document(CandidatesDocument.self) else { return nil }
            self = .candidates(fragment: found.fragment)
        case "viewer":
            guard let knock = document(ViewerDocument.self)?.knock else { return nil }
            self = .viewer(knock)
        case "viewer-withdrawn":
            guard let id = document(WithdrawnDocument.self).flatMap({ KnockID(Substring($0.id)) }) else { return nil }
            self = .viewerWithdrawn(id)
        case "alternates":
            guard let found = document(AlternatesDocument.self) else { return nil }
            self = .alternates(found.links)
        case "slowest-bitrate":
            guard let found = document(BitrateDocument.self), found.bitrate ?? 1 > 0 else { return nil }
            self = .slowestBitrate(found.bitrate.map { Bitrate(unverified: $0) })
        case "reconnect": self = .reconnect
        case "finished":
            guard let found = document(FinishedDocument.self) else { return nil }
            let nextStep = found.nextStep.map { clean($0, fallback: "") }
            self = .finished(
                reason: clean(found.reason, fallback: "the service ended the broadcast"),
                nextStep: nextStep.flatMap { $0.isEmpty ? nil : $0 })
        default: return nil
        }
    }
}
