import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// A viewer may report anything about what it received. It can damage its own video by that, and nothing else.
@Suite struct HostileFeedbackTests {
    private static let conditions = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(3_000))

    private func call(_ seed: UInt64) -> SimulatedCall {
        SimulatedCall(
            seed: seed, Self.conditions, plan: .camera(perSecond: 30, limit: .kilobits(8_000)),
            options: SimulatedCall.Options())
    }

    private func packet(_ body: (inout ByteWriter) throws -> Void) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1_500)
        let length = try bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            try body(&writer)
            return writer.position
        }
        return Array(bytes[0..<length])
    }

    /// The number of frames shown, of those captured in this interval.
    private func media(_ call: SimulatedCall, from: MediaDuration, to: MediaDuration) -> Int {
        let begin = SimulatedCall.start + from
        let end = SimulatedCall.start + to
        return call.shown.filter { $0.captured >= begin && $0.captured < end }.count
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func feedbackThatComesAgainAfterFiveMinutesChangesNothing(seed: UInt64) {
        let call = call(seed)
        var kept: [[UInt8]] = []
        call.tamper = { packet, now in
            if now < SimulatedCall.start + .seconds(10) { kept.append(packet) }
            return [packet]
        }
        call.run(for: .seconds(12))
        call.plan = .steady(perSecond: 1, bytes: 300)
        call.run(for: .seconds(288))
        let before = call.sender.estimate
        let unknown = call.sender.statistics.rtcp.feedbackUnknown
        call.deliver(kept)
        call.run(for: .seconds(2))
        print("late", seed, kept.count, before.kilobitsPerSecond, call.sender.estimate.kilobitsPerSecond)
        #expect(call.sender.statistics.rtcp.feedbackUnknown > unknown)
        #expect(abs(call.sender.estimate.bitsPerSecond - before.bitsPerSecond) <= before.bitsPerSecond / 10)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func reorderedAndRepeatedFeedbackStillShowsThePath(seed: UInt64) {
        let call = call(seed)
        var random = SeededGenerator(seed: seed)
        var held: [[UInt8]] = []
        call.tamper = { packet, _ in
            held.append(packet)
            guard held.count >= 4 else { return [] }
            defer { held.removeAll() }
            return held.shuffled(using: &random) + [packet]
        }
        call.run(for: .seconds(30))
        print("reordered", call.summary)
        #expect((1_500...3_300).contains(call.estimate(at: .seconds(29)).kilobitsPerSecond))
        #expect(call.forward.waits.suffix(2_000).map(\.wait).max() ?? .zero <= .milliseconds(300))
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    /// Half of the feedback is damaged.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func damagedFeedbackIsBounded(seed: UInt64) {
        let call = call(seed)
        var random = SeededGenerator(seed: seed)
        call.tamper = { packet, _ in
            guard random.chance(50) else { return [packet] }
            var packet = packet
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                packet[Int.random(in: 0..<packet.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if random.chance(30) { packet.removeLast(Int.random(in: 1..<packet.count, using: &random)) }
            return [packet]
        }
        call.run(for: .seconds(20))
        let bad = call.sender.statistics
        #expect(bad.rtcp.malformed + bad.rtcp.feedbackUnknown + bad.rtcp.unknownSSRC > 0)
        #expect(call.sender.estimate >= .kilobits(100) && call.sender.estimate <= .kilobits(20_000))
        #expect(call.damaged == 0)
        // After the damage ends, the call recovers.
        call.tamper = nil
        call.run(for: .seconds(20))
        print("damaged", call.summary)
        #expect(media(call, from: .seconds(30), to: .seconds(39)) >= 9 * 15)
        #expect(call.estimate(at: .seconds(39)).kilobitsPerSecond >= 1_500)
    }

    /// Forged feedback says that every packet arrived at once. The sender never exceeds its maximum bitrate.
    @Test func feedbackThatIsInventedRaisesNothingAboveTheMaximum() throws {
        var options = SimulatedCall.Options()
        options.maximumBitrate = .kilobits(4_000)
        let call = SimulatedCall(
            seed: 4, .init(delay: .milliseconds(25)), plan: .camera(perSecond: 30, limit: .kilobits(50_000)),
            options: options)
        call.tamper = { _, _ in [] }
        var writer = TransportFeedbackWriter(senderSSRC: 9, mediaSSRC: 0x1111, epoch: SimulatedCall.start)
        var next: Int64 = 1
        for _ in 0..<200 {
            call.run(for: .milliseconds(50))
            let sent = Int64(call.sender.statistics.packetsSent)
            guard sent >= next else { continue }
            let arrivals = (next...sent).map { TransportArrival(sequence: $0, arrival: call.now) }
            let bytes = try packet { out in
                _ = try arrivals.withUnsafeBufferPointer { try writer.write($0, base: next, into: &out) }
            }
            next = sent + 1
            call.deliver([bytes])
        }
        print("invented", call.summary)
        #expect(call.sender.estimate <= .kilobits(4_000))
        #expect(call.sender.statistics.bytesSent <= 10 * 4_000_000 / 8 * 13 / 10)
    }

    /// 160 NACKs a second, each for 250 packets.
    @Test(arguments: [1, 2] as [UInt64])
    func aStormOfNacksDoesNotStopVideo(seed: UInt64) throws {
        let call = call(seed)
        call.run(for: .seconds(10))
        let before = call.sender.statistics
        var number: UInt16 = 0
        for _ in 0..<200 {
            call.run(for: .milliseconds(50))
            for _ in 0..<8 {
                let bytes = try packet { out in
                    var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
                    for _ in 0..<250 {
                        try nack.append(SequenceNumber(number), into: &out)
                        number &+= 17
                    }
                    number &+= 1
                }
                call.deliver([bytes])
            }
        }
        let after = call.sender.statistics
        print("nacks", call.summary, after.retransmission.nackedPackets, after.retransmission.nacksIgnored)
        #expect(after.retransmission.nackedPackets - before.retransmission.nackedPackets >= 300_000)
        #expect(after.path.backlog <= .milliseconds(400))
        // At most what the path carries, and at least half of the frames.
        #expect(after.bytesSent - before.bytesSent <= 10 * 3_300_000 / 8)
        #expect(media(call, from: .seconds(10), to: .seconds(20)) >= 5 * 15)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        call.run(for: .seconds(10))
        #expect(media(call, from: .seconds(21), to: .seconds(29)) >= 8 * 15)
    }

    /// 1,000 PLIs a second. The sender asks for no key frame while one is on its way; the limit of one a second is the
    /// encoder's.
    @Test func aStormOfKeyframeRequestsIsAnsweredOnceARoundTrip() throws {
        let call = call(5)
        let pli = try packet { try PictureLossIndication(senderSSRC: 9, mediaSSRC: 0x1111).write(into: &$0) }
        call.run(for: .seconds(5))
        for _ in 0..<5_000 {
            call.run(for: .milliseconds(1))
            call.deliver([pli])
        }
        print("plis", call.summary)
        #expect(call.sender.statistics.video.keyframeRequests >= 5_000)
        #expect(call.keyframesMade <= 7)
        #expect(media(call, from: .seconds(5), to: .seconds(10)) >= 5 * 10)
    }

    /// The viewer's clock is set forwards and backwards, by seconds and by hours.
    @Test(arguments: [3, -3, 30, -30, 7_200, -7_200])
    func theViewersClockMayJump(seconds: Int) {
        let call = call(6)
        call.tamper = { packet, now in
            now < SimulatedCall.start + .seconds(15) ? [packet] : [Self.shift(packet, by: seconds * 1_000 / 64)]
        }
        call.run(for: .seconds(45))
        print("viewer's clock", seconds, call.summary)
        #expect(call.estimate(at: .seconds(44)).kilobitsPerSecond >= 1_800)
        #expect(media(call, from: .seconds(17), to: .seconds(44)) >= 27 * 15)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    /// Shifts the reference time of transport-wide feedback, in steps of 64 ms.
    private static func shift(_ packet: [UInt8], by steps: Int) -> [UInt8] {
        var packet = packet
        var at = 0
        while at + 20 <= packet.count {
            if packet[at] & 31 == 15, packet[at + 1] == 205 {
                let old = Int(packet[at + 16]) << 16 | Int(packet[at + 17]) << 8 | Int(packet[at + 18])
                let new = (old + steps) & 0xFF_FFFF
                for byte in 0..<3 { packet[at + 16 + byte] = UInt8(new >> (16 - byte * 8) & 255) }
            }
            at += (Int(packet[at + 2]) << 8 + Int(packet[at + 3]) + 1) * 4
        }
        return packet
    }

    /// Both machines are suspended, so packets in flight arrive hours late.
    @Test(arguments: [2, 60, 18_000])
    func aSuspendedMachineRecovers(seconds: Int) {
        let call = call(7)
        call.run(for: .seconds(15))
        call.jump(by: .seconds(seconds))
        call.run(for: .seconds(20))
        print("slept", seconds, call.summary)
        let begin = MediaDuration.seconds(15 + seconds)
        #expect(call.estimate(at: begin + .seconds(19)).kilobitsPerSecond >= 1_800)
        #expect(media(call, from: begin + .seconds(2), to: begin + .seconds(19)) >= 17 * 15)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    /// 100 ppm, more than the drift of quartz clocks. Drift must not be taken for a queue.
    @Test(arguments: [100, -100])
    func clocksMayDriftApart(partsPerMillion: Int) {
        let call = call(8)
        for tenth in 0..<600 {
            call.after(.milliseconds(tenth * 100)) {
                $0.receiverAhead = .microseconds(tenth * partsPerMillion / 10)
            }
        }
        call.run(for: .seconds(60))
        print("drift", partsPerMillion, call.summary)
        #expect(call.estimate(at: .seconds(59)).kilobitsPerSecond >= 2_200)
    }
}
