internal import MediaCore

/// State of the base layer of two temporal layers: the blocks that it lacks and its byte budget.
///
/// Frames of layer 1 refer to the base layer only. Each of them therefore codes all blocks that the base lacks, as does
/// the next base frame or the next bands.
struct TemporalBaseLayer {
    var bucket = FrameByteBudget()
    /// The blocks that changed and are not yet coded in the base layer.
    private(set) var missingBlocks = BlockMap(PixelSize(width: 0, height: 0))
    /// Whether a frame of layer 1 has shown blocks that the base lacks, or bands are outstanding.
    private(set) var hasUncodedChanges = false

    mutating func restart(_ size: PixelSize) {
        missingBlocks = BlockMap(size)
        hasUncodedChanges = false
    }

    mutating func note(_ changed: BlockMap) { missingBlocks.formUnion(changed) }

    mutating func recordLayer1() { hasUncodedChanges = true }

    /// Records a base frame that codes these blocks.
    mutating func noteEncoded(_ blocks: BlockMap) {
        missingBlocks.subtract(blocks)
        hasUncodedChanges = !missingBlocks.isEmpty
    }

    /// Records a copy frame, after which the base lacks these blocks.
    mutating func noteMoved(missing: BlockMap) {
        missingBlocks = missing
        hasUncodedChanges = !missing.isEmpty
    }

    mutating func noteKeyframe() {
        missingBlocks.clear()
        hasUncodedChanges = false
    }
}
