import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct FrameAssemblerTests {
    private func insert(
        _ assembler: inout FrameAssembler, _ sequence: Int64, frame: UInt32, start: Bool, end: Bool,
        key: Bool = false,
        at milliseconds: Int = 0
    ) -> FrameAssembler.Insertion {
        let data = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 40)
        return data.withUnsafeBytes {
            assembler.insert(
                sequence, DepacketizedVideo(bytes: $0, isFrameStart: start, isKeyframe: start && key), marker: end,
                timestamp: RTPTimestamp(frame), now: .at(milliseconds))
        }
    }

    private func joined(_ frame: EncodedFrameBytes) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: frame.count)
        bytes.withUnsafeMutableBytes { _ = frame.copy(to: $0) }
        return bytes
    }

    @Test(arguments: wrapPoints)
    func framesComeOutInOrderWhateverTheOrderOfPackets(first: UInt16) throws {
        var assembler = FrameAssembler(capacity: 16)
        let base = Int64(first)
        expect(insert(&assembler, base, frame: 1, start: true, end: false, key: true) == .taken)
        expect(insert(&assembler, base + 3, frame: 2, start: false, end: true) == .taken)
        expect(insert(&assembler, base + 2, frame: 2, start: true, end: false) == .taken)
        expect(assembler.next() == nil)
        expect(insert(&assembler, base + 1, frame: 1, start: false, end: true) == .taken)
        let key = try require(assembler.next())
        #expect(key == FrameAssembler.Span(first: base, last: base + 1, isKeyframe: true, isEntryPoint: true))
        expect(try require(assembler.pop(key)).bytes.count == 80)
        let next = try require(assembler.next())
        #expect(next == FrameAssembler.Span(first: base + 2, last: base + 3, isKeyframe: false, isEntryPoint: false))
        _ = assembler.pop(next)
        expect(insert(&assembler, base + 2, frame: 2, start: true, end: false) == .tooOld)
        expect(assembler.next() == nil)
    }

    @Test func aFrameIsItsPacketsJoined() throws {
        var assembler = FrameAssembler(capacity: 16)
        _ = insert(&assembler, 20, frame: 1, start: true, end: true, key: true)
        let one = try require(assembler.next())
        expect(joined(try require(assembler.pop(one)).bytes) == [UInt8](repeating: 20, count: 40))
        for sequence in Int64(21)...23 {
            _ = insert(&assembler, sequence, frame: 2, start: sequence == 21, end: sequence == 23)
        }
        let three = try require(assembler.next())
        let bytes = (UInt8(21)...23).flatMap { [UInt8](repeating: $0, count: 40) }
        expect(joined(try require(assembler.pop(three)).bytes) == bytes)
    }

    @Test func aKeyFrameOvertakesAGapThatIsNotFilled() throws {
        var assembler = FrameAssembler(capacity: 16)
        _ = insert(&assembler, 0, frame: 1, start: true, end: true, key: true)
        _ = assembler.pop(try require(assembler.next()))
        // Packet 1 is missing.
        _ = insert(&assembler, 2, frame: 3, start: true, end: true, at: 10)
        expect(assembler.next() == nil && assembler.stuckSince == .at(10))
        _ = insert(&assembler, 3, frame: 4, start: true, end: true, key: true, at: 20)
        let span = try require(assembler.next())
        #expect(span.first == 3 && span.isKeyframe)
        expect(try require(assembler.pop(span)).hadToWaitSince == .at(10))
        expect(assembler.stuckSince == nil)
    }

    @Test func aFrameWhoseSenderBrokeItOffNeedsAKeyFrame() throws {
        var assembler = FrameAssembler(capacity: 16)
        _ = insert(&assembler, 0, frame: 1, start: true, end: true, key: true)
        _ = assembler.pop(try require(assembler.next()))
        _ = insert(&assembler, 1, frame: 2, start: true, end: false)
        _ = insert(&assembler, 2, frame: 3, start: true, end: true)
        expect(assembler.next() == nil && assembler.waitsForEntryPoint && assembler.badFrames == 1)
        _ = insert(&assembler, 3, frame: 4, start: true, end: true, key: true)
        expect(try require(assembler.next()).first == 3)
    }

    @Test func paddingBetweenFramesIsPassedOver() throws {
        var assembler = FrameAssembler(capacity: 16)
        _ = insert(&assembler, 0, frame: 1, start: true, end: true, key: true)
        _ = assembler.pop(try require(assembler.next()))
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        expect(
            assembler.insert(
                1, DepacketizedVideo(bytes: nothing, isPadding: true), marker: false, timestamp: RTPTimestamp(1),
                now: .at(0))
                == .taken)
        expect(assembler.next() == nil)
        expect(assembler.stuckSince == nil)
        _ = insert(&assembler, 2, frame: 2, start: true, end: true)
        expect(try require(assembler.next()).first == 2)
    }

    /// Parameter sets in packets of their own, with others before and between them.
    @Test(arguments: [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 3, 4], [3, 4, 0, 2, 1]])
    func aKeyFrameBeginsWithWhatStandsBeforeItsParameterSets(order: [Int64]) throws {
        var assembler = FrameAssembler(capacity: 16, startsAreMarked: false)
        let byte: [UInt8] = [1]
        func insert(_ sequence: Int64, frame: UInt32, isMarked: Bool, isKeyframe: Bool = false) {
            byte.withUnsafeBytes {
                _ = assembler.insert(
                    sequence, DepacketizedVideo(bytes: $0, isKeyframe: isKeyframe), marker: isMarked,
                    timestamp: RTPTimestamp(frame), now: .at(0))
            }
        }
        // The stream is entered in the middle of another frame.
        insert(9, frame: 1, isMarked: true)
        // A delimiter, two parameter sets, two slices.
        for index in order {
            insert(10 + index, frame: 2, isMarked: index == 4, isKeyframe: index == 1 || index == 2)
        }
        let span = try require(assembler.next())
        #expect(span.isKeyframe && span.last == 14 && span.first <= 11)
        if order == [0, 1, 2, 3, 4] { #expect(span.first == 10) }
        expect(assembler.pop(span) != nil)
        expect(assembler.next() == nil && assembler.newestEntryPoint == nil)
    }

    @Test func aPacketTooFarAheadMakesRoom() throws {
        var assembler = FrameAssembler(capacity: 16)
        for sequence in 0..<16 {
            _ = insert(&assembler, Int64(sequence), frame: 1, start: sequence == 0, end: false, key: true)
        }
        expect(insert(&assembler, 16, frame: 1, start: false, end: false) == .overflow)
        assembler.makeRoom(for: 16)
        expect(insert(&assembler, 16, frame: 1, start: false, end: true) == .taken)
        expect(assembler.next() == nil && assembler.waitsForEntryPoint)
    }
}
