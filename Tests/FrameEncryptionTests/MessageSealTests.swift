import MediaCore
import Testing

@testable import FrameEncryption
@testable import SFrame

/// What passes a relay between a viewer and its host, and what the host tells all.
@Suite struct MessageSealTests {
    private typealias Seal = MessageSeal<GCMFrameCipher>

    private let key = [UInt8](repeating: 7, count: 16)
    private let text = Array("Hello".utf8)

    @Test func theOtherSideOpensWhatWasSealed() throws {
        let sealed = Seal.seal(text, key: key, counter: 258, instance: [1, 2, 3, 4])
        #expect(sealed.starts(with: [0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 3, 4]) && sealed.count == 12 + 5 + 16)
        let opened = try #require(Seal.open(sealed, key: key))
        #expect(opened.counter == 258 && opened.text == text)
    }

    @Test func noChangedByteIsOpened() {
        let sealed = Seal.seal(text, key: key, counter: 1, instance: [1, 2, 3, 4])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x80
            #expect(Seal.open(changed, key: key) == nil, "byte \(index)")
        }
        for count in 0..<sealed.count { #expect(Seal.open(Array(sealed.prefix(count)), key: key) == nil) }
        #expect(Seal.open(sealed + [0], key: key) == nil)
        #expect(Seal.open(sealed, key: [UInt8](repeating: 8, count: 16)) == nil)
    }

    @Test func twoRunsNeverUseOneNonceForTheSameCounter() {
        let one = Seal.seal(text, key: key, counter: 1, instance: [1, 2, 3, 4])
        let other = Seal.seal(text, key: key, counter: 1, instance: [1, 2, 3, 5])
        #expect(one.dropFirst(12) != other.dropFirst(12))
    }

    @Test func aMessageIsTakenOnceInWhateverOrder() {
        var window = MessageWindow()
        let counters: [UInt64] = [3, 1, 2, 3, 1, 2, 2_000, 4, 1_999, .max, 2_001]
        let taken = counters.map { window.takes($0) }
        #expect(taken == [true, true, true, false, false, false, true, false, true, false, true])
    }

    // MARK: For all

    private func open(_ frame: [UInt8], _ kind: SealedTrack.Kind, by opener: inout BroadcastOpener)
        -> Result<[UInt8], BroadcastOpener.Failure>
    {
        frame.withUnsafeBytes { opener.open($0, kind) }
    }

    @Test func anEventForAllIsOpenedOnceAndByMembersAlone() throws {
        var now = MediaInstant(nanoseconds: 1_000_000_000)
        var sealer = BroadcastSealer(
            secret: [UInt8](repeating: 1, count: 32), broadcast: "0123456789ABC", run: [UInt8](repeating: 2, count: 16))
        func sealed() throws -> [UInt8] {
            try #require(text.withUnsafeBytes { sealer.seal(message: $0, now: now) })
        }
        let before = try sealed()
        var opener = BroadcastOpener(sealer.keys(now: now))
        now = now + .seconds(3)
        let frame = try sealed()
        var changed = frame
        changed[changed.count - 1] ^= 1
        let results = [
            open(changed, .messages, by: &opener), open(frame, .audio, by: &opener),
            open(frame, .messages, by: &opener), open(frame, .messages, by: &opener),
            open(before, .messages, by: &opener),
        ]
        #expect(
            results == [
                .failure(.forged), .failure(.malformed), .success(text), .failure(.replayed), .success(text),
            ])
        // Who comes later opens nothing from before.
        var newcomer = BroadcastOpener(sealer.keys(now: now + .seconds(2)))
        let ofNewcomer = open(before, .messages, by: &newcomer)
        #expect(ofNewcomer != .success(text))
        // Who was removed opens nothing of the next epoch.
        _ = sealer.prepareEpoch(secret: [UInt8](repeating: 3, count: 32))
        sealer.beginEpoch(now: now)
        let next = open(try sealed(), .messages, by: &opener)
        #expect(next == .failure(.unknownKey))
    }
}
