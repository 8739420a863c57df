public import Admission
import FoundationEssentials
public import HTTP
public import Identity
import MediaCore

/// An event that a host sends to its viewers.
public enum HostEvent: StreamEvent, Equatable {
    /// The broadcast has ended; no event follows.
    case ended(reason: String)
    case viewerCount(Int)
    /// How many of the viewers say that they record.
    case recorderCount(Int)
    /// The publisher sends to this server: at the beginning of each stream, and after ``inactive``.
    case active
    /// The connection between the publisher and this relay is interrupted.
    case inactive
    /// The host has paused the broadcast; the viewers keep the last frame.
    case paused
    /// The host has resumed the broadcast.
    case resumed
    /// For one viewer: the host removed it. No event follows on its streams, and its token is not valid any more.
    case removed(reason: String)
    /// For one viewer: all candidates that the host gathered after its answer, as a trickle fragment (RFC 8840).
    case candidates(fragment: String)
    /// The links at which the broadcast can be watched, too, if this server goes.
    case alternates(SignedAlternates)
    /// For all viewers, without a redirect: the server is about to stop, and the viewer goes on at one of its alternates.
    /// For one viewer, with a redirect: the viewer goes on there.
    case reconnect(SignedRedirect?)
    /// For all viewers of a relay: the publisher is about to end its publication there. Those whom the host has sent there
    /// go back to it.
    case returnToHost
    /// For one viewer: the layers of its video (draft-ietf-wish-whep-events).
    case layers(VideoLayers)
    /// Any other event, with its name and its JSON.
    case other(name: String, json: String)

    /// The names of the events that a server may send, as the WHEP extension announces them.
    static let names = [
        "active", "inactive", "layers", "viewercount", "recordercount", "paused", "resumed", "alternates", "reconnect",
        "return", "candidates", "removed", "ended",
    ]

    public var name: String {
        switch self {
        case .ended: "ended"
        case .viewerCount: "viewercount"
        case .recorderCount: "recordercount"
        case .active: "active"
        case .inactive: "inactive"
        case .paused: "paused"
        case .resumed: "resumed"
        case .removed: "removed"
        case .candidates: "candidates"
        case .alternates: "alternates"
        case .reconnect: "reconnect"
        case .returnToHost: "return"
        case .layers: "layers"
        case .other(let name, _): name
        }
    }

    private struct Ended: Codable {
        var type = "ended"
        var reason: String
    }
    private struct Removed: Codable {
        var type = "removed"
        var reason: String
    }
    private struct Count: Codable {
        var type = "viewercount"
        var viewercount: Int
    }

    private struct Recorders: Codable {
        var type = "recordercount"
        var recordercount: Int
    }

    private struct Candidates: Codable {
        var type = "candidates"
        var fragment: String
    }

    private struct Redirect: Codable {
        var type = "reconnect"
        var link: String
        var age: Int
        var certificate: String
        var signature: String

        init(_ redirect: SignedRedirect) {
            (link, age) = (redirect.link, redirect.age)
            (certificate, signature) = (redirect.certificate, redirect.signature)
        }
    }

    private struct Alternates: Codable {
        var type = "alternates"
        var links: [String]
        var certificate: String
        var signature: String
        var mark: String?

        init(_ alternates: SignedAlternates) {
            (links, mark) = (alternates.links, alternates.mark)
            (certificate, signature) = (alternates.certificate, alternates.signature)
        }
    }

    package var json: String {
        switch self {
        case .alternates(let alternates): Self.json(Alternates(alternates))
        case .reconnect(nil): "{\"type\":\"reconnect\"}"
        case .reconnect(let redirect?): Self.json(Redirect(redirect))
        case .ended(let reason): Self.json(Ended(reason: reason))
        case .candidates(let fragment): Self.json(Candidates(fragment: fragment))
        case .viewerCount(let count): "{\"type\":\"viewercount\",\"viewercount\":\(count)}"
        case .recorderCount(let count): Self.json(Recorders(recordercount: count))
        case .active, .inactive: "{}"
        case .paused, .resumed, .returnToHost: "{\"type\":\"\(name)\"}"
        case .removed(let reason): Self.json(Removed(reason: reason))
        case .layers(let layers): Self.json(layers)
        case .other(_, let text): text
        }
    }

    package var isFinal: Bool {
        switch self {
        case .ended, .removed: true
        case .viewerCount, .recorderCount, .active, .inactive, .paused, .resumed, .candidates, .alternates, .reconnect,
            .returnToHost, .layers, .other:
            false
        }
    }

    package var lastingKey: String {
        switch self {
        case .active, .inactive: "active"
        case .paused, .resumed: "pause"
        default: name
        }
    }

    package var lasting: HostEvent? {
        switch self {
        case .ended, .viewerCount, .recorderCount, .candidates, .active, .paused, .resumed, .alternates, .reconnect,
            .returnToHost, .layers:
            self
        // WHEP's events: no stream begins with `inactive`.
        case .inactive, .removed, .other: nil
        }
    }

    package func marked(_ mark: String) -> HostEvent? {
        guard case .alternates(var alternates) = self, !alternates.links.isEmpty else { return nil }
        alternates.mark = mark
        return .alternates(alternates)
    }

    /// Larger counts, and negative ones, are not believed.
    private static func count(_ number: Int) -> Int { min(max(number, 0), ServiceEvent.countLimit) }

    /// Returns nil if an event of a known name is malformed.
    package init?(name: String, data: String) {
        let decoder = JSONDecoder()
        switch name {
        case "ended":
            guard let ended = try? decoder.decode(Ended.self, from: Data(data.utf8)) else { return nil }
            self = .ended(
                reason: UntrustedText.clean(ended.reason, limit: 256, fallback: "the host ended the broadcast"))
        case "viewercount":
            guard let count = try? decoder.decode(Count.self, from: Data(data.utf8)) else { return nil }
            self = .viewerCount(Self.count(count.viewercount))
        case "recordercount":
            guard let count = try? decoder.decode(Recorders.self, from: Data(data.utf8)) else { return nil }
            self = .recorderCount(Self.count(count.recordercount))
        case "active": self = .active
        case "inactive": self = .inactive
        case "paused": self = .paused
        case "resumed": self = .resumed
        case "removed":
            guard let removed = try? decoder.decode(Removed.self, from: Data(data.utf8)) else { return nil }
            self = .removed(reason: UntrustedText.clean(removed.reason, limit: 256, fallback: "the host removed you"))
        case "candidates":
            guard let found = try? decoder.decode(Candidates.self, from: Data(data.utf8)) else { return nil }
            self = .candidates(fragment: found.fragment)
        case "alternates":
            guard let found = try? decoder.decode(SignedAlternates.self, from: Data(data.utf8)) else { return nil }
            self = .alternates(found)
        case "reconnect": self = .reconnect(try? decoder.decode(SignedRedirect.self, from: Data(data.utf8)))
        case "return": self = .returnToHost
        case "layers":
            guard let layers = try? decoder.decode(VideoLayers.self, from: Data(data.utf8)) else { return nil }
            self = .layers(layers)
        default: self = .other(name: name, json: data)
        }
    }
}
