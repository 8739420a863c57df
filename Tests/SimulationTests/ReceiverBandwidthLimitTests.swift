import MediaCore
import MediaEngine
import RTPWire
import Testing

/// Receivers that send their own estimate (REMB).
@Suite struct ReceiverBandwidthLimitTests {
    /// aiortc's receive-side estimator (`rate.py`, after libwebrtc's `aimd_rate_control.cc`): the bitrate received
    /// after 3 s, then 8 % more a second up to 1.5 x the received bitrate; 0.85 x the received bitrate on overuse.
    private struct Estimator {
        private var arrivals: [(at: MediaInstant, bytes: Int)] = []
        private var began: MediaInstant?
        private var last: MediaInstant?
        private(set) var current: Double?

        mutating func note(bytes: Int, at now: MediaInstant) {
            began = began ?? now
            arrivals.append((now, bytes))
        }

        mutating func update(isOverused: Bool, now: MediaInstant) -> Bitrate? {
            arrivals.removeAll { now - $0.at > .seconds(1) }
            let throughput = Double(arrivals.reduce(0) { $0 + $1.bytes } * 8)
            defer { last = now }
            guard let began else { return nil }
            if isOverused {
                current = min(0.85 * throughput, current ?? .infinity)
            } else if let current {
                let grown = current * (1 + 0.08 * min((now - (last ?? now)).inSeconds, 1))
                self.current = min(grown, max(1.5 * throughput + 10_000, current))
            } else if now - began > .seconds(3) {
                current = throughput
            }
            return current.map { Bitrate(bitsPerSecond: Int($0)) }
        }
    }

    private static func remb(_ bitrate: Bitrate, ssrc: UInt32 = 0x1111) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let length = try bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            try REMB.write(senderSSRC: 9, mediaSSRC: ssrc, bitrate: bitrate, into: &writer)
            return writer.position
        }
        return Array(bytes[0..<length])
    }

    private func call(
        _ kilobits: Int, plan: SimulatedFrames.Plan, seed: UInt64, isAgreed: Bool = true
    ) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.usesTransportFeedback = false
        options.usesREMB = isAgreed
        options.audioTracks = 1
        options.maximumBitrate = .kilobits(8_000)
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(20), rate: .kilobits(kilobits)), plan: plan, options: options)
        call.audioBytes = 320
        return call
    }

    /// Sends the estimator's REMB twice a second.
    private func attach(_ call: SimulatedCall, until seconds: Int) {
        var estimator = Estimator()
        call.watch = { packet in
            if PacketKind(of: packet) == .rtp { estimator.note(bytes: packet.count, at: call.now) }
        }
        var queue = MediaDuration.zero
        for half in 1..<(2 * seconds) {
            call.after(.milliseconds(500 * half)) { call in
                let wait = call.forward.waits.last { call.now - $0.at < .milliseconds(500) }?.wait ?? .zero
                let isOverused = wait > queue + .milliseconds(20)
                queue = wait
                guard let said = estimator.update(isOverused: isOverused, now: call.now) else { return }
                call.deliver([(try? Self.remb(said)) ?? []])
            }
        }
    }

    /// The screen is still, with audio, and changes after the first estimate was made of the audio alone.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func anEstimateFromAudioAloneFreezesNoVideo(seed: UInt64) {
        let call = call(5_000, plan: .still, seed: seed)
        attach(call, until: 40)
        call.after(.seconds(8)) { $0.plan = .adaptive(perSecond: 20, limit: .kilobits(1_500)) }
        call.run(for: .seconds(28))
        print(call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.freeze(from: .seconds(9)) <= .milliseconds(300))
        #expect(call.since(.seconds(8)).count >= 350)
        #expect(call.sender.estimate >= .kilobits(1_000))
    }

    /// The same on a path with as little bandwidth as the estimate has in the end.
    @Test(arguments: [4, 5] as [UInt64])
    func aNarrowPathIsStillFollowed(seed: UInt64) {
        let call = call(700, plan: .still, seed: seed)
        attach(call, until: 60)
        call.after(.seconds(8)) { $0.plan = .adaptive(perSecond: 10, limit: .kilobits(8_000)) }
        call.run(for: .seconds(50))
        let waits = call.forward.waits.filter { $0.at > SimulatedCall.start + .seconds(20) }.map(\.wait).sorted()
        print(call.summary, "p95", waits[waits.count * 95 / 100].inMilliseconds)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect((250...900).contains(call.sender.estimate.kilobitsPerSecond))
        #expect(waits[waits.count * 95 / 100] <= .milliseconds(250))
        #expect(call.freeze(from: .seconds(20)) <= .milliseconds(1_500))
    }

    /// As the estimators of Chromium and Firefox do (`aimd_rate_control.cc`): 56 kbit/s after one second, then 8 % more
    /// a second.
    @Test(arguments: [8, 9] as [UInt64])
    func aFirstEstimateBelowTheReceivedRateFreezesNoVideo(seed: UInt64) throws {
        let call = call(5_000, plan: .camera(perSecond: 30, limit: .kilobits(2_000)), seed: seed)
        var said = 56_000.0
        for quarter in 4..<80 {
            let packet = try Self.remb(Bitrate(bitsPerSecond: Int(said)))
            call.after(.milliseconds(250 * quarter)) { $0.deliver([packet]) }
            said *= 1.02
        }
        call.run(for: .seconds(20))
        print(call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.freeze(from: .seconds(1)) <= .milliseconds(300))
        #expect(call.sender.estimate >= .kilobits(1_500))
    }

    @Test func audioShrinksBeforeVideoStops() throws {
        let call = call(130, plan: .still, seed: 6)
        let packet = try Self.remb(.kilobits(130))
        for second in 2..<40 { call.after(.seconds(second)) { $0.deliver([packet]) } }
        call.keyframeBytes = 4_000
        call.after(.seconds(10)) { $0.plan = .adaptive(perSecond: 5, limit: .kilobits(80)) }
        call.run(for: .seconds(40))
        print(call.summary)
        #expect(call.since(.seconds(15)).count >= 75)
        #expect(call.freeze(from: .seconds(15)) <= .milliseconds(800))
        #expect(call.audio.count >= 1_800)
    }

    @Test func anEstimateOfOtherStreamsOrNotNegotiatedIsIgnored() throws {
        for (ssrc, isAgreed) in [(0x9999, true), (0x3333, true), (0x1111, false)] as [(UInt32, Bool)] {
            let call = call(
                5_000, plan: .camera(perSecond: 30, limit: .kilobits(4_000)), seed: 7, isAgreed: isAgreed)
            let packet = try Self.remb(.kilobits(300), ssrc: ssrc)
            for second in 2..<20 { call.after(.seconds(second)) { $0.deliver([packet]) } }
            call.run(for: .seconds(20))
            #expect(call.sender.estimate >= .kilobits(2_500), "\(ssrc)")
            #expect(call.sender.statistics.rtcp.unknownSSRC == (isAgreed ? 18 : 0))
        }
        // The same REMB about the video stream is a limit.
        let call = call(5_000, plan: .camera(perSecond: 30, limit: .kilobits(4_000)), seed: 7)
        let packet = try Self.remb(.kilobits(300))
        for second in 2..<20 { call.after(.seconds(second)) { $0.deliver([packet]) } }
        call.run(for: .seconds(20))
        #expect(call.sender.estimate <= .kilobits(300))
    }
}
