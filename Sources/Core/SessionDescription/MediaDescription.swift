/// An `m=` line and the lines that belong to it. RFC 8866 section 5.14.
public struct MediaDescription: Hashable, Sendable {
    /// `audio`, `video`, `application`, ...
    public var kind: String
    /// 0 refuses or disables the section, unless it is `bundle-only`.
    public var port: UInt16
    /// E.g. `UDP/TLS/RTP/SAVPF`.
    public var transport: String
    /// Payload types for RTP, at least one.
    public var formats: [String]
    /// The `c=` line without its type.
    public var connection: String?
    public var attributes: [SDPAttribute]

    public init(
        kind: String, port: UInt16, transport: String, formats: [String], connection: String? = nil,
        attributes: [SDPAttribute] = []
    ) {
        self.kind = kind
        self.port = port
        self.transport = transport
        self.formats = formats
        self.connection = connection
        self.attributes = attributes
    }

    /// The first value of an attribute.
    public subscript(name: String) -> String? { attributes.firstValue(of: name) }

    public var mid: String? { self["mid"] }

    /// The mid, if it is valid in packets and in an answer: RFC 9143 section 4.
    var validMid: String? { mid.flatMap { $0.text.isVisibleASCII && $0.utf8.count <= 64 ? $0 : nil } }

    /// The direction from the author's view; `sendrecv` if there is no attribute.
    public var direction: MediaDirection {
        attributes.lazy.compactMap { $0.value == nil ? MediaDirection(rawValue: $0.name) : nil }.first
            ?? .sendAndReceive
    }
}

/// The direction of media, from the view of a description's author. RFC 8866 section 6.7.
public enum MediaDirection: String, Hashable, Sendable {
    case sendAndReceive = "sendrecv"
    case sendOnly = "sendonly"
    case receiveOnly = "recvonly"
    case inactive

    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendAndReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    public var receives: Bool { self == .receiveOnly || self == .sendAndReceive }
    public var sends: Bool { self == .sendOnly || self == .sendAndReceive }

    /// Returns the answer's direction for a peer that supports at most `peer`: RFC 3264 section 6.1.
    public func answered(by peer: MediaDirection) -> MediaDirection {
        MediaDirection(sends: receives && peer.sends, receives: sends && peer.receives)
    }
}

extension MediaDescription {
    /// Parses `video 9 UDP/TLS/RTP/SAVPF 96 97`; nil if it is malformed.
    init?(line: Substring) {
        let fields = line.fields()
        guard fields.count >= 4, fields.allSatisfy(\.isVisibleASCII),
            let port = fields[1].cut(at: UInt8(ascii: "/")).head.decimal(upTo: 65_535)
        else { return nil }
        self.init(
            kind: String(fields[0]), port: UInt16(truncatingIfNeeded: port), transport: String(fields[2]),
            formats: fields[3...].map { String($0) })
    }
}
