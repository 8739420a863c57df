public import MediaCore

/// The long-term references of a frame, in a header extension on the frame's first packet; used between native peers.
///
///      0                   1                   2
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |S|s|R|r| zero  |0|         PictureID           |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///
/// S: the frame is stored in the golden (s = 0) or the alternate (s = 1) buffer. R: the frame refers only to the golden
/// (r = 0) or alternate (r = 1) buffer, which holds the frame of that PictureID. Without R the PictureID is 0.
public struct LongTermReferencesElement: Hashable, Sendable {
    static let length = 3

    public var stored: ReferenceSlot?
    public var source: Source?

    public struct Source: Hashable, Sendable {
        public var slot: ReferenceSlot
        /// 15 bits.
        public var pictureID: UInt16

        public init(slot: ReferenceSlot, pictureID: UInt16) {
            self.slot = slot
            self.pictureID = pictureID & 0x7FFF
        }
    }

    public init(stored: ReferenceSlot? = nil, source: Source? = nil) {
        self.stored = stored
        self.source = source
    }

    /// Nil if the bits have no meaning, or are a combination that no native sender writes.
    init?(bits: UInt32) {
        let slot = { (bit: Int) -> ReferenceSlot in bits >> bit & 1 == 0 ? .golden : .alternate }
        guard bits & 0x0F_8000 == 0, bits >> 21 & 5 != 0 else { return nil }
        stored = bits >> 23 & 1 == 1 ? slot(22) : nil
        source = bits >> 21 & 1 == 1 ? Source(slot: slot(20), pictureID: UInt16(bits & 0x7FFF)) : nil
        // A frame cannot replace the buffer that it is predicted from, as other frames may be predicted from it, too.
        if let stored, stored == source?.slot { return nil }
    }

    var bits: UInt32 {
        var bits: UInt32 = 0
        if let stored { bits |= 1 << 23 | UInt32(stored.rawValue) << 22 }
        if let source { bits |= 1 << 21 | UInt32(source.slot.rawValue) << 20 | UInt32(source.pictureID) }
        return bits
    }
}
