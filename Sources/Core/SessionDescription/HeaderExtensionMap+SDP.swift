import RTPWire

/// `a=extmap` lines: RFC 8285 section 5 and 7.
extension HeaderExtensionMap {
    /// Reads the known extensions of lines whose direction allows the author to receive or to send, as required. Only
    /// ids of the one-byte form are accepted, each once.
    init(attributes: [SDPAttribute], authorReceives: Bool) {
        self.init()
        for line in attributes.values(of: "extmap") {
            let fields = line.text.fields(limit: 2)
            guard fields.count >= 2 else { continue }
            let (number, direction) = fields[0].cut(at: UInt8(ascii: "/"))
            let unwanted: MediaDirection = authorReceives ? .sendOnly : .receiveOnly
            guard let id = number.decimal(upTo: 255).map({ UInt8(truncatingIfNeeded: $0) }),
                Self.oneByteIDs.contains(id),
                direction != "inactive", direction.map({ $0 != unwanted.rawValue }) ?? true,
                let kind = HeaderExtension(uri: fields[1]), self[kind] == nil, self.kind(of: id) == nil
            else { continue }
            self[kind] = id
        }
    }

    var attributes: [SDPAttribute] {
        HeaderExtension.allCases.compactMap { kind in
            self[kind].map { SDPAttribute("extmap", "\($0) \(kind.uri)") }
        }
    }
}

extension SDPAttribute {
    /// One-byte headers cannot hold colours with HDR metadata: RFC 8285 section 6.
    static let mixesExtensionForms = SDPAttribute("extmap-allow-mixed")
}
