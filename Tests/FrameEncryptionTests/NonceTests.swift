import FrameEncryption
import MediaCore
import Synchronization
import Testing

@testable import SFrame

/// Takes note of each key with each of its nonces.
private struct RecordingCipher: SFrameCipher {
    static let used = Mutex<Set<[UInt8]>>([])
    static let repeated = Mutex(0)
    static let ratcheted = Mutex(0)

    private let key: [UInt8]
    private let cipher: GCMFrameCipher

    init(key: [UInt8]) { (self.key, cipher) = (key, GCMFrameCipher(key: key)) }

    static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8] { GCMFrameCipher.extract(salt: salt, secret) }
    static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        if info == Array("SFrame 1.0 Ratchet".utf8) { ratcheted.withLock { $0 += 1 } }
        return GCMFrameCipher.expand(key, info: info, count: count)
    }

    func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) {
        if !Self.used.withLock({ $0.insert(key + nonce).inserted }) { Self.repeated.withLock { $0 += 1 } }
        cipher.seal(plaintext, nonce: nonce, authenticating: data, to: &output)
    }

    func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) -> Bool { cipher.open(sealed, nonce: nonce, authenticating: data, to: &output) }
}

/// With AES-GCM, two frames under one key and nonce give both away.
@Suite(.serialized) struct NonceTests {
    /// Key identifiers go round after 512 steps, a restarted host has another run, and several broadcasts of one host
    /// have identifiers of their own.
    @Test func noKeyIsUsedTwiceWithOneNonce() {
        let frame = [UInt8](repeating: 1, count: 20)
        let keyframe = [UInt8](repeating: 0, count: 20)
        var sealedCount = 0
        for (run, broadcast, epoch) in [(1, "A", 0), (2, "A", 0), (1, "B", 0), (1, "A", 16)] {
            var sealer = FrameSealer<RecordingCipher>(
                secret: [UInt8](repeating: 3, count: 32), broadcast: broadcast,
                run: [UInt8](repeating: UInt8(run), count: 16), epoch: UInt32(epoch))
            for number in 0..<3_000 {
                let now = MediaInstant(nanoseconds: 0) + .milliseconds(20 * number)
                let isKeyframe = number % 2 == 0
                if number % 700 == 699 {
                    _ = sealer.prepareEpoch(secret: [UInt8](repeating: UInt8(number / 700), count: 32))
                    sealer.beginEpoch(now: now)
                }
                (isKeyframe ? keyframe : frame).withUnsafeBytes { bytes in
                    for track in [SealedTrack.video0, .video1] {
                        _ = sealer.seal(video: bytes, track, isKeyframe: isKeyframe, now: now)
                    }
                    for track in [SealedTrack.systemAudio, .microphone] {
                        _ = sealer.seal(audio: bytes, track, now: now)
                    }
                }
                sealedCount += 4
            }
        }
        #expect(RecordingCipher.repeated.withLock { $0 } == 0)
        #expect(RecordingCipher.used.withLock { $0.count } == sealedCount)
    }

    /// A relay may name any step, as often as it likes.
    @Test func forgedFramesMakeTheRatchetWorkOnce() {
        let sealer = FrameSealer<RecordingCipher>(
            secret: [UInt8](repeating: 4, count: 32), broadcast: "C", run: [UInt8](repeating: 4, count: 16))
        var opener = FrameOpener<RecordingCipher>(sealer.keys(now: MediaInstant(nanoseconds: 0)))
        let before = RecordingCipher.ratcheted.withLock { $0 }
        for step in (0..<512).flatMap({ [$0, 255 - $0 % 256] }) {
            let id = FrameKeyID(epoch: 0, track: .video0, step: UInt32(step)).value
            let forged = [1, 0, 0] + SFrameHeader(keyID: id, counter: 0).bytes + [UInt8](repeating: 7, count: 40)
            let result = forged.withUnsafeBytes { opener.open($0, .video) }
            #expect(result == .failure(step < 256 ? .forged : .tooOld))
        }
        #expect(RecordingCipher.ratcheted.withLock { $0 } - before == 255)
    }
}
