/// What a viewer needs to open a broadcast's frames from now on: base keys of each track, with their epochs and steps.
///
/// As bytes: `0x02 | run (16) | count (1)`, then for each key `epoch (4) | track (1) | step (4) | base key (32)`,
/// integers in big-endian order.
public struct FrameKeys: Equatable, Sendable {
    public struct Key: Equatable, Sendable {
        public var epoch: UInt32
        public var track: SealedTrack
        public var step: UInt32
        public var baseKey: [UInt8]
    }

    /// 16 random bytes of one run of the host.
    public var run: [UInt8]
    public var keys: [Key]

    public static let runLength = 16
    private static let version: UInt8 = 2
    private static let headerLength = 18
    private static let keyLength = 41
    private static let keyLimit = 64

    init(run: [UInt8], keys: [Key]) { (self.run, self.keys) = (run, keys) }

    /// Nil unless `bytes` have that form, with 64 keys at most.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerLength, bytes[0] == Self.version else { return nil }
        let count = Int(bytes[17])
        guard count <= Self.keyLimit, bytes.count == Self.headerLength + count * Self.keyLength else { return nil }
        run = Array(bytes[1..<17])
        keys = []
        for start in stride(from: Self.headerLength, to: bytes.count, by: Self.keyLength) {
            guard let track = SealedTrack(rawValue: bytes[start + 4]) else { return nil }
            keys.append(
                Key(
                    epoch: UInt32(bigEndian: bytes[start..<(start + 4)]), track: track,
                    step: UInt32(bigEndian: bytes[(start + 5)..<(start + 9)]),
                    baseKey: Array(bytes[(start + 9)..<(start + Self.keyLength)])))
        }
    }

    public var bytes: [UInt8] {
        keys.reduce([Self.version] + run + [UInt8(keys.count)]) {
            $0 + $1.epoch.bigEndianBytes + [$1.track.rawValue] + $1.step.bigEndianBytes + $1.baseKey
        }
    }
}

/// The secret of an epoch, from which all base keys of its first step follow. Viewers get it before the epoch begins.
///
/// As bytes: `0x03 | run (16) | epoch (4) | secret (32)`.
public struct EpochSecret: Equatable, Sendable {
    /// 16 random bytes of one run of the host.
    public let run: [UInt8]
    public let epoch: UInt32
    /// 32 random bytes.
    let secret: [UInt8]

    private static let version: UInt8 = 3
    private static let secretLength = 32
    private static let length = 53

    init(run: [UInt8], epoch: UInt32, secret: [UInt8]) {
        precondition(
            run.count == FrameKeys.runLength && secret.count == Self.secretLength, "a secret of \(secret.count) bytes")
        (self.run, self.epoch, self.secret) = (run, epoch, secret)
    }

    /// Nil unless `bytes` have that form.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length, bytes[0] == Self.version else { return nil }
        self.init(run: Array(bytes[1..<17]), epoch: UInt32(bigEndian: bytes[17..<21]), secret: Array(bytes[21...]))
    }

    public var bytes: [UInt8] { [Self.version] + run + epoch.bigEndianBytes + secret }

    /// The keys of step 0 of all tracks.
    /// - Parameter broadcast: its identifier as text.
    func keys<Cipher: SFrameCipher>(of broadcast: String, _: Cipher.Type) -> [FrameKeys.Key] {
        let extracted = Cipher.extract(salt: [], secret)
        return SealedTrack.allCases.map { track in
            let info =
                Array("share v1 sframe".utf8) + Array(broadcast.utf8) + run + epoch.bigEndianBytes + [track.rawValue]
            return FrameKeys.Key(
                epoch: epoch, track: track, step: 0,
                baseKey: Cipher.expand(extracted, info: info, count: SFrameSuite.hashLength))
        }
    }
}

extension UInt32 {
    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
