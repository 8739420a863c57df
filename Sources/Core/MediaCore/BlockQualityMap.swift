/// Remembers for each 16 x 16 block of a picture how well its last encoding was, so that what is still soft can be sharpened when
/// it rests, a batch at a time. A value: it encodes nothing itself.
public struct BlockQualityMap: Sendable {
    public let size: PixelSize
    /// A block at this quantizer (0 best ... 63) or a better one cannot be told from the source.
    public let sharpQuantizer: Int
    /// How long a block must not have changed before it is worth sharpening.
    public let rest: MediaDuration

    /// The blocks that are softer than `sharpQuantizer`.
    public private(set) var soft: BlockMap
    /// How many those are.
    public private(set) var softCount: Int
    /// Of each block's last encoding; 255 before the first.
    public private(set) var quantizers: [UInt8]
    private var changes: [MediaInstant]
    /// What sharpening a block has cost lately.
    private var bytesPerBlock = 40.0

    /// Nothing is encoded yet, so all blocks are as soft as can be.
    public init(_ size: PixelSize, sharpQuantizer: Int = 8, rest: MediaDuration = .milliseconds(100)) {
        self.size = size
        self.sharpQuantizer = sharpQuantizer
        self.rest = rest
        soft = BlockMap(size, filled: true)
        softCount = soft.blocks.count
        quantizers = [UInt8](repeating: .max, count: softCount)
        changes = [MediaInstant](repeating: MediaInstant(nanoseconds: .min / 2), count: softCount)
    }

    /// The whole picture was encoded anew.
    public mutating func noteKeyframe(quantizer: Int) {
        let isSoft = quantizer > sharpQuantizer
        for i in quantizers.indices {
            quantizers[i] = UInt8(clamping: quantizer)
            soft.blocks[i] = isSoft ? 1 : 0
        }
        softCount = isSoft ? quantizers.count : 0
    }

    /// These blocks showed new pixels at `instant`, encoded or not.
    public mutating func noteChange(_ changed: BlockMap, at instant: MediaInstant) {
        precondition(changed.blocks.count == changes.count, "a map of another size")
        for i in changes.indices where changed.blocks[i] != 0 { changes[i] = instant }
    }

    /// These blocks were encoded.
    public mutating func noteEncoded(_ encoded: BlockMap, quantizer: Int) {
        precondition(encoded.blocks.count == quantizers.count, "a map of another size")
        let isSoft = quantizer > sharpQuantizer
        for i in quantizers.indices where encoded.blocks[i] != 0 {
            quantizers[i] = UInt8(clamping: quantizer)
            guard (soft.blocks[i] != 0) != isSoft else { continue }
            soft.blocks[i] = isSoft ? 1 : 0
            softCount += isSoft ? 1 : -1
        }
    }

    /// The whole picture went back to an older state, of which these were the `quantizers`.
    public mutating func restore(_ old: [UInt8]) {
        precondition(old.count == quantizers.count, "a map of another size")
        softCount = 0
        for i in quantizers.indices {
            quantizers[i] = old[i]
            let isSoft = Int(old[i]) > sharpQuantizer
            soft.blocks[i] = isSoft ? 1 : 0
            softCount += isSoft ? 1 : 0
        }
    }

    /// Sharpening so many blocks took so many bytes.
    public mutating func noteCost(blocks: Int, bytes: Int) {
        guard blocks > 0, bytes >= 0 else { return }
        let observed = min(max(Double(bytes) / Double(blocks), 2), 800)
        // A little more than the average, so that a batch rarely exceeds its budget.
        bytesPerBlock = observed > bytesPerBlock ? observed : 0.75 * bytesPerBlock + 0.25 * observed
    }

    /// Adds soft blocks that rest to the map: the softest first, then from top to bottom. Allocates nothing.
    /// - Parameter byteBudget: what they may cost, as far as the past tells.
    /// - Returns: how many were added.
    public func addBatch(to map: inout BlockMap, byteBudget: Int, at instant: MediaInstant) -> Int {
        precondition(map.blocks.count == quantizers.count, "a map of another size")
        let limit = Int(Double(max(byteBudget, 0)) / bytesPerBlock)
        guard limit > 0, softCount > 0 else { return 0 }
        // One pass counts what there is at each quantizer; the next takes from the worst down.
        var counts = InlineArray<256, Int>(repeating: 0)
        let before = instant - rest
        for i in quantizers.indices where isEligible(i, map, before) { counts[Int(quantizers[i])] += 1 }
        var partial = 255
        var room = limit
        while partial > sharpQuantizer, counts[partial] <= room {
            room -= counts[partial]
            partial -= 1
        }
        // All that are worse than `partial` fit, and `room` of those at it.
        var added = 0
        for i in quantizers.indices where isEligible(i, map, before) {
            let quantizer = Int(quantizers[i])
            if quantizer < partial || quantizer == partial && room == 0 { continue }
            if quantizer == partial { room -= 1 }
            map.blocks[i] = 1
            added += 1
        }
        return added
    }

    private func isEligible(_ i: Int, _ map: BlockMap, _ before: MediaInstant) -> Bool {
        soft.blocks[i] != 0 && changes[i] <= before && map.blocks[i] == 0
    }
}
