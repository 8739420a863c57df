/// A frame that was read from a file: a block, or one of the frames that a block has by lacing.
public struct RecordedBlock: Equatable, Sendable {
    public var track: UInt8
    /// In milliseconds.
    public var time: Int64
    public var isKeyframe: Bool
    public var payload: ArraySlice<UInt8>
    /// Where the SimpleBlock or BlockGroup begins, relative to the cluster's content.
    public var position: Int
}

/// A cluster that was read from a file: RFC 9559 sections 5.1.3 and 10.
public struct RecordedCluster: Equatable, Sendable {
    /// In milliseconds.
    public var timestamp: Int64
    public var blocks: [RecordedBlock]
    /// Blocks that cannot be read: encrypted ones, those with a codec state of their own, and those of tracks whose
    /// number is above 126.
    public var foreignBlocks = 0

    /// Reads the content of a cluster.
    /// - Returns: nil if it is damaged, or has more than `blockLimit` frames. Elements of other kinds are left out.
    public init?(_ content: [UInt8], _ format: BlockFormat = BlockFormat()) {
        var units: Int64?
        timestamp = 0
        blocks = []
        var elements = ElementSequence(content[...])
        while let element = elements.next() {
            switch element.id {
            case .timestamp:
                guard let value = element.content.unsigned.flatMap({ Int64(exactly: $0) }),
                    let time = format.milliseconds(value)
                else { return nil }
                (units, timestamp) = (value, time)
            case .simpleBlock:
                guard let units, let flags = element.content.blockFlags,
                    append(element.content, at: element.start, units, format, isKeyframe: flags & 0x80 != 0)
                else { return nil }
            case .blockGroup:
                guard let units, appendGroup(element.content, at: element.start, units, format) else { return nil }
            case .encryptedBlock: foreignBlocks += 1
            default: break
            }
        }
        guard elements.isAtEnd, units != nil else { return nil }
    }

    /// The smallest blocks are 6 bytes of a file, and ten times as much in memory.
    public static let blockLimit = 100_000

    /// A hundred years, in milliseconds.
    static let latest: Int64 = 3_153_600_000_000

    /// A BlockGroup: a block with what SimpleBlocks have in their flags (RFC 9559 section 5.1.3.5).
    private mutating func appendGroup(
        _ group: ArraySlice<UInt8>, at position: Int, _ units: Int64, _ format: BlockFormat
    ) -> Bool {
        var block: ArraySlice<UInt8>?
        var isKeyframe = true
        var elements = ElementSequence(group)
        while let element = elements.next() {
            switch element.id {
            case .block: block = element.content
            case .referenceBlock: isKeyframe = false
            case .codecState: foreignBlocks += 1
            default: break
            }
        }
        guard elements.isAtEnd, let block else { return false }
        return append(block, at: position, units, format, isKeyframe: isKeyframe)
    }

    //   0                   1                   2                   3
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |1|   track     |  time from the cluster's      |K| - - |I|LAC|D|
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+

    /// - Returns: false if the block is malformed.
    private mutating func append(
        _ block: ArraySlice<UInt8>, at position: Int, _ units: Int64, _ format: BlockFormat, isKeyframe: Bool
    ) -> Bool {
        guard block.count >= 4, let first = block.first, first != 0 else { return false }
        guard first > 0x80, first < 0xFF else {
            // A number of several bytes.
            foreignBlocks += 1
            return true
        }
        let start = block.startIndex
        let relative = Int16(bitPattern: UInt16(block[start + 1]) << 8 | UInt16(block[start + 2]))
        let (sum, overflows) = units.addingReportingOverflow(Int64(relative))
        let lacing = BlockLacing(flags: block[start + 3])
        guard !overflows, let time = format.milliseconds(sum), let frames = lacing.frames(in: block.dropFirst(4))
        else { return false }
        let track = first & 0x7F
        var nanoseconds: Int64 = 0
        for frame in frames where lacing == .none || !frame.isEmpty {
            guard blocks.count < Self.blockLimit else { return false }
            blocks.append(
                RecordedBlock(
                    track: track, time: time + nanoseconds / 1_000_000, isKeyframe: isKeyframe, payload: frame,
                    position: position))
            guard lacing != .none else { continue }
            nanoseconds = min(
                nanoseconds.addingReportingOverflow(format.duration(of: frame, track: track)).partialValue,
                Self.latest)
        }
        return true
    }
}

extension ArraySlice<UInt8> {
    /// The fourth byte of a block; nil if there is none.
    fileprivate var blockFlags: UInt8? { count >= 4 ? self[startIndex + 3] : nil }
}
