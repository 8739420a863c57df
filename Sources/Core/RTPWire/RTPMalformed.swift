/// The error of malformed bytes from the network, which are counted.
public struct RTPMalformed: Error, Hashable, Sendable {
    /// The first fault found. The raw values are dense from 0, so that they index an array of counters.
    public enum Reason: UInt8, CaseIterable, Sendable {
        /// Fewer bytes than the fixed part or a declared part needs.
        case truncated
        /// The version is not 2.
        case version
        /// A padding count of 0, or more padding than the packet has bytes.
        case padding
        /// The header extension says that it is longer than the packet.
        case extensionLength
        /// A VP8 payload descriptor that is cut off, or followed by no payload.
        case vp8Descriptor
        /// A VP8 frame with an invalid header, or whose first partition is longer than the frame.
        case vp8Frame
        /// An RTX payload of one byte, too short for the original sequence number.
        case rtx
        /// An RTCP length field that goes past the datagram.
        case rtcpLength
        /// An RTCP packet whose count needs more bytes than its length provides.
        case rtcpCount
        /// Feedback whose chunks or deltas end too early, or that uses the reserved status.
        case transportFeedback
        /// Redundant audio whose headers or blocks exceed the payload.
        case redundancy
        /// A payload of VP9, H.264, H.265 or AV1 that is cut off, or of a kind that was not negotiated.
        case payloadFormat
    }

    public let reason: Reason

    public init(_ reason: Reason) { self.reason = reason }
}

/// The caller's buffer is too short; nothing was written.
public struct BufferFull: Error, Hashable, Sendable {
    public init() {}
}
