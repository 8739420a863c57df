import MediaCore

/// A payload type that this side would use, and its codec.
struct PayloadTypeUse: Hashable {
    let payloadType: UInt8
    /// As in `rtpmap`, in capitals.
    let encoding: String

    /// Checks the sections that share a transport. One payload type may be the same codec in several of them.
    static func check(_ video: [VideoSection], _ audio: [AudioSection]) throws(OfferError) {
        var known: [UInt8: String] = [:]
        for use in video.flatMap(\.uses) + audio.flatMap(\.uses) {
            if let other = known[use.payloadType], other != use.encoding {
                throw .ambiguousPayloadType(use.payloadType, [other, use.encoding])
            }
            known[use.payloadType] = use.encoding
        }
    }

    /// Checks what a section says of the payload types that are used of it. The same line may stand there twice.
    static func check(_ uses: [PayloadTypeUse], in media: MediaDescription) throws(OfferError) {
        for use in uses {
            for encoding in RTPMapping.encodings(of: use.payloadType, in: media)
            where !encoding.equalsIgnoringCase(use.encoding) {
                throw .ambiguousPayloadType(use.payloadType, [use.encoding, String(encoding).asToken.uppercased()])
            }
        }
    }
}

extension VideoSection {
    var uses: [PayloadTypeUse] {
        [PayloadTypeUse(payloadType: payloadType, encoding: codec.rawValue.uppercased())]
            + (rtxPayloadType.map { [PayloadTypeUse(payloadType: $0, encoding: "RTX")] } ?? [])
    }
}

extension AudioSection {
    var uses: [PayloadTypeUse] {
        // Redundant packets are left out where their payload type is another codec's; see `Offer.audio`.
        [PayloadTypeUse(payloadType: payloadType, encoding: "OPUS")]
    }
}
