import FrameEncryption
import MediaCore
import Testing

@testable import SFrame

@Suite struct SealedFrameTests {
    private static let run = [UInt8](repeating: 7, count: 16)
    private var sealer = BroadcastSealer(
        secret: [UInt8](repeating: 9, count: 32), broadcast: "0000000000000", run: run, epoch: 0)

    private static func frame(_ isKeyframe: Bool, _ count: Int = 100) -> [UInt8] {
        [isKeyframe ? 0x10 : 0x11] + (1..<UInt8(count)).map { $0 }
    }

    private mutating func seal(_ isKeyframe: Bool, at second: Int = 0) throws -> [UInt8] {
        let sealed = Self.frame(isKeyframe).withUnsafeBytes {
            sealer.seal(video: $0, .video0, isKeyframe: isKeyframe, now: .zero + .seconds(second))
        }
        return try #require(sealed)
    }

    private func open(
        _ frame: [UInt8], _ opener: inout BroadcastOpener, _ kind: SealedTrack.Kind = .video, isPeek: Bool = false
    ) -> Result<[UInt8], BroadcastOpener.Failure> {
        frame.withUnsafeBytes { opener.open($0, kind, isPeek: isPeek) }
    }

    @Test mutating func framesArriveAsTheyWere() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        for isKeyframe in [true, false, false, true, false] {
            let sealed = try seal(isKeyframe)
            // One byte of configuration, two of key identifier, three of counter, and 16 of tag, at most.
            #expect(sealed.count <= 100 + 22)
            #expect(sealed.prefix(isKeyframe ? 10 : 3) == Self.frame(isKeyframe).prefix(isKeyframe ? 10 : 3))
            #expect(open(sealed, &opener) == .success(Self.frame(isKeyframe)))
        }
    }

    @Test mutating func soundHasKeysOfItsOwn() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        for index in 0..<300 {
            let packet: [UInt8] = [0x78] + (0..<UInt8(index % 20)).map { $0 }
            let now = MediaInstant.zero + .milliseconds(20 * index)
            let track: SealedTrack = index % 2 == 0 ? .systemAudio : .microphone
            let made = packet.withUnsafeBytes { sealer.seal(audio: $0, track, now: now) }
            let sealed = try #require(made)
            #expect(open(sealed, &opener, .video) != .success(packet))
            #expect(open(sealed, &opener, .audio, isPeek: true) == .success(packet))
            #expect(open(sealed, &opener, .audio) == .success(packet))
            #expect(open(sealed, &opener, .audio) == .failure(.replayed))
        }
        // Two steps of two seconds each after the first one.
        let keys = sealer.keys(now: .zero + .seconds(60))
        #expect(keys.keys.first { $0.track == .microphone }?.step == 3)
        let empty = sealer.seal(audio: UnsafeRawBufferPointer(start: nil, count: 0), .microphone, now: .zero)
        #expect(empty == nil)
    }

    @Test mutating func aNewcomerOpensNothingOlder() throws {
        let before = [try seal(true), try seal(false)]
        let present = [try seal(true, at: 1), try seal(false, at: 1)]
        var newcomer = BroadcastOpener(sealer.keys(now: .zero + .seconds(3)))
        for frame in before { #expect(open(frame, &newcomer) == .failure(.tooOld)) }
        for frame in present { #expect(try open(frame, &newcomer).get().count == 100) }
        // Frames of the key before the newest one may still be on the way for a second.
        var early = BroadcastOpener(sealer.keys(now: .zero + .milliseconds(1_500)))
        for frame in before + present { #expect(try open(frame, &early).get().count == 100) }
    }

    @Test mutating func anybodyWhoHasMissedKeyFramesCatchesUp() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        for _ in 0..<254 { _ = try seal(true) }
        let late = try seal(true)
        #expect(try open(late, &opener).get().count == 100)
        // Beyond that a step is taken for one that lies back.
        for _ in 0..<256 { _ = try seal(true) }
        #expect(open(try seal(false), &opener) == .failure(.tooOld))
        opener.add(sealer.keys(now: .zero + .seconds(9)))
        #expect(try open(try seal(false), &opener).get().count == 100)
    }

    @Test mutating func stepsGoRoundAsOftenAsNeeded() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        for _ in 0..<1_100 { #expect(try open(try seal(true), &opener).get().count == 100) }
    }

    @Test func theLastCounterIsNeverTaken() {
        var window = ReplayWindow()
        #expect(!window.allows(.max) && window.allows(.max - 1))
        window.note(.max - 1)
        #expect(!window.allows(.max) && !window.allows(.max - 1) && window.allows(.max - 2))
    }

    @Test mutating func framesMayComeInAnotherOrder() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        var frames = [try seal(true)]
        for _ in 1..<1_024 { frames.append(try seal(false)) }
        for frame in frames.reversed() { #expect(try open(frame, &opener).get().count == 100) }
        for frame in frames { #expect(open(frame, &opener) == .failure(.replayed)) }
        frames = [try seal(false)]
        for _ in 0..<1_024 { frames.append(try seal(false)) }
        #expect(try open(frames[1_024], &opener).get().count == 100)
        #expect(open(frames[0], &opener) == .failure(.replayed))
        #expect(try open(frames[1], &opener).get().count == 100)
    }

    @Test mutating func nothingElseIsOpened() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        let sealed = try seal(true)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x40
            #expect(throws: BroadcastOpener.Failure.self) { try open(changed, &opener).get() }
        }
        for count in sealed.indices { #expect((try? open(Array(sealed.prefix(count)), &opener).get()) == nil) }
        #expect((try? open(sealed + [0], &opener).get()) == nil)
        // Without its header, in whole or in part.
        for count in 1...6 {
            let stripped = Array(sealed[..<10]) + sealed[(10 + count)...]
            #expect((try? open(stripped, &opener).get()) == nil)
        }
        #expect((try? open(Self.frame(true), &opener).get()) == nil)
        #expect((try? open(Self.frame(false), &opener).get()) == nil)
        // What was tried did not spoil what is right.
        #expect(open(sealed, &opener) == .success(Self.frame(true)))
        var stranger = BroadcastOpener(
            BroadcastSealer(
                secret: [UInt8](repeating: 9, count: 32), broadcast: "0000000000001", run: Self.run
            ).keys(now: .zero))
        #expect(open(sealed, &stranger) == .failure(.forged))
    }

    @Test mutating func keysAreWrittenAndRead() throws {
        _ = try seal(true)
        let keys = sealer.keys(now: .zero)
        #expect(keys.keys.count == 8)
        #expect(FrameKeys(keys.bytes) == keys)
        for count in keys.bytes.indices { #expect(FrameKeys(Array(keys.bytes.prefix(count))) == nil) }
        #expect(FrameKeys(keys.bytes + [0]) == nil)
        #expect(FrameKeys([1] + keys.bytes.dropFirst()) == nil)
        var track = keys.bytes
        track[22] = 7
        #expect(FrameKeys(track) == nil)
        let secret = sealer.prepareEpoch(secret: [UInt8](repeating: 5, count: 32))
        #expect(secret.epoch == 1 && secret.bytes.count == 53 && EpochSecret(secret.bytes) == secret)
        for count in secret.bytes.indices { #expect(EpochSecret(Array(secret.bytes.prefix(count))) == nil) }
        #expect(EpochSecret(secret.bytes + [0]) == nil && EpochSecret([2] + secret.bytes.dropFirst()) == nil)
    }

    /// Made by Node's crypto, as the page derives them.
    @Test mutating func anEpochsKeysFollowFromItsSecret() throws {
        let expected = [
            "23f8fc5898aecd3498c4de23b1d92ab70825f10acbfe6389fe51442a0f092154",
            "6a7262af0a6a2cf679a05caee572cec198dd597ffda7bebf6a22cfa352c93b8a",
            "fed40af9854fbd3112fcf0a9af1275f333066d83f61afb04035003f311623725",
            "8e4afb862cf4fe6d1044c4e419e58cb7905a853690196aa63047d52b13b37f6f",
        ]
        _ = sealer.prepareEpoch(secret: [UInt8](repeating: 9, count: 32))
        let keys = sealer.keys(now: .zero).keys.filter { [.video0, .systemAudio].contains($0.track) }
        let found = keys.map { key in
            key.baseKey.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        #expect(keys.map(\.epoch) == [0, 0, 1, 1] && found == expected)
    }

    private mutating func beginEpoch(_ number: UInt8) -> EpochSecret {
        let secret = sealer.prepareEpoch(secret: [UInt8](repeating: number, count: 32))
        sealer.beginEpoch(now: .zero + .seconds(Int(number)))
        return secret
    }

    /// Who has the keys of the former epoch opens nothing of the next one, and members need no key frame.
    @Test mutating func anEpochIsForItsMembersAlone() throws {
        var (member, removed) = (BroadcastOpener(sealer.keys(now: .zero)), BroadcastOpener(sealer.keys(now: .zero)))
        let last = try seal(true)
        for index in 0..<40 {
            let secret = beginEpoch(UInt8(index + 10))
            member.add(secret, of: "0000000000000")
            let frame = try seal(false)
            #expect(try open(frame, &member).get().count == 100 && member.openedEpoch == UInt32(index + 1))
            #expect((try? open(frame, &removed).get()) == nil)
            if index == 0 {
                #expect(open(frame, &removed) == .failure(.unknownKey))
                // A frame that was on the way, until the former epoch is forgotten.
                #expect(try open(last, &member).get().count == 100)
                member.forgetEpochs(before: 1)
                #expect(open(last, &member) == .failure(.tooOld))
                // Its keys are not taken in again.
                let former = BroadcastSealer(
                    secret: [UInt8](repeating: 9, count: 32), broadcast: "0000000000000", run: Self.run)
                member.add(former.keys(now: .zero))
                #expect(open(last, &member) == .failure(.tooOld))
            }
        }
    }

    /// Frames since the last key frame are of former epochs, and those that come of the one that is prepared.
    @Test mutating func aNewcomerGetsAllEpochsSinceTheLastKeyFrame() throws {
        let old = try seal(false)
        var frames = [try seal(true)]
        _ = beginEpoch(11)
        frames.append(try seal(false))
        _ = beginEpoch(12)
        frames.append(try seal(false))
        _ = sealer.prepareEpoch(secret: [UInt8](repeating: 13, count: 32))
        let keys = sealer.keys(now: .zero + .seconds(60))
        #expect(FrameKeys(keys.bytes) == keys)
        var newcomer = BroadcastOpener(keys)
        sealer.beginEpoch(now: .zero + .seconds(60))
        frames.append(try seal(false))
        for frame in frames { #expect(try open(frame, &newcomer).get().count == 100) }
        #expect(open(old, &newcomer) == .failure(.tooOld))
        // After the next key frame none of them is handed over.
        _ = try seal(true, at: 61)
        let later = sealer.keys(now: .zero + .seconds(70)).keys.filter { $0.track == .video0 }
        #expect(later.map(\.epoch) == [3] && later.map(\.step) == [1])
    }

    /// A prepared epoch that was not begun never is: somebody who has its secret may have been removed meanwhile.
    @Test mutating func anotherPreparedEpochTakesThePlaceOfTheFirst() throws {
        var early = BroadcastOpener(sealer.keys(now: .zero))
        early.add(sealer.prepareEpoch(secret: [UInt8](repeating: 21, count: 32)), of: "0000000000000")
        let second = beginEpoch(22)
        let frame = try seal(true)
        #expect(second.epoch == 2)
        #expect(open(frame, &early) == .failure(.unknownKey))
        early.add(second, of: "0000000000001")
        #expect(open(frame, &early) == .failure(.forged))
    }

    /// A relay passes on once more what it has passed on before: neither keys nor the windows of their counters go
    /// back.
    @Test mutating func aWrapThatIsRepeatedTakesNothingBack() throws {
        let broadcast = "0000000000000"
        let first = sealer.keys(now: .zero)
        var opener = BroadcastOpener(first)
        var (secrets, frames): ([EpochSecret], [[UInt8]]) = ([], [])
        // The first and the last have the same four bits.
        for number in 1...17 {
            secrets.append(beginEpoch(UInt8(number)))
            opener.add(secrets[number - 1], of: broadcast)
            frames.append(try seal(false))
            #expect(try open(frames[number - 1], &opener).get().count == 100)
        }
        let newest = try seal(true, at: 18)
        #expect(try open(newest, &opener).get().count == 100)
        for secret in secrets { opener.add(secret, of: broadcast) }
        opener.add(first)
        #expect(opener.announcedEpoch == 17 && opener.openedEpoch == 17)
        for frame in [frames[16], newest] { #expect(open(frame, &opener) == .failure(.replayed)) }
        opener.forgetEpochs(before: 17)
        for secret in secrets { opener.add(secret, of: broadcast) }
        opener.add(first)
        for frame in frames { #expect((try? open(frame, &opener).get()) == nil) }
        #expect(try open(try seal(false, at: 18), &opener).get().count == 100)
    }

    @Test mutating func keysOfAnotherRunReplaceAll() throws {
        var opener = BroadcastOpener(sealer.keys(now: .zero))
        let sealed = try seal(true)
        let other = BroadcastSealer(
            secret: [UInt8](repeating: 8, count: 32), broadcast: "0000000000000", run: [UInt8](repeating: 1, count: 16))
        opener.add(other.keys(now: .zero))
        #expect(open(sealed, &opener) == .failure(.forged))
    }
}

extension MediaInstant {
    fileprivate static let zero = MediaInstant(nanoseconds: 0)
}
