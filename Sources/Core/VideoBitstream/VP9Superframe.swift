/// The frames that one chunk of VP9 data holds: VP9 Bitstream & Decoding Process Specification annex B.
public struct VP9Superframe: Equatable {
    /// In the chunk, in decoding order, each at least one byte long.
    public let frames: [Range<Int>]
    /// The chunk ends with an index. Without one, it is one frame.
    public let hasIndex: Bool

    //   +---------------+
    //   |1 1 0|M M|N N N|   M + 1 bytes for each size, N + 1 frames
    //   +---------------+
    //   | sizes         |   little endian
    //   +---------------+
    //   |1 1 0|M M|N N N|   the last byte of the chunk
    //   +---------------+

    /// - Returns: nil for an empty chunk, or an index that does not fit it.
    public init?(_ chunk: UnsafeRawBufferPointer) {
        guard let marker = chunk.last else { return nil }
        let count = Int(marker & 0x07) + 1
        let magnitude = Int(marker >> 3 & 0x03) + 1
        let length = 2 + magnitude * count
        guard marker >> 5 == 6, chunk.count >= length, chunk[chunk.count - length] == marker else {
            frames = [0..<chunk.count]
            hasIndex = false
            return
        }
        var frames: [Range<Int>] = []
        var start = 0
        for index in 0..<count {
            let position = chunk.count - length + 1 + index * magnitude
            let size = (0..<magnitude).reduce(0) { $0 | Int(chunk[position + $1]) << (8 * $1) }
            guard size > 0, size <= chunk.count - length - start else { return nil }
            frames.append(start..<(start + size))
            start += size
        }
        self.frames = frames
        hasIndex = true
    }

    /// The index of a chunk that is one frame. With it, decoders take no bytes after the frame for a further one.
    public static func index(ofFrame count: Int) -> [UInt8] {
        let marker: UInt8 = 0b110_11_000
        return [marker] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + [marker]
    }
}
