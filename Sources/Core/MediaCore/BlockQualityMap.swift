/// Tracks the quantizer of each 16 x 16 block's last encoding, and selects batches of blocks with a high one for
/// refinement once they are still. A value: it encodes nothing itself.
public struct BlockQualityMap: Sendable {
    public let size: PixelSize
    /// A block at this quantizer (0 best ... 63 worst) or below looks like the source.
    public let sharpQuantizer: Int
    /// How long a block must have been unchanged before it is refined.
    public let stillTime: MediaDuration

    /// The blocks with a quantizer above `sharpQuantizer`.
    public private(set) var unrefined: BlockMap
    /// The number of blocks in `unrefined`.
    public private(set) var unrefinedCount: Int
    /// The quantizer of each block's last encoding; 255 before the first.
    public private(set) var quantizers: [UInt8]
    private var changes: [MediaInstant]
    /// The cost of refining a block, by the last batches.
    public private(set) var bytesPerBlock = 40.0

    /// Begins with no block encoded, so all are unrefined.
    public init(_ size: PixelSize, sharpQuantizer: Int = 8, stillTime: MediaDuration = .milliseconds(100)) {
        self.size = size
        self.sharpQuantizer = sharpQuantizer
        self.stillTime = stillTime
        unrefined = BlockMap(size, filled: true)
        unrefinedCount = unrefined.blocks.count
        quantizers = [UInt8](repeating: .max, count: unrefinedCount)
        changes = [MediaInstant](repeating: MediaInstant(nanoseconds: .min / 2), count: unrefinedCount)
    }

    /// All blocks were encoded with this quantizer.
    public mutating func noteKeyframe(quantizer: Int) {
        let isUnrefined = quantizer > sharpQuantizer
        for i in quantizers.indices {
            quantizers[i] = UInt8(clamping: quantizer)
            unrefined.blocks[i] = isUnrefined ? 1 : 0
        }
        unrefinedCount = isUnrefined ? quantizers.count : 0
    }

    /// These blocks changed at `instant`, whether encoded or not.
    public mutating func noteChange(_ changed: BlockMap, at instant: MediaInstant) {
        precondition(changed.blocks.count == changes.count, "a map of another size")
        for i in changes.indices where changed.blocks[i] != 0 { changes[i] = instant }
    }

    /// These blocks were encoded with this quantizer.
    public mutating func noteEncoded(_ encoded: BlockMap, quantizer: Int) {
        precondition(encoded.blocks.count == quantizers.count, "a map of another size")
        let quantizer = UInt8(clamping: quantizer)
        for i in quantizers.indices where encoded.blocks[i] != 0 { note(i, quantizer: quantizer) }
    }

    /// The content of blocks was moved: each gets the quantizer of the worst block that it comes from.
    /// - Parameters:
    ///   - columns: of blocks.
    ///   - vector: of a block, in pixels, from where its content is to where it was, up to 15 lines out of the picture;
    ///     nil if it stays.
    public mutating func noteMoved(_ columns: Int, vector: (Int) -> (x: Int, y: Int)?) {
        let old = quantizers
        let rows = old.count / columns
        for index in old.indices {
            guard let vector = vector(index) else { continue }
            let (x, y) = (index % columns * 16 + vector.x, index / columns * 16 + vector.y)
            let right = min((x + 15) / 16, columns - 1)
            let below = min((y + 15) / 16, rows - 1)
            let (top, left) = (y / 16 * columns, x / 16)
            let worst = max(
                max(old[top + left], old[top + right]), max(old[below * columns + left], old[below * columns + right]))
            note(index, quantizer: worst)
        }
    }

    /// A block has lost some of its sharpness without being encoded.
    public mutating func noteSoft(_ index: Int) {
        note(index, quantizer: max(quantizers[index], UInt8(clamping: sharpQuantizer + 1)))
    }

    private mutating func note(_ index: Int, quantizer: UInt8) {
        quantizers[index] = quantizer
        let isUnrefined = Int(quantizer) > sharpQuantizer
        guard (unrefined.blocks[index] != 0) != isUnrefined else { return }
        unrefined.blocks[index] = isUnrefined ? 1 : 0
        unrefinedCount += isUnrefined ? 1 : -1
    }

    /// The frame was set back to an older one, whose blocks had these quantizers.
    public mutating func restore(_ old: [UInt8]) {
        precondition(old.count == quantizers.count, "a map of another size")
        unrefinedCount = 0
        for i in quantizers.indices {
            quantizers[i] = old[i]
            let isUnrefined = Int(old[i]) > sharpQuantizer
            unrefined.blocks[i] = isUnrefined ? 1 : 0
            unrefinedCount += isUnrefined ? 1 : 0
        }
    }

    /// Takes in the cost of a refinement.
    public mutating func noteCost(blocks: Int, bytes: Int) {
        guard blocks > 0, bytes >= 0 else { return }
        let observed = min(max(Double(bytes) / Double(blocks), 2), 800)
        // Follows increases at once, so that a batch rarely exceeds its budget.
        bytesPerBlock = observed > bytesPerBlock ? observed : 0.75 * bytesPerBlock + 0.25 * observed
    }

    /// Adds still, unrefined blocks to the map: highest quantizer first, then from top to bottom. Never allocates.
    /// - Parameter byteBudget: what they may cost, estimated from the last batches.
    /// - Returns: how many were added.
    public func addBatch(to map: inout BlockMap, byteBudget: Int, at instant: MediaInstant) -> Int {
        addBatch(to: &map, of: unrefined, most: Int(Double(max(byteBudget, 0)) / bytesPerBlock), at: instant)
    }

    /// Adds still blocks of `candidates` in the same order, at most so many.
    public func addBatch(to map: inout BlockMap, of candidates: BlockMap, most limit: Int, at instant: MediaInstant)
        -> Int
    {
        precondition(map.blocks.count == quantizers.count && candidates.blocks.count == quantizers.count)
        guard limit > 0, unrefinedCount > 0 else { return 0 }
        // The first pass counts the blocks at each quantizer, the second takes them from the worst quantizer down.
        var counts = InlineArray<256, Int>(repeating: 0)
        let before = instant - stillTime
        for i in quantizers.indices where isEligible(i, candidates, map, before) { counts[Int(quantizers[i])] += 1 }
        var partial = 255
        var room = limit
        while partial > sharpQuantizer, counts[partial] <= room {
            room -= counts[partial]
            partial -= 1
        }
        // All blocks with a quantizer above `partial` fit, and `room` of those at `partial`.
        var added = 0
        for i in quantizers.indices where isEligible(i, candidates, map, before) {
            let quantizer = Int(quantizers[i])
            if quantizer < partial || quantizer == partial && room == 0 { continue }
            if quantizer == partial { room -= 1 }
            map.blocks[i] = 1
            added += 1
        }
        return added
    }

    private func isEligible(_ i: Int, _ candidates: BlockMap, _ map: BlockMap, _ before: MediaInstant) -> Bool {
        candidates.blocks[i] != 0 && changes[i] <= before && map.blocks[i] == 0
    }
}
