import Admission
import FoundationEssentials
import MediaCore

/// An event that a host sends to its viewers.
public enum HostEvent: Sendable, Equatable {
    /// The broadcast has ended; no event follows.
    case ended(reason: String)
    case viewerCount(Int)
    /// The host has paused the broadcast; the viewers keep the last frame.
    case paused
    /// The host has resumed the broadcast.
    case resumed
    /// For one viewer: the host removed it. No event follows on its streams, and its token is not valid any more.
    case removed(reason: String)
    /// For one viewer: all candidates that the host gathered after its answer, as a trickle fragment (RFC 8840).
    case candidates(fragment: String)
    /// Any other event, with its name and its JSON.
    case other(name: String, json: String)

    public var name: String {
        switch self {
        case .ended: "ended"
        case .viewerCount: "viewercount"
        case .paused: "paused"
        case .resumed: "resumed"
        case .removed: "removed"
        case .candidates: "candidates"
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

    private struct Candidates: Codable {
        var type = "candidates"
        var fragment: String
    }

    private static func json(_ value: some Encodable) -> String {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The event as text of `text/event-stream`: its name, and one `data:` line of JSON.
    var serialized: String {
        let json: String
        switch self {
        case .ended(let reason): json = Self.json(Ended(reason: reason))
        case .candidates(let fragment): json = Self.json(Candidates(fragment: fragment))
        case .viewerCount(let count): json = "{\"type\":\"viewercount\",\"viewercount\":\(count)}"
        case .paused, .resumed: json = "{\"type\":\"\(name)\"}"
        case .removed(let reason): json = Self.json(Removed(reason: reason))
        case .other(_, let text): json = text
        }
        return "event: \(Self.line(name))\ndata: \(Self.line(json))\n\n"
    }

    /// Returns nil if an event of a known name is malformed.
    init?(name: String, data: String) {
        let decoder = JSONDecoder()
        switch name {
        case "ended":
            guard let ended = try? decoder.decode(Ended.self, from: Data(data.utf8)) else { return nil }
            self = .ended(reason: PeerText.clean(ended.reason, limit: 256, fallback: "the host ended the broadcast"))
        case "viewercount":
            guard let count = try? decoder.decode(Count.self, from: Data(data.utf8)) else { return nil }
            self = .viewerCount(count.viewercount)
        case "paused": self = .paused
        case "resumed": self = .resumed
        case "removed":
            guard let removed = try? decoder.decode(Removed.self, from: Data(data.utf8)) else { return nil }
            self = .removed(reason: PeerText.clean(removed.reason, limit: 256, fallback: "the host removed you"))
        case "candidates":
            guard let found = try? decoder.decode(Candidates.self, from: Data(data.utf8)) else { return nil }
            self = .candidates(fragment: found.fragment)
        default: self = .other(name: name, json: data)
        }
    }

    private static func line(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 != 10 && $0 != 13 }, as: UTF8.self)
    }
}

/// Parses server-sent events from a byte stream.
///
/// A line over 64 KiB ends the stream with an error. Fields other than `event` and `data` are skipped.
struct EventStreamParser {
    private var line: [UInt8] = []
    private var name = ""
    private var data = ""
    private var wasCarriageReturn = false

    struct TooLong: Error {}

    mutating func feed(_ bytes: some Sequence<UInt8>, _ found: (String, String) -> Void) throws(TooLong) {
        for byte in bytes {
            if byte == 10, wasCarriageReturn {
                wasCarriageReturn = false
                continue
            }
            wasCarriageReturn = byte == 13
            guard byte == 10 || byte == 13 else {
                guard line.count + data.utf8.count < 65_536 else { throw TooLong() }
                line.append(byte)
                continue
            }
            take(found)
        }
    }

    private mutating func take(_ found: (String, String) -> Void) {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else {
            if !data.isEmpty { found(name.isEmpty ? "message" : name, data) }
            name = ""
            data = ""
            return
        }
        let text = String(decoding: line, as: UTF8.self)
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        var value = text[colon...].dropFirst()
        if value.hasPrefix(" ") { value = value.dropFirst() }
        switch text[..<colon] {
        case "event": name = String(value)
        case "data": data += (data.isEmpty ? "" : "\n") + value
        default: break
        }
    }
}
