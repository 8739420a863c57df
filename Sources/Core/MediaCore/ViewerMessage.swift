/// What a viewer says to the host.
public enum ViewerMessage: Sendable, Equatable {
    /// One line for the host and all viewers.
    case comment(String)
    /// The viewer asks the host's user for a right.
    case ask(ViewerRight)
    /// The viewer gives a right back.
    case release(ViewerRight)
    /// The viewer's pointer over the picture, for all.
    case pointer(PointerGesture)
    /// An input for the host's screen.
    case input(AimedInput)

    /// The characters of a comment. Further ones are left out.
    public static let commentLimit = 500
}

/// As JSON: `{"type":"comment","text":"Hello"}`, `{"type":"ask","right":"comment"}`,
/// `{"type":"pointer","kind":"move","points":[[x,y]]}`, `{"type":"input","grant":1,"count":1,"time":0,"input":{…}}`.
extension ViewerMessage: Codable {
    private enum Kind: String, Codable { case comment, ask, release, pointer, input }
    private enum CodingKeys: String, CodingKey { case type, text, right }

    /// - Throws: for a type that is not known.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        switch try values.decode(Kind.self, forKey: .type) {
        case .comment: self = .comment(try values.decode(String.self, forKey: .text))
        case .ask: self = .ask(try values.decode(ViewerRight.self, forKey: .right))
        case .release: self = .release(try values.decode(ViewerRight.self, forKey: .right))
        case .pointer: self = .pointer(try PointerGesture(from: decoder))
        case .input: self = .input(try AimedInput(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .comment(let text):
            try values.encode(Kind.comment, forKey: .type)
            try values.encode(text, forKey: .text)
        case .ask(let right):
            try values.encode(Kind.ask, forKey: .type)
            try values.encode(right, forKey: .right)
        case .release(let right):
            try values.encode(Kind.release, forKey: .type)
            try values.encode(right, forKey: .right)
        case .pointer(let gesture):
            try values.encode(Kind.pointer, forKey: .type)
            try gesture.encode(to: encoder)
        case .input(let input):
            try values.encode(Kind.input, forKey: .type)
            try input.encode(to: encoder)
        }
    }
}

/// Why a message of a viewer was not taken.
public enum MessageRefusal: Error, Sendable, Equatable {
    /// This broadcast takes no messages.
    case notTaken
    /// Nobody watches with this admission.
    case notWatching
    /// The viewer may not do that.
    case notAllowed(ViewerRight)
    /// The host's user has said no a moment ago.
    case refusedBefore(ViewerRight, seconds: Int)
    /// Another viewer controls the screen.
    case controlled
    /// Too many messages, of this viewer or of all.
    case limited(seconds: Int)
    /// A comment without a visible character.
    case empty
}

/// A comment as all viewers get it.
public struct BroadcastComment: Sendable, Equatable, Codable {
    /// The viewer's name; nil: the host's user has written it.
    public var from: String?
    /// One line.
    public var text: String

    /// - Parameters:
    ///   - from: is cleaned.
    ///   - text: is cleaned and cut to `ViewerMessage.commentLimit` characters.
    /// - Returns: nil if nothing of the text is visible.
    public init?(from: String?, _ text: String) {
        let text = UntrustedText.clean(text, limit: ViewerMessage.commentLimit, fallback: "")
        guard !text.isEmpty else { return nil }
        self.from = from.map { UntrustedText.clean($0, fallback: "a viewer") }
        self.text = text
    }
}

/// What brings the messages of a viewer to its host.
public enum MessageCarrier: Sendable, CaseIterable {
    case request
    case socket

    /// Authenticated with a message that is encrypted, so that a relay cannot repeat one of a socket as a request.
    public var associatedData: [UInt8] { self == .request ? [] : Array("socket".utf8) }
}
