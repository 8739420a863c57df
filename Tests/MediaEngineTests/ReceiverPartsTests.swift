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
        var data = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 40)
        if start {
            data.replaceSubrange(
                0..<10, with: [key ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0, 0x40, 0])
        }
        return data.withUnsafeBytes {
            assembler.insert(
                sequence, descriptor: VP8PayloadDescriptor(isPartitionStart: start), data: $0, marker: end,
                timestamp: RTPTimestamp(frame), now: .at(milliseconds))
        }
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
        #expect(key == FrameAssembler.Span(first: base, last: base + 1, isKeyframe: true, isEntry: true))
        expect(try require(assembler.pop(key)).bytes.count == 80)
        let next = try require(assembler.next())
        #expect(next == FrameAssembler.Span(first: base + 2, last: base + 3, isKeyframe: false, isEntry: false))
        _ = assembler.pop(next)
        expect(insert(&assembler, base + 2, frame: 2, start: true, end: false) == .tooOld)
        expect(assembler.next() == nil)
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
        expect(assembler.next() == nil && assembler.waitsForEntry && assembler.badFrames == 1)
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
                1, descriptor: nil, data: nothing, marker: false, timestamp: RTPTimestamp(1), now: .at(0))
                == .taken)
        expect(assembler.next() == nil)
        expect(assembler.stuckSince == nil)
        _ = insert(&assembler, 2, frame: 2, start: true, end: true)
        expect(try require(assembler.next()).first == 2)
    }

    @Test func whatDoesNotFitMakesRoom() throws {
        var assembler = FrameAssembler(capacity: 16)
        for sequence in 0..<16 {
            _ = insert(&assembler, Int64(sequence), frame: 1, start: sequence == 0, end: false, key: true)
        }
        expect(insert(&assembler, 16, frame: 1, start: false, end: false) == .overflow)
        assembler.makeRoom(for: 16)
        expect(insert(&assembler, 16, frame: 1, start: false, end: true) == .taken)
        expect(assembler.next() == nil && assembler.waitsForEntry)
    }
}

@Suite struct TransportFeedbackGeneratorTests {
    @Test(arguments: wrapPoints)
    func everyArrivalIsReportedOnceAndGapsAsLost(first: UInt16) throws {
        var recorder = TransportFeedbackGenerator(senderSSRC: 1, mediaSSRC: 2, epoch: .at(0))
        #expect(recorder.deadline == .distantFuture)
        for step in [0, 1, 4, 3] {
            recorder.note(SequenceNumber(first &+ UInt16(step)), now: .at(step))
        }
        #expect(recorder.deadline <= .at(100))
        var bytes = [UInt8](repeating: 0, count: 1_200)
        try bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            expect(recorder.write(into: &writer, now: .at(100)))
            var packets = RTCPIterator(writer.written)
            guard case .transportFeedback(let feedback) = try packets.next() else {
                Issue.record("no feedback")
                return
            }
            #expect(feedback.base == SequenceNumber(first))
            #expect(feedback.map { $0.arrival != nil } == [true, true, false, true, true])
        }
        #expect(recorder.deadline == .distantFuture)
        var rest = ByteWriter(UnsafeMutableRawBufferPointer(start: nil, count: 0))
        expect(!recorder.write(into: &rest, now: .at(200)))
    }

    @Test func aThousandArrivalsAreDueAtOnceAndNoMoreAreKept() {
        var recorder = TransportFeedbackGenerator(senderSSRC: 1, mediaSSRC: 2, epoch: .at(0))
        for step in 0..<5_000 { recorder.note(SequenceNumber(UInt16(step)), now: .at(0)) }
        #expect(recorder.deadline == .at(0))
        var bytes = [UInt8](repeating: 0, count: 1_200)
        var written = 0
        bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            while recorder.write(into: &writer, now: .at(0)), written < 100 {
                written += 1
                writer = ByteWriter(buffer)
            }
        }
        #expect((1...10).contains(written))
    }
}

@Suite struct AudioJitterBufferTests {
    private let packet: [UInt8] = [0x48, 1, 2, 3]

