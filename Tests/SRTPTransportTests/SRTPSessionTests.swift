import MediaCore
import SRTPTransport
import TestSupport
import Testing

@Suite struct SRTPSessionTests {
    /// A packet slot with the alignment that the network loop provides (at least 4 bytes).
    final class Slot {
        let start = UnsafeMutableRawPointer.allocate(byteCount: 2_048, alignment: 8)
        deinit { start.deallocate() }

        func fill(_ bytes: [UInt8]) -> UnsafeMutableRawPointer {
            start.copyMemory(from: bytes, byteCount: bytes.count)
            return start
        }

        func bytes(_ count: Int) -> [UInt8] { Array(UnsafeRawBufferPointer(start: start, count: count)) }
    }

    static func keys(_ profile: SRTPProfile, swapped: Bool = false) -> SRTPKeys {
        let length = UInt8(profile.keyLength + profile.saltLength)
        let (a, b) = (Array(0..<length), Array(100..<100 + length))
        return SRTPKeys(profile: profile, local: swapped ? b : a, remote: swapped ? a : b)
    }

    static func pair(_ profile: SRTPProfile) throws -> (SRTPSession, SRTPSession) {
        (try SRTPSession(keys: keys(profile)), try SRTPSession(keys: keys(profile, swapped: true)))
    }

