/// Bytes from the wire that are not what they claim to be: data to count, not a fault of ours.
public struct RTPMalformed: Error, Hashable, Sendable {
    /// What was wrong first. The raw values are dense from 0, so that they index an array of counters.
    public enum Reason: UInt8, CaseIterable, Sendable {
        /// Fewer bytes than the fixed part or a declared part needs.
        case truncated
        /// The version is not 2.
        case version
        /// A padding count of 0, or more padding than packet.
        case padding
        /// The header extension says that it is longer than the packet.
        case extensionLength
        /// A VP8 payload descriptor that is cut off, or followed by no payload.
        case vp8Descriptor
        /// A VP8 frame that cannot start like this, or whose first partition is longer than the frame.
        case vp8Frame
        /// An RTX payload of one byte, too short for the original sequence number.
        case rtx
        /// An RTCP length field that goes past the datagram.
        case rtcpLength
        /// An RTCP packet whose count asks for more than its length holds.
        case rtcpCount
        /// Feedback whose chunks or deltas end too early, or that uses the reserved status.
        case transportFeedback
        /// Redundant sound whose headers or blocks go past the payload.
        case redundancy
    }

    public let reason: Reason

    public init(_ reason: Reason) { self.reason = reason }
}

/// The caller's buffer is too short for what should be written; nothing of it was written.
public struct BufferFull: Error, Hashable, Sendable {
    public init() {}
}