    private func insert(_ buffer: inout AudioJitterBuffer, _ sequence: Int64, at milliseconds: Int) {
        packet.withUnsafeBytes {
            buffer.insert(
                sequence, $0, timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: sequence &* 960)),
                now: .at(milliseconds))
        }
    }

    @Test func evenPacketsAreNotHeld() {
        var buffer = AudioJitterBuffer()
        for step in 0..<100 {
            insert(&buffer, Int64(step), at: step * 20)
            let output = buffer.pop(now: .at(step * 20))
            #expect(output != nil && output?.isLost == false && output?.frames == 960)
        }
        #expect(buffer.deadline == nil && buffer.delayMilliseconds == 0)
    }

    @Test func aLostPacketIsRepairedFromTheNextOrConcealed() throws {
        var buffer = AudioJitterBuffer()
        for step in 0..<10 {
            insert(&buffer, Int64(step), at: step * 20)
            _ = buffer.pop(now: .at(step * 20))
        }
        insert(&buffer, 11, at: 220)
        let lost = try require(buffer.pop(now: .at(220)))
        #expect(lost.isLost && lost.useFEC && lost.bytes?.count == 4)
        expect(buffer.pop(now: .at(220))?.isLost == false)
        insert(&buffer, 14, at: 280)
        let concealed = try require(buffer.pop(now: .at(280)))
        #expect(concealed.isLost && !concealed.useFEC && concealed.bytes == nil)
        expect(try require(buffer.pop(now: .at(280))).useFEC)
        expect(buffer.pop(now: .at(280))?.isLost == false)
        #expect(buffer.lost == 3)
    }

    @Test func silenceIsNoLossAndNeedsNoTimer() {
        var buffer = AudioJitterBuffer()
        insert(&buffer, 0, at: 0)
        _ = buffer.pop(now: .at(0))
        #expect(buffer.deadline == nil)
        // The timestamp advanced, the sequence number did not.
        packet.withUnsafeBytes {
            buffer.insert(1, $0, timestamp: RTPTimestamp(48_000 * 60), now: .at(60_000))
        }
        expect(buffer.pop(now: .at(60_000))?.isLost == false)
        #expect(buffer.lost == 0)
    }

    @Test func numbersBelowTheFirstAreAsGoodAsOthers() {
        var buffer = AudioJitterBuffer()
        for step in -1_600 ... -1_590 {
            insert(&buffer, Int64(step + 1_600), at: (step + 1_600) * 20)
            while buffer.pop(now: .at((step + 1_600) * 20)) != nil {}
        }
        var heard = 0
        for sequence in -1_600..<40 {
            let time = 1_000 + (sequence + 1_600) * 20
            insert(&buffer, Int64(sequence), at: time)
            while let output = buffer.pop(now: .at(time + 200)) { heard += output.isLost ? 0 : 1 }
        }
        #expect(heard == 1_640)
    }

    @Test func aLongGapIsNotConcealedToItsEnd() {
        var buffer = AudioJitterBuffer()
        insert(&buffer, 0, at: 0)
        _ = buffer.pop(now: .at(0))
        insert(&buffer, 50, at: 1_000)
        var outputs = 0
        while buffer.pop(now: .at(1_000)) != nil { outputs += 1 }
        #expect(outputs <= 7)
        #expect(buffer.lost == 49)
    }

    @Test func timeStampsThatJumpAreBorne() {
        var buffer = AudioJitterBuffer()
        var stamp: UInt32 = 0
        for step in 0..<200_000 {
            stamp &+= 0x7FFF_FFFF
            packet.withUnsafeBytes {
                buffer.insert(Int64(step), $0, timestamp: RTPTimestamp(stamp), now: .at(step))
            }
            while buffer.pop(now: .at(step)) != nil {}
            _ = buffer.deadline
        }
        #expect(buffer.delayMilliseconds <= 200)
    }

    @Test func jitterMakesTheDelayGrowAndQuietLetsItShrink() {
        var buffer = AudioJitterBuffer()
        for step in 0..<300 {
            insert(&buffer, Int64(step), at: step * 20 + (step % 5 == 0 ? 45 : 0))
            while buffer.pop(now: .at(step * 20 + 45)) != nil {}
        }
        #expect((40...60).contains(buffer.delayMilliseconds))
        for step in 300..<1_500 {
            insert(&buffer, Int64(step), at: step * 20)
            while buffer.pop(now: .at(step * 20)) != nil {}
        }
        #expect(buffer.delayMilliseconds == 0)
    }
}

@Suite struct OpusPacketTests {
    @Test(
        arguments: [
            ([0x48], 960), ([0x40], 480), ([0x78, 0], 960), ([0xF8], 960), ([0xE0], 120),
            ([0xFB, 2], 1_920),
            ([0x1B, 63], 960),
            ([], 960), ([0x19], 5_760),
        ] as [([UInt8], Int)])
    func theFirstByteTellsTheLength(packet: [UInt8], frames: Int) {
        #expect(withBytes(packet) { OpusPacket.frames($0) } == frames)
    }
}

@Suite struct LipSyncTests {
    private let epoch = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)

    private func ntp(_ milliseconds: Int) -> NTPTimestamp {
        epoch.advanced(by: .milliseconds(milliseconds))
    }

    @Test func picturesAreHeldOnlyForSoundThatLagsAudibly() {
        var sync = LipSync()
        #expect(sync.hold(captured: ntp(0), local: ntp(30), now: .at(30)) == .zero)
        sync.noteSound(captured: ntp(0), local: ntp(30), latency: .milliseconds(60), now: .at(30))
        #expect(sync.hold(captured: ntp(0), local: ntp(30), now: .at(30)) == .zero)
        var late = LipSync()
        late.noteSound(captured: ntp(0), local: ntp(30), latency: .milliseconds(250), now: .at(30))
        let hold = late.hold(captured: ntp(0), local: ntp(30), now: .at(30))
        #expect(abs((hold - .milliseconds(150)).inMilliseconds) < 0.001)
        // Audio that was last heard long ago delays nothing.
        #expect(late.hold(captured: ntp(5_000), local: ntp(5_030), now: .at(5_030)) == .zero)
    }
}

@Suite struct KeyframeRequesterTests {
    @Test func requestsAreThreeHundredMillisecondsApartAndRarerInTheEnd() {
        var gate = KeyframeRequester()
        gate.need(now: .at(0))
        var sent: [MediaInstant] = []
        for time in stride(from: 0, to: 20_000, by: 10) where MediaInstant.at(time) >= gate.deadline {
            gate.noteSent(now: .at(time), roundTrip: .milliseconds(20))
            gate.need(now: .at(time))
            sent.append(.at(time))
        }
        for (a, b) in zip(sent, sent.dropFirst()) { #expect(b - a >= .milliseconds(300)) }
        #expect((20...30).contains(sent.count))
        gate.noteServed()
        #expect(gate.deadline == .distantFuture)
        gate.need(now: .at(20_000))
        #expect(gate.deadline <= .at(20_300))
    }
}
