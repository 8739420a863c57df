internal import MediaCore
internal import VideoBitstream

/// Finds in which direction and how far content has moved, by anchors: places whose pixels have a certain hash,
/// wherever they lie, as one of 64 has. Anchors that are equal in eight lines and occur once vote for the vector
/// between them.
struct DragDetector {
    private struct Anchor {
        var hash: UInt64 = 0
        var x: Int32 = 0
        var y: Int32 = 0
        /// 0: there is none.
        var count = 0
    }

    private static let anchorBits = 15
    private static let voteBits = 13
    /// On the canvas each fourth line is looked at.
    private static let step = 4
    private static let leastVotes = 12
    /// The lines that an anchor spans.
    private static let height = 8

    private var anchors: [Anchor] = []
    private var votes: [(key: Int32, count: Int32)] = []
    private var usedVotes = 0

    /// - Parameters:
    ///   - coded: what the viewers have.
    ///   - map: the blocks that are to be explained.
    /// - Returns: the vector that most anchors in the blocks agree on; nil if there is none.
    mutating func vector(from coded: I420Frame, to canvas: I420Frame, in map: BlockMap) -> VP8MotionVector? {
        clear()
        Self.forEachAnchor(coded, map, step: 1) { hash, x, y in
            let slot = Int(hash & UInt64(anchors.count - 1))
            guard anchors[slot].count == 0 || anchors[slot].hash == hash else { return }
            anchors[slot] = Anchor(hash: hash, x: Int32(x), y: Int32(y), count: anchors[slot].count + 1)
        }
        Self.forEachAnchor(canvas, map, step: Self.step) { hash, x, y in
            let anchor = anchors[Int(hash & UInt64(anchors.count - 1))]
            guard anchor.count == 1, anchor.hash == hash else { return }
            vote(x: Int(anchor.x) - x, y: Int(anchor.y) - y)
        }
        guard let best = votes.max(by: { $0.count < $1.count }), best.count >= Self.leastVotes else { return nil }
        return VP8MotionVector(x: Int(best.key >> 16), y: Int(Int16(truncatingIfNeeded: best.key)))
    }

    private mutating func clear() {
        if anchors.isEmpty {
            anchors = [Anchor](repeating: Anchor(), count: 1 << Self.anchorBits)
            votes = [(key: Int32, count: Int32)](repeating: (0, 0), count: 1 << Self.voteBits)
        }
        for index in anchors.indices { anchors[index].count = 0 }
        for index in votes.indices { votes[index] = (0, 0) }
        usedVotes = 0
    }

    private mutating func vote(x: Int, y: Int) {
        guard x != 0 || y != 0, abs(x) < 1 << 14, abs(y) < 1 << 14 else { return }
        let key = Int32(x) << 16 | Int32(UInt16(truncatingIfNeeded: y))
        var slot = Int((UInt32(bitPattern: key) &* 2_654_435_761) >> UInt32(32 - Self.voteBits))
        while votes[slot].count > 0, votes[slot].key != key { slot = (slot + 1) & (votes.count - 1) }
        if votes[slot].count == 0 {
            // Half of the table is left free, so that searching ends.
            guard usedVotes < votes.count / 2 else { return }
            usedVotes += 1
        }
        votes[slot] = (key, votes[slot].count + 1)
    }

    private static func forEachAnchor(
        _ frame: I420Frame, _ map: BlockMap, step: Int, _ body: (UInt64, Int, Int) -> Void
    ) {
        let (width, height) = (frame.size.width, frame.size.height)
        for y in stride(from: 0, to: height - Self.height + 1, by: step) {
            let line = UnsafeRawPointer(frame.y + y * frame.strideY)
            let first = (y >> 4) * map.columns
            for column in 0..<map.columns where map.blocks[first + column] != 0 {
                let end = min(column * 16 + 16, width - 7)
                var x = column * 16
                while x < end {
                    let pixels = line.loadUnaligned(fromByteOffset: x, as: UInt64.self)
                    if (pixels &* 0x9E37_79B9_7F4A_7C15) >> 58 == 0, pixels != (pixels << 8 | pixels >> 56) {
                        body(hash(pixels, line + x, frame.strideY), x, y)
                    }
                    x &+= 1
                }
            }
        }
    }

    private static func hash(_ pixels: UInt64, _ start: UnsafeRawPointer, _ stride: Int) -> UInt64 {
        var sum = pixels &* 0xC2B2_AE3D_27D4_EB4F
        for line in [3, 7] {
            let word = start.loadUnaligned(fromByteOffset: line * stride, as: UInt64.self)
            sum = (sum ^ sum >> 29 ^ word) &* 0x9E37_79B9_7F4A_7C15
        }
        return sum ^ sum >> 32
    }
}
