/// Where a decoder keeps a frame beside the last one: VP8's golden and alternate reference buffers.
public enum ReferenceSlot: UInt8, Hashable, Sendable, CaseIterable {
    case golden, alternate

    public var other: ReferenceSlot { self == .golden ? .alternate : .golden }
}

/// How a frame stands to those before and after it, for senders that recover from a loss without a key frame.
public struct FrameReferences: Hashable, Sendable {
    /// Counts the frames that the encoder made.
    public var number: UInt32
    /// This frame is kept there. A key frame is kept in both, whatever this says.
    public var stored: ReferenceSlot?
    /// It needs nothing but the frame of this slot, which has that number; nil if it follows the frame before it.
    public var recovered: Recovery?

    public struct Recovery: Hashable, Sendable {
        public var slot: ReferenceSlot
        public var number: UInt32

        public init(slot: ReferenceSlot, number: UInt32) {
            self.slot = slot
            self.number = number
        }
    }

    public init(number: UInt32 = 0, stored: ReferenceSlot? = nil, recovered: Recovery? = nil) {
        self.number = number
        self.stored = stored
        self.recovered = recovered
    }
}
