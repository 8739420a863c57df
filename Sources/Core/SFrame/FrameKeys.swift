/// What a viewer needs to open a broadcast's frames from now on: a base key of each track, with its step.
///
/// As bytes: `0x01 | run (16) | epoch (4) | count (1)`, then for each key `track (1) | step (4) | base key (32)`,
/// integers in big-endian order.
public struct FrameKeys: Equatable, Sendable {
    public struct Key: Equatable, Sendable {
        public var track: SealedTrack
        public var step: UInt32
        public var baseKey: [UInt8]
    }

    /// 16 random bytes of one run of the host.
    public var run: [UInt8]
    public var epoch: UInt32
    public var keys: [Key]

    public static let runLength = 16
    private static let version: UInt8 = 1
    private static let headerLength = 22
    private static let keyLength = 37
    private static let keyLimit = 32

    init(run: [UInt8], epoch: UInt32, keys: [Key]) { (self.run, self.epoch, self.keys) = (run, epoch, keys) }

    /// Nil unless `bytes` have that form, with 32 keys at most.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerLength, bytes[0] == Self.version else { return nil }
        let count = Int(bytes[21])
        guard count <= Self.keyLimit, bytes.count == Self.headerLength + count * Self.keyLength else { return nil }
        run = Array(bytes[1..<17])
        epoch = Self.integer(bytes[17..<21])
        keys = []
        for start in stride(from: Self.headerLength, to: bytes.count, by: Self.keyLength) {
            guard let track = SealedTrack(rawValue: bytes[start]) else { return nil }
            keys.append(
                Key(
                    track: track, step: Self.integer(bytes[(start + 1)..<(start + 5)]),
                    baseKey: Array(bytes[(start + 5)..<(start + Self.keyLength)])))
        }
    }

    public var bytes: [UInt8] {
        keys.reduce([Self.version] + run + epoch.bigEndianBytes + [UInt8(keys.count)]) {
            $0 + [$1.track.rawValue] + $1.step.bigEndianBytes + $1.baseKey
        }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
