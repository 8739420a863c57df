/// The buffers in which VP8 stores a long-term reference: golden and alternate reference (RFC 6386 section 9.7).
public enum ReferenceSlot: UInt8, Hashable, Sendable, CaseIterable {
    case golden, alternate

    public var other: ReferenceSlot { self == .golden ? .alternate : .golden }
}

/// The reference structure of one frame, for recovery from loss without a key frame.
public struct FrameReferences: Hashable, Sendable {
    /// Number of the frame, counted by the encoder.
    public var number: UInt32
    /// The buffer in which this frame is stored as a long-term reference; nil for none. A key frame is always stored in
    /// both.
    public var stored: ReferenceSlot?
    /// For a recovery frame: the long-term reference that it is predicted from, by buffer and frame number. nil if it
    /// refers to the frame before it.
    public var source: Recovery?

    /// The long-term reference that a recovery frame is predicted from.
    public struct Recovery: Hashable, Sendable {
        public var slot: ReferenceSlot
        public var number: UInt32

        public init(slot: ReferenceSlot, number: UInt32) {
            self.slot = slot
            self.number = number
        }
    }

    public init(number: UInt32 = 0, stored: ReferenceSlot? = nil, source: Recovery? = nil) {
        self.number = number
        self.stored = stored
        self.source = source
    }
}
