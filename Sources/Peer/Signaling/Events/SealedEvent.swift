import FoundationEssentials
import HTTP

/// Events of messages that pass a relay, as text of `text/event-stream` that only viewers of the host can read.
public enum SealedEvent: Sendable, Equatable {
    /// base64url of a `MessageSeal`, with the key of one admission.
    case box(String)
    /// base64url of a frame of SFrame, with the keys that all viewers at relays have.
    case frame(String)
}

extension SealedEvent: Codable {
    private enum CodingKeys: String, CodingKey { case box, frame }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let box = try values.decodeIfPresent(String.self, forKey: .box) {
            self = .box(box)
        } else {
            self = .frame(try values.decode(String.self, forKey: .frame))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .box(let text): try values.encode(text, forKey: .box)
        case .frame(let text): try values.encode(text, forKey: .frame)
        }
    }
}

extension HostEvent {
    /// What viewers write and may do, which a relay neither reads nor makes up.
    package var isSealable: Bool {
        switch self {
        case .comment, .rights, .pointers, .controller: true
        default: false
        }
    }

    private static let sealableNames: Set<Substring> = ["comment", "rights", "pointers", "control"]

    /// - Parameter text: a serialized event.
    static func isSealable(_ text: String) -> Bool {
        text.hasPrefix("event: ") && sealableNames.contains(text.dropFirst(7).prefix { $0 != "\n" })
    }
}
