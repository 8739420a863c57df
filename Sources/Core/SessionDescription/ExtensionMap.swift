/// The RTP header extensions of one section that this project uses, with the offerer's ids. RFC 8285.
public struct ExtensionMap: Hashable, Sendable {
    /// Each 1...14, all different: they fit the one-byte form.
    public var transportSequence: UInt8?
    public var playoutDelay: UInt8?
    public var absSendTime: UInt8?
    public var mid: UInt8?
    public var references: UInt8?

    public init(
        transportSequence: UInt8? = nil, playoutDelay: UInt8? = nil, absSendTime: UInt8? = nil, mid: UInt8? = nil,
        references: UInt8? = nil
    ) {
        self.transportSequence = transportSequence
        self.playoutDelay = playoutDelay
        self.absSendTime = absSendTime
        self.mid = mid
        self.references = references
    }

    enum Kind: String, CaseIterable {
        case transportSequence = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case absSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
        case references = "urn:share:rtp-hdrext:frame-references"
    }

    subscript(kind: Kind) -> UInt8? {
        get {
            switch kind {
            case .transportSequence: transportSequence
            case .playoutDelay: playoutDelay
            case .absSendTime: absSendTime
            case .mid: mid
            case .references: references
            }
        }
        set {
            switch kind {
            case .transportSequence: transportSequence = newValue
            case .playoutDelay: playoutDelay = newValue
            case .absSendTime: absSendTime = newValue
            case .mid: mid = newValue
            case .references: references = newValue
            }
        }
    }

    /// Takes the known extensions out of `extmap` lines that let `author` do what it should: receive or send.
    init(attributes: [SDPAttribute], authorReceives: Bool) {
        var taken: Set<UInt8> = []
        for line in attributes.values(of: "extmap") {
            let fields = line.text.fields(limit: 2)
            guard fields.count >= 2 else { continue }
            let (number, direction) = fields[0].cut(at: UInt8(ascii: "/"))
            let unwanted: MediaDirection = authorReceives ? .sendOnly : .receiveOnly
            guard let id = number.decimal(upTo: 14).map({ UInt8(truncatingIfNeeded: $0) }), id > 0,
                direction != "inactive", direction.map({ $0 != unwanted.rawValue }) ?? true,
                let kind = Kind(rawValue: String(fields[1])), self[kind] == nil, taken.insert(id).inserted
            else { continue }
            self[kind] = id
        }
    }

    /// What both maps have under the same id. Sections of one bundle share one numbering.
    func common(with other: ExtensionMap) -> ExtensionMap {
        var result = ExtensionMap()
        for kind in Kind.allCases where self[kind] == other[kind] {
            result[kind] = self[kind]
        }
        return result
    }

    var attributes: [SDPAttribute] {
        Kind.allCases.compactMap { kind in self[kind].map { SDPAttribute("extmap", "\($0) \(kind.rawValue)") } }
    }
}
