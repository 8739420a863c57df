public import MediaCore

/// The Colour element of a Video element: RFC 9559 section 5.1.4.1.28.16.
extension ColorSpace {
    /// The element; empty if nothing is known of the colours.
    public var colourElement: [UInt8] {
        guard self != ColorSpace() else { return [] }
        var writer = ElementWriter()
        writer.master(.colour) { colour in
            colour.unsigned(.matrixCoefficients, UInt64(matrix))
            colour.unsigned(.chromaSitingHorz, UInt64(horizontalSiting.rawValue))
            colour.unsigned(.chromaSitingVert, UInt64(verticalSiting.rawValue))
            colour.unsigned(.range, UInt64(range.rawValue))
            colour.unsigned(.transferCharacteristics, UInt64(transfer))
            colour.unsigned(.primaries, UInt64(primaries))
        }
        return writer.bytes
    }

    /// Reads the Colour element among elements of a Video element. Numbers that are unknown count as unspecified.
    /// - Returns: nil if there is none.
    public init?(appearance: [UInt8]) {
        guard let colour = ElementSequence(appearance[...]).first(where: { $0.id == .colour }) else { return nil }
        var codes: [ElementID: UInt8] = [:]
        for element in ElementSequence(colour.content) {
            codes[element.id] = element.content.unsigned.flatMap { UInt8(exactly: $0) }
        }
        self.init(
            primaries: codes[.primaries] ?? Self.unspecified,
            transfer: codes[.transferCharacteristics] ?? Self.unspecified,
            matrix: codes[.matrixCoefficients] ?? Self.unspecified,
            range: codes[.range].flatMap { Range(rawValue: $0) } ?? .unspecified,
            horizontalSiting: codes[.chromaSitingHorz].flatMap { ChromaSiting(rawValue: $0) } ?? .unspecified,
            verticalSiting: codes[.chromaSitingVert].flatMap { ChromaSiting(rawValue: $0) } ?? .unspecified)
    }
}
