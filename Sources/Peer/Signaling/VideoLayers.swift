public import MediaCore

/// The layers of the video of one m-line: the data of WHEP's `layers` event (draft-ietf-wish-whep-events).
public struct VideoLayers: Codable, Hashable, Sendable {
    /// The number of the m-line in the session's description.
    public var line: Int
    /// From the base on.
    public var layers: [VideoLayer]

    public init(line: Int, layers: [VideoLayer]) {
        self.line = line
        self.layers = layers
    }

    private struct Layer: Codable {
        var temporalLayerId: Int?
        var bitrate: Int?
        var targetBitrate: Int?
        var width: Int?
        var height: Int?
    }

    public func encode(to encoder: any Encoder) throws {
        let found = layers.map { layer in
            Layer(
                temporalLayerId: Int(layer.temporalLayer), bitrate: layer.bitrate.bitsPerSecond,
                targetBitrate: layer.target?.bitsPerSecond, width: layer.size?.width, height: layer.size?.height)
        }
        try [String(line): found].encode(to: encoder)
    }

    public init(from decoder: any Decoder) throws {
        let lines = try [String: [Layer]](from: decoder)
        guard let (text, found) = lines.first, let line = Int(text), lines.count == 1, found.count <= 64 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "the layers of one m-line are expected"))
        }
        self.line = line
        layers = found.map { layer in
            func side(_ value: Int) -> Int { min(max(value, 0), 65_535) }
            let size = layer.width.flatMap { width in
                layer.height.map { PixelSize(width: side(width), height: side($0)) }
            }
            return VideoLayer(
                temporalLayer: UInt8(clamping: layer.temporalLayerId ?? 0),
                bitrate: Bitrate(unverified: layer.bitrate ?? 0),
                target: layer.targetBitrate.map { Bitrate(unverified: $0) }, size: size)
        }
    }
}