    static func rtp(_ sequence: UInt16, ssrc: UInt32 = 0x0102_0304, payload: Int = 1_000) -> [UInt8] {
        // Version 2, a one-word header extension, payload type 96.
        [0x90, 96, UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0, 1]
            + (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * $0)) }
            + [0xbe, 0xde, 0, 1, 0x10, 1, 0, 0] + (0..<payload).map { UInt8(truncatingIfNeeded: $0) }
    }

    /// A receiver report without report blocks.
    static let rtcp: [UInt8] = [0x80, 201, 0, 1, 1, 2, 3, 4]

    /// A burst is protected as its packets are one by one, without those that are refused.
    @Test(arguments: SRTPProfile.allCases) func aBurstIsProtected(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let (single, _) = try Self.pair(profile)
        let (stride, count) = (2_048, 6)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * count, alignment: 64)
        let lengths = UnsafeMutablePointer<Int>.allocate(capacity: count)
        defer {
            memory.deallocate()
            lengths.deallocate()
        }
        let slots = PacketSlots(base: memory, stride: stride, size: 1_500, count: count, lengths: lengths)
        // Two streams in turn, one over the wrap of its sequence numbers; the fourth packet is repeated.
        let plain = [(65_535, 1), (7, 2), (0, 1), (7, 2), (8, 2), (1, 1)].map {
            Self.rtp(UInt16($0.0), ssrc: UInt32($0.1), payload: 100 * $0.1)
        }
        for (index, packet) in plain.enumerated() {
            slots[index].copyMemory(from: packet, byteCount: packet.count)
            lengths[index] = packet.count
        }
        let sent = plain[0..<3] + plain[4...]
        #expect(a.protectRTP(slots, count: count) == sent.count)
        let slot = Slot()
        for (index, packet) in sent.enumerated() {
            let length = try single.protectRTP(slot.fill(packet), length: packet.count)
            #expect(Array(UnsafeRawBufferPointer(start: slots[index], count: lengths[index])) == slot.bytes(length))
            #expect(try b.unprotectRTP(slots[index], length: lengths[index]) == packet.count)
        }
    }

    @Test(arguments: SRTPProfile.allCases) func whatIsProtectedComesBack(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        for sequence in [UInt16(65_533), 65_534, 65_535, 0, 1] {
            let plain = Self.rtp(sequence)
            let length = try a.protectRTP(slot.fill(plain), length: plain.count)
            #expect(length == plain.count + profile.tagLength)
            #expect(slot.bytes(20) == Array(plain.prefix(20)))
            #expect(slot.bytes(plain.count) != plain)
            #expect(try b.unprotectRTP(slot.start, length: length) == plain.count)
            #expect(slot.bytes(plain.count) == plain)
        }
        let sealed = try a.protectRTCP(slot.fill(Self.rtcp), length: Self.rtcp.count)
        #expect(sealed == Self.rtcp.count + 4 + profile.tagLength)
        #expect(sealed - Self.rtcp.count <= SRTPSession.trailerRoom)
        #expect(try b.unprotectRTCP(slot.start, length: sealed) == Self.rtcp.count)
        #expect(slot.bytes(Self.rtcp.count) == Self.rtcp)
    }

    @Test(arguments: SRTPProfile.allCases) func replaysAreRefused(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        let plain = Self.rtp(1)
        let length = try a.protectRTP(slot.fill(plain), length: plain.count)
        let packet = slot.bytes(length)
        _ = try b.unprotectRTP(slot.start, length: length)
        #expect(throws: SRTPFailure.replay) { try b.unprotectRTP(slot.fill(packet), length: length) }
        let sealed = try a.protectRTCP(slot.fill(Self.rtcp), length: Self.rtcp.count)
        let report = slot.bytes(sealed)
        _ = try b.unprotectRTCP(slot.start, length: sealed)
        #expect(throws: SRTPFailure.replay) { try b.unprotectRTCP(slot.fill(report), length: sealed) }
    }

    @Test(arguments: SRTPProfile.allCases) func lateButNewPacketsAreAccepted(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        let sealed = try (0..<1_200).map { sequence in
            let plain = Self.rtp(UInt16(sequence), payload: 10)
            return slot.bytes(try a.protectRTP(slot.fill(plain), length: plain.count))
        }
        for packet in [sealed[0], sealed[1_100], sealed[200]] {
            _ = try b.unprotectRTP(slot.fill(packet), length: packet.count)
        }
        #expect(throws: SRTPFailure.replay) { try b.unprotectRTP(slot.fill(sealed[20]), length: sealed[20].count) }
    }

    @Test(arguments: SRTPProfile.allCases) func aSequenceNumberIsProtectedOnce(_ profile: SRTPProfile) throws {
        let (a, _) = try Self.pair(profile)
        let slot = Slot()
        _ = try a.protectRTP(slot.fill(Self.rtp(7)), length: Self.rtp(7).count)
        #expect(throws: SRTPFailure.replay) { try a.protectRTP(slot.fill(Self.rtp(7)), length: Self.rtp(7).count) }
    }

    /// Each SSRC has its own rollover counter.
    @Test(arguments: SRTPProfile.allCases) func streamsRollOverByThemselves(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        var (first, second) = (UInt16(65_000), UInt16(10))
        for _ in 0..<70 {
            for (sequence, ssrc) in [(first, UInt32(7)), (second, UInt32(8))] {
                let plain = Self.rtp(sequence, ssrc: ssrc, payload: 30)
                let length = try a.protectRTP(slot.fill(plain), length: plain.count)
                #expect(try b.unprotectRTP(slot.start, length: length) == plain.count)
                #expect(slot.bytes(plain.count) == plain)
            }
            (first, second) = (first &+ 2_000, second &+ 3)
        }
    }

    @Test(arguments: [SRTPProfile.aes128GCM, .aes256GCM])
    func aSenderDoesNotGoBack(_ profile: SRTPProfile) throws {
        let (a, _) = try Self.pair(profile)
        let slot = Slot()
        let length = Self.rtp(9).count
        _ = try a.protectRTP(slot.fill(Self.rtp(9)), length: length)
        #expect(throws: SRTPFailure.replay) { try a.protectRTP(slot.fill(Self.rtp(8)), length: length) }
        // It would be taken for an earlier one.
        #expect(throws: SRTPFailure.replay) { try a.protectRTP(slot.fill(Self.rtp(9 + 32_768)), length: length) }
        _ = try a.protectRTP(slot.fill(Self.rtp(10)), length: length)
    }

    /// A relay sends a late packet under the number that it has left out.
    @Test(arguments: SRTPProfile.allCases) func aNumberThatWasLeftOutMayFollow(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        func send(_ sequence: UInt16) throws {
            let plain = Self.rtp(sequence, payload: 30)
            let length = try a.protectRTP(slot.fill(plain), length: plain.count)
            #expect(try b.unprotectRTP(slot.start, length: length) == plain.count)
            #expect(slot.bytes(plain.count) == plain)
        }
        // Around the wrap, with the rollover counter of its own number.
        for sequence in [65_400, 65_530, 65_532, 65_531, 65_535, 1, 65_534, 0, 40, 65_533, 2] as [UInt16] {
            try send(sequence)
        }
        for sequence in [65_530, 65_533, 0, 1, 2, 40] as [UInt16] {
            #expect(throws: SRTPFailure.replay, "\(sequence)") { try send(sequence) }
        }
        try send(41)
    }

    /// Against a set of all indices.
    @Test(arguments: [1, 2, 3] as [UInt64]) func noIndexIsUsedTwice(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (a, b) = try Self.pair(.aes128GCM)
        let slot = Slot()
        let first = 300
        var (used, highest) = (Set<Int>(), first)
        for step in 0..<20_000 {
            let index = step == 0 ? first : highest + .random(in: -80...(step % 50 == 0 ? 30_000 : 3), using: &random)
            let plain = Self.rtp(UInt16(truncatingIfNeeded: index), payload: 20)
            let isNew = index > highest || index > max(highest - 64, first) && !used.contains(index)
            let length = try? a.protectRTP(slot.fill(plain), length: plain.count)
            #expect((length != nil) == (isNew || step == 0), "\(index) after \(highest)")
            guard let length else { continue }
            #expect(try b.unprotectRTP(slot.start, length: length) == plain.count)
            used.insert(index)
            highest = max(highest, index)
        }
        #expect(used.min() == first && highest > 1_000_000)
    }

    @Test(arguments: SRTPProfile.allCases) func everyChangedByteIsRefused(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        let plain = Self.rtp(1, payload: 20)
        let packet = slot.bytes(try a.protectRTP(slot.fill(plain), length: plain.count))
        for place in packet.indices {
            var changed = packet
            changed[place] ^= 1
            #expect(throws: SRTPFailure.self) { try b.unprotectRTP(slot.fill(changed), length: changed.count) }
        }
        _ = try b.unprotectRTP(slot.fill(packet), length: packet.count)
        let report = slot.bytes(try a.protectRTCP(slot.fill(Self.rtcp), length: Self.rtcp.count))
        for place in report.indices {
            var changed = report
            changed[place] ^= 1
            #expect(throws: SRTPFailure.self) { try b.unprotectRTCP(slot.fill(changed), length: changed.count) }
        }
        _ = try b.unprotectRTCP(slot.fill(report), length: report.count)
    }

    @Test(arguments: SRTPProfile.allCases) func everyTruncationIsRefused(_ profile: SRTPProfile) throws {
        let (a, b) = try Self.pair(profile)
        let slot = Slot()
        let plain = Self.rtp(1, payload: 20)
        let packet = slot.bytes(try a.protectRTP(slot.fill(plain), length: plain.count))
        let report = slot.bytes(try a.protectRTCP(slot.fill(Self.rtcp), length: Self.rtcp.count))
        for length in 0..<packet.count {
            #expect(throws: SRTPFailure.self) { try b.unprotectRTP(slot.fill(packet), length: length) }
            #expect(throws: SRTPFailure.self) { try b.unprotectRTCP(slot.fill(packet), length: length) }
        }
        for length in 0..<report.count {
            #expect(throws: SRTPFailure.self) { try b.unprotectRTCP(slot.fill(report), length: length) }
            #expect(throws: SRTPFailure.self) { try b.unprotectRTP(slot.fill(report), length: length) }
        }
    }

    @Test func headersThatPromiseMoreThanThePacketHoldsAreMalformed() throws {
        let (_, b) = try Self.pair(.aes128GCM)
        let slot = Slot()
        let extended: [UInt8] = [0x90] + [UInt8](repeating: 0, count: 11) + [0xbe, 0xde, 0xff, 0xff]
        for bytes in [
            [0x8f] + [UInt8](repeating: 0, count: 40), extended + [UInt8](repeating: 0, count: 40),
            [UInt8](repeating: 0, count: 60), [UInt8](repeating: 0xff, count: 60),
        ] {
            #expect(throws: SRTPFailure.malformed) { try b.unprotectRTP(slot.fill(bytes), length: bytes.count) }
        }
        #expect(throws: SRTPFailure.malformed) { try b.protectRTP(slot.fill([0x80]), length: 1) }
        #expect(throws: SRTPFailure.malformed) { try b.protectRTCP(slot.fill([0x80]), length: 7) }
    }

    @Test func aPeerCannotOpenStreamsWithoutEnd() throws {
        let (a, b) = try Self.pair(.aes128GCM)
        let slot = Slot()
        for ssrc in 0..<UInt32(SRTPSession.streamLimit) {
            let plain = Self.rtp(1, ssrc: ssrc, payload: 10)
            _ = try b.unprotectRTP(slot.start, length: a.protectRTP(slot.fill(plain), length: plain.count))
        }
        let plain = Self.rtp(1, ssrc: 1_000, payload: 10)
        let length = try a.protectRTP(slot.fill(plain), length: plain.count)
        #expect(throws: SRTPFailure.tooManyStreams) { try b.unprotectRTP(slot.start, length: length) }
        let known = Self.rtp(2, ssrc: 3, payload: 10)
        let knownLength = try a.protectRTP(slot.fill(known), length: known.count)
        #expect(try b.unprotectRTP(slot.start, length: knownLength) == known.count)
    }

    @Test func keysOfTheWrongLengthAreRefused() {
        #expect(throws: SRTPFailure.keys) {
            _ = try SRTPSession(keys: SRTPKeys(profile: .aes256GCM, local: [1, 2], remote: []))
        }
    }
}
