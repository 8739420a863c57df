public import MediaCore

/// The two blocks of an extended report by which a receiver measures the round trip time: RFC 3611 sections 4.4 and
/// 4.5. All other blocks are skipped. Borrows the bytes.
public struct ExtendedReport {
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |                     SSRC of who reports                       |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |     BT=4      |   reserved    |       block length = 2        |
    //  |                 receiver's NTP time, 64 bits                  |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |     BT=5      |   reserved    | block length = 3 x receivers  |
    //  |   SSRC of the receiver, x receivers                           |
    //  |   last RR (LRR): middle 32 bits of the receiver's time        |
    //  |   delay since last RR (DLRR), in 1/65536 s                    |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    private enum BlockType {
        static let receiverTime: UInt8 = 4
        static let delays: UInt8 = 5
    }

    /// One entry of a DLRR block: the receiver's last reference time and its delay at the sender.
    public struct DLRRSubBlock: Hashable, Sendable {
        /// The receiver's SSRC.
        public var ssrc: UInt32
        /// The middle 32 bits of the receiver's reference time.
        public var lastTime: UInt32
        /// The delay in 1/65536 s.
        public var delay: UInt32

        public init(ssrc: UInt32, lastTime: UInt32, delay: UInt32) {
            self.ssrc = ssrc
            self.lastTime = lastTime
            self.delay = delay
        }

        /// Returns the round trip time, as `ReportBlock.roundTripTime` does.
        public func roundTripTime(now: NTPTimestamp) -> MediaDuration? {
            ReportBlock(ssrc: ssrc, lastSenderReport: lastTime, delaySinceLastSenderReport: delay)
                .roundTripTime(now: now)
        }
    }

    /// The SSRC of the reporter.
    public let ssrc: UInt32
    /// The reporter's NTP time; nil without that block.
    public private(set) var time: NTPTimestamp?
    private var answers = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Throws: `.rtcpCount` if a block is longer than the packet.
    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        guard reader.remaining >= 4 else { throw RTPMalformed(.rtcpCount) }
        ssrc = try reader.uint32()
        while reader.remaining >= 4 {
            let type = try reader.uint8()
            try reader.skip(1)
            let length = Int(try reader.uint16()) &* 4
            guard length <= reader.remaining else { throw RTPMalformed(.rtcpCount) }
            let block = try reader.bytes(length)
            switch (type, length) {
            case (BlockType.receiverTime, 8):
                var fields = ByteReader(block)
                time = NTPTimestamp(rawValue: try fields.uint64())
            case (BlockType.delays, _): answers = block
            default: break
            }
        }
    }

    /// Returns the last DLRR entry for a receiver.
    public func dlrr(for ssrc: UInt32) -> DLRRSubBlock? {
        var reader = ByteReader(answers)
        var found: DLRRSubBlock?
        while reader.remaining >= 12 {
            guard let receiver = try? reader.uint32(), let time = try? reader.uint32(), let delay = try? reader.uint32()
            else { break }
            if receiver == ssrc { found = DLRRSubBlock(ssrc: receiver, lastTime: time, delay: delay) }
        }
        return found
    }

    /// Writes a receiver reference time report, 20 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(ssrc: UInt32, time: NTPTimestamp, into writer: inout ByteWriter) throws(BufferFull) {
        let start = try open(ssrc, BlockType.receiverTime, words: 2, &writer)
        try writer.write(uint32: time.seconds)
        try writer.write(uint32: time.fraction)
        writer.closeRTCP(start)
    }

    /// Writes a DLRR report for one receiver, 24 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(ssrc: UInt32, answer: DLRRSubBlock, into writer: inout ByteWriter) throws(BufferFull) {
        let start = try open(ssrc, BlockType.delays, words: 3, &writer)
        try writer.write(uint32: answer.ssrc)
        try writer.write(uint32: answer.lastTime)
        try writer.write(uint32: answer.delay)
        writer.closeRTCP(start)
    }

    /// Begins a report with one block of `words` words after its header.
    /// - Returns: the argument for `closeRTCP`.
    private static func open(
        _ ssrc: UInt32, _ type: UInt8, words: Int, _ writer: inout ByteWriter
    ) throws(BufferFull) -> Int {
        let start = try writer.openRTCP(type: RTCPType.extendedReport, count: 0, bodyLength: 8 &+ 4 &* words)
        try writer.write(uint32: ssrc)
        try writer.write(uint8: type)
        try writer.write(uint8: 0)
        try writer.write(uint16: UInt16(words))
        return start
    }
}
