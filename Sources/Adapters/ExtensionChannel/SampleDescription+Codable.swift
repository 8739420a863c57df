extension SampleDescription: Codable {
    private enum Keys: CodingKey {
        case memory, slot, time, format, width, height, strideY, strideC, bytes, isKeyframe, layer, track
    }
    private enum Name: String, Codable { case i420, vp8, pcm, opus }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Keys.self)
        func number(_ key: Keys) throws -> Int { try values.decode(Int.self, forKey: key) }
        func track() throws -> AudioTrack { try values.decode(AudioTrack.self, forKey: .track) }
        let format: Format =
            switch try values.decode(Name.self, forKey: .format) {
            case .i420:
                .i420(
                    width: try number(.width), height: try number(.height), strideY: try number(.strideY),
                    strideC: try number(.strideC))
            case .vp8:
                .vp8(
                    bytes: try number(.bytes), isKeyframe: try values.decode(Bool.self, forKey: .isKeyframe),
                    layer: try values.decode(UInt8.self, forKey: .layer), width: try number(.width),
                    height: try number(.height))
            case .pcm: .pcm(track: try track(), bytes: try number(.bytes))
            case .opus: .opus(track: try track(), bytes: try number(.bytes))
            }
        self.init(
            memory: try number(.memory), slot: try number(.slot), format: format,
            time: try values.decode(Int64.self, forKey: .time))
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Keys.self)
        try values.encode(memory, forKey: .memory)
        try values.encode(slot, forKey: .slot)
        try values.encode(time, forKey: .time)
        switch format {
        case .i420(let width, let height, let strideY, let strideC):
            try values.encode(Name.i420, forKey: .format)
            try values.encode(width, forKey: .width)
            try values.encode(height, forKey: .height)
            try values.encode(strideY, forKey: .strideY)
            try values.encode(strideC, forKey: .strideC)
        case .vp8(let bytes, let isKeyframe, let layer, let width, let height):
            try values.encode(Name.vp8, forKey: .format)
            try values.encode(bytes, forKey: .bytes)
            try values.encode(isKeyframe, forKey: .isKeyframe)
            try values.encode(layer, forKey: .layer)
            try values.encode(width, forKey: .width)
            try values.encode(height, forKey: .height)
        case .pcm(let track, let bytes): try encode(Name.pcm, track, bytes, &values)
        case .opus(let track, let bytes): try encode(Name.opus, track, bytes, &values)
        }
    }

    private func encode(
        _ name: Name, _ track: AudioTrack, _ bytes: Int, _ values: inout KeyedEncodingContainer<Keys>
    ) throws {
        try values.encode(name, forKey: .format)
        try values.encode(track, forKey: .track)
        try values.encode(bytes, forKey: .bytes)
    }

    /// How many bytes of a slot the sample takes; nil if it describes none.
    public var byteCount: Int? {
        let longestSide = 16_384
        switch format {
        case .i420(let width, let height, let strideY, let strideC):
            guard (2...longestSide).contains(width), (2...longestSide).contains(height), width % 2 == 0,
                height % 2 == 0, (width...4 * longestSide).contains(strideY),
                (width / 2...4 * longestSide).contains(strideC)
            else { return nil }
            return strideY * height + strideC * height
        case .vp8(let bytes, _, _, _, _), .opus(_, let bytes): return bytes > 0 ? bytes : nil
        case .pcm(_, let bytes): return bytes > 0 && bytes % 4 == 0 ? bytes : nil
        }
    }
}
