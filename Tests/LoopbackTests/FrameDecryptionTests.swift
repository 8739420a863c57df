import FrameEncryption
import MediaCore
import MediaEngine
import SFrame
import Testing

@testable import Viewer

/// Which keys a viewer uses, and for how long.
@Suite struct FrameDecryptionTests {
    private var sealer = BroadcastSealer(
        secret: [UInt8](repeating: 9, count: 32), broadcast: "0000000000000", run: [UInt8](repeating: 7, count: 16))
    private let keys: BroadcastKeys
    private var decryption: FrameDecryption

    init() {
        keys = BroadcastKeys(sealer.keys(now: Self.time(0)), of: "0000000000000")
        decryption = FrameDecryption(keys)
    }

    private static func time(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private mutating func packet(at milliseconds: Int) throws -> [UInt8] {
        let sealed = ([0x78] + [UInt8](repeating: 1, count: 20)).withUnsafeBytes {
            sealer.seal(audio: $0, .systemAudio, now: Self.time(milliseconds))
        }
        return try #require(sealed)
    }

    private mutating func isOpened(_ packet: [UInt8], at milliseconds: Int) -> Bool {
        packet.withUnsafeBytes { decryption.open(audio: $0, isPeek: true, now: Self.time(milliseconds)) } != nil
    }

    private mutating func prepareEpoch() -> HandedKeys {
        .epoch(sealer.prepareEpoch(secret: [UInt8](repeating: 5, count: 32)))
    }

    @Test mutating func theFormerEpochIsOverTwoSecondsAfterTheFirstFrameOfTheNext() throws {
        let former = try packet(at: 0)
        #expect(isOpened(former, at: 0))
        keys.add(prepareEpoch())
        sealer.beginEpoch(now: Self.time(100))
        let next = try packet(at: 100)
        #expect(isOpened(next, at: 1_000) && isOpened(former, at: 2_999))
        // A session that begins meanwhile does not make it last.
        decryption.beginSession()
        #expect(isOpened(next, at: 3_000) && isOpened(former, at: 3_001))
        #expect(!isOpened(former, at: 5_001) && isOpened(next, at: 5_002))
        var another = FrameDecryption(keys)
        let isKept = former.withUnsafeBytes { another.open(audio: $0, isPeek: true, now: Self.time(5_003)) } != nil
        #expect(!isKept)
    }

    /// A relay passes the keys on, and holds back the frames.
    @Test mutating func theFormerEpochIsOverFourSecondsAfterTheNextWasAnnounced() throws {
        let former = try packet(at: 0)
        #expect(isOpened(former, at: 0))
        keys.add(prepareEpoch())
        #expect(isOpened(former, at: 60_000) && isOpened(former, at: 63_999))
        #expect(!isOpened(former, at: 64_000))
    }

    /// Missing keys are asked for once a second, and are no sign of a forger.
    @Test mutating func missingKeysAreAskedFor() throws {
        _ = prepareEpoch()
        sealer.beginEpoch(now: Self.time(0))
        for number in 0..<50 { #expect(!isOpened(try packet(at: number), at: number)) }
        let asks = (0..<2_000).count { decryption.takesKeyRequest(Self.time($0)) }
        #expect(asks == 1 && !decryption.isTampered)
        #expect(!isOpened(try packet(at: 2_000), at: 2_000))
        let asksAgain = decryption.takesKeyRequest(Self.time(2_000))
        keys.add(.keys(sealer.keys(now: Self.time(2_001))))
        #expect(isOpened(try packet(at: 2_001), at: 2_001))
        let asksLater = decryption.takesKeyRequest(Self.time(9_000))
        #expect(asksAgain && !asksLater)
    }

    @Test func requestsForKeysAreFewerWhileTheyDoNotHelp() {
        var limiter = KeyRequestLimiter()
        var times: [Int] = []
        for second in 0..<200 where limiter.begin(Self.time(second * 1_000)) {
            let isTwice = limiter.begin(Self.time(second * 1_000))
            #expect(!isTwice)
            times.append(second)
            limiter.ended(Self.time(second * 1_000), hasHelped: second >= 100)
        }
        #expect(times.prefix(8) == [0, 1, 3, 7, 15, 31, 61, 91])
        #expect(times.dropFirst(8).prefix(4) == [121, 122, 123, 124])
    }
}
