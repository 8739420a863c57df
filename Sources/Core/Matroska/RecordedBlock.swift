/// A block that was read from a file.
public struct RecordedBlock: Equatable, Sendable {
    public var track: UInt8
    /// In milliseconds.
    public var time: Int64
    public var isKeyframe: Bool
    public var payload: ArraySlice<UInt8>
    /// Where the SimpleBlock begins, relative to the cluster's content.
    public var position: Int
}

/// A cluster that was read from a file.
public struct RecordedCluster: Equatable, Sendable {
    /// In milliseconds.
    public var timestamp: Int64
    public var blocks: [RecordedBlock]

    /// Reads the content of a cluster.
    /// - Returns: nil if it is damaged. Elements of other kinds, and blocks with lacing, are left out.
    public init?(_ content: [UInt8]) {
        var timestamp: Int64?
        blocks = []
        var elements = ElementSequence(content[...])
        while let element = elements.next() {
            switch element.id {
            case .timestamp:
                guard let value = element.content.unsigned, value <= UInt64(Self.latest) else { return nil }
                timestamp = Int64(value)
            case .simpleBlock:
                guard let timestamp, let block = Self.block(element.content, timestamp, element.start) else {
                    return nil
                }
                blocks.append(block)
            default: break
            }
        }
        guard elements.isAtEnd, let timestamp else { return nil }
        self.timestamp = timestamp
    }

    /// A hundred years, in milliseconds.
    private static let latest: Int64 = 3_153_600_000_000

    private static func block(_ bytes: ArraySlice<UInt8>, _ timestamp: Int64, _ position: Int) -> RecordedBlock? {
        guard bytes.count >= 4, let first = bytes.first, first > 0x80, first < 0xFF else { return nil }
        let start = bytes.startIndex
        let relative = Int16(bitPattern: UInt16(bytes[start + 1]) << 8 | UInt16(bytes[start + 2]))
        let flags = bytes[start + 3]
        guard flags & 0x06 == 0 else { return nil }
        return RecordedBlock(
            track: first & 0x7F, time: timestamp + Int64(relative), isKeyframe: flags & 0x80 != 0,
            payload: bytes.dropFirst(4), position: position)
    }
}
