import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// Audio through a relay: what a viewer gets of what a publisher sends, without a clock.
@Suite struct ForwardedAudioTests {
    /// The samples of a packet of 20 ms.
    private static let samples = 960

    /// An RTP packet as it is on the wire.
    struct Packet: Equatable {
        var sequence: UInt16
        var timestamp: UInt32
        var isMarked = false
        /// The numbers of the Opus packets: its own, and before it those that it carries again.
        var contents: [UInt16]
        var payloadType: UInt8 = 111
        var ssrc: UInt32 = 7
    }

    /// An Opus packet of 20 ms with its number.
    static func opus(_ number: UInt16, bytes: Int = 12) -> [UInt8] {
        [0x48, UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0xAA, count: max(bytes - 3, 0))
    }

    private static func number(_ opus: UnsafeRawBufferPointer) -> UInt16 {
        opus.count < 3 ? .max : UInt16(opus[1]) << 8 | UInt16(opus[2])
    }

    /// A publisher's session at the relay.
    final class Publisher {
        let receiver: MediaReceiver
        private var random: SeededRandom
        var ssrc: UInt32
        /// The sequence number and the timestamp of the Opus packet 0.
        var first: UInt16
        var start: UInt32
        /// What it was told of its losses.
        private(set) var reported: (cumulative: Int32, fraction: UInt8)?
        private(set) var nacks = 0
        /// The timestamps of the packets that were reported, and when they were captured.
        private(set) var reports: [(timestamp: UInt32, captured: NTPTimestamp?)] = []

        init(_ audio: ForwardedAudio, ssrc: UInt32 = 3, first: UInt16 = 100, start: UInt32 = 5_000, seed: UInt64 = 1) {
            (self.ssrc, self.first, self.start) = (ssrc, first, start)
            random = SeededRandom(seed: seed)
            receiver = MediaReceiver(
                ReceiverParameters(
                    video: nil,
                    audio: [AudioStreamParameters(ssrc: ssrc, payloadType: 111, redundantPayloadType: 63, mid: "1")],
                    extensions: [:], cname: "r", localSSRC: 9, usesTransportFeedback: false),
                seed: seed, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), forwarded: ForwardedMedia(audio: [audio]),
                now: .at(0))
        }

        /// Sends the Opus packet of a number, and in RED those at the distances before it.
        /// - Parameters:
        ///   - pause: samples that were left out before the packet.
        func send(
            _ number: UInt16, with distances: [UInt16] = [], pause: UInt32 = 0, isMarked: Bool = false,
            bytes: Int = 12, at time: Int
        ) throws {
            var payload: [UInt8] = []
            for distance in distances.sorted(by: >) {
                let offset = UInt32(distance) * 960 + pause
                let length = opus(number &- distance).count
                payload += [
                    0x80 | 111, UInt8(truncatingIfNeeded: offset >> 6), UInt8(offset & 0x3F) << 2 | UInt8(length >> 8),
                    UInt8(length & 0xFF),
                ]
            }
            if !distances.isEmpty { payload.append(111) }
            for distance in distances.sorted(by: >) { payload += opus(number &- distance) }
            try send(
                payload + opus(number, bytes: bytes), type: distances.isEmpty ? 111 : 63, sequence: first &+ number,
                timestamp: start &+ UInt32(number) &* 960 &+ pause, isMarked: isMarked, at: time)
        }

        func send(
            _ payload: [UInt8], type: UInt8 = 111, sequence: UInt16, timestamp: UInt32, isMarked: Bool = false,
            at time: Int
        ) throws {
            try withUnsafeTemporaryAllocation(byteCount: 4_000, alignment: 8) { buffer in
                let header = RTPHeader(
                    marker: isMarked, payloadType: type, sequenceNumber: SequenceNumber(sequence),
                    timestamp: RTPTimestamp(timestamp), ssrc: ssrc)
                let layout = try WrittenPacketLayout.write(
                    header, extensions: HeaderExtensionValues(), ids: [:], into: buffer)
                var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength...]))
                for byte in payload { try writer.write(uint8: byte) }
                let length = layout.headerLength + writer.position
                receiver.handleRTP(UnsafeRawBufferPointer(rebasing: buffer[..<length]), now: .at(time))
            }
            poll(at: time)
        }

        /// Says when a timestamp was captured.
        func report(_ timestamp: UInt32, captured: NTPTimestamp, at time: Int) throws {
            try withUnsafeTemporaryAllocation(byteCount: 200, alignment: 8) { buffer in
                var writer = ByteWriter(buffer)
                try SenderInfo(
                    ssrc: ssrc, ntp: captured, rtpTimestamp: RTPTimestamp(timestamp), packetCount: 1, octetCount: 1
                ).write(into: &writer)
                receiver.handleRTCP(writer.written, now: .at(time))
            }
        }

        func poll(at time: Int) {
            withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
                while true {
                    switch receiver.poll(now: .at(time), into: buffer) {
                    case .audio(_, let info): reports.append((info.timestamp.rawValue, info.captured))
                    case .rtcp(let length): note(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
                    case .frame, .event: break
                    case .wait: return
                    }
                }
            }
        }

        private func note(_ rtcp: UnsafeRawBufferPointer) {
            var packets = RTCPIterator(rtcp)
            while let packet = try? packets.next() {
                switch packet {
                case .receiverReport(let report):
                    for block in report.blocks { reported = (block.cumulativeLost, block.fractionLost) }
                case .nack: nacks += 1
                default: break
                }
            }
        }
    }

    /// A viewer's sender at the relay.
    final class Viewer {
        let sender: MediaSender
        private(set) var senderReports: [SenderInfo] = []

        init(_ audio: ForwardedAudio, hasRED: Bool = false, seed: UInt64 = 1, at time: Int = 0) {
            sender = MediaSender(
                SenderParameters(
                    video: nil,
                    audio: [
                        AudioStreamParameters(
                            ssrc: 7, payloadType: 111, redundantPayloadType: hasRED ? 63 : nil, mid: "1")
                    ],
                    extensions: [.transportSequence: 3, .mid: 1], cname: "c", startBitrate: .kilobits(2_500),
                    maximumBitrate: .kilobits(2_500), usesTransportFeedback: true),
                forwarding: ForwardedMedia(audio: [audio]), seed: seed, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0),
                now: .at(time))
        }

        /// What the viewer gets now.
        func receive(at time: Int) throws -> [Packet] {
            sender.handleForwarded(now: .at(time))
            var result: [Packet] = []
            try withUnsafeTemporaryAllocation(byteCount: 1_600, alignment: 8) { buffer in
                while true {
                    switch sender.poll(now: .at(time), into: buffer) {
                    case .rtp(let length):
                        result.append(try ForwardedAudioTests.read(UnsafeRawBufferPointer(rebasing: buffer[..<length])))
                    case .rtcp(let length): note(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
                    case .protected, .event: break
                    case .wait: return
                    }
                }
            }
            return result
        }

        private func note(_ rtcp: UnsafeRawBufferPointer) {
            var packets = RTCPIterator(rtcp)
            while let packet = try? packets.next() {
                if case .senderReport(let report) = packet { senderReports.append(report.info) }
            }
        }
    }

    fileprivate static func read(_ bytes: UnsafeRawBufferPointer) throws -> Packet {
        let view = try RTPPacketView(bytes)
        let blocks =
            view.payloadType == 63
            ? try RedundantPayload(view.payload).map { number($0.bytes) } : [number(view.payload)]
        return Packet(
            sequence: view.sequenceNumber.rawValue, timestamp: view.timestamp.rawValue, isMarked: view.marker,
            contents: blocks, payloadType: view.payloadType, ssrc: view.ssrc)
    }

    private func contents(_ packets: [Packet]) -> [[UInt16]] { packets.map(\.contents) }

    private func marks(_ packets: [Packet]) -> [Int] {
        packets.indices.filter { packets[$0].isMarked }
    }

    /// Each packet with one number of these.
    private func single(_ numbers: some Sequence<Int>) -> [[UInt16]] { numbers.map { [UInt16($0)] } }

    /// The same steps of both.
    private func even(_ numbers: some Sequence<Int>) -> [[Int]] { numbers.map { [$0, $0] } }

    /// The steps of sequence numbers and timestamps from the first packet on.
    private func steps(_ packets: [Packet]) -> [[Int]] {
        packets.map {
            [
                SequenceNumber(packets[0].sequence).distance(to: SequenceNumber($0.sequence)),
                RTPTimestamp(packets[0].timestamp).distance(to: RTPTimestamp($0.timestamp)) / Self.samples,
            ]
        }
    }

    // MARK: Order and loss

    @Test(arguments: wrapPoints)
    func packetsAreSentAsTheyArriveUnderNumbersOfTheViewer(first: UInt16) throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio, first: first &- 3, start: 0 &- 2_000)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in 0..<8 as Range<UInt16> {
            try publisher.send(number, at: Int(number) * 20)
            let got = try viewer.receive(at: Int(number) * 20)
            #expect(got.count == 1, "none waits")
            packets += got
        }
        #expect(contents(packets) == single(0..<8))
        #expect(steps(packets) == even(0..<8))
        let stamps: [UInt32] = (0..<8).map { index in 0 &- 2_000 &+ UInt32(index) * 960 }
        #expect(packets.map(\.timestamp) == stamps)
        #expect(packets.allSatisfy { $0.ssrc == 7 && $0.payloadType == 111 })
        #expect(marks(packets) == [0])
    }

    /// What a relay's publisher has lost is a gap to the viewers, who conceal it.
    @Test func aLostPacketIsAGapForTheViewerAndTheLossOfThePublisher() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in [0, 1, 3, 4] as [UInt16] {
            try publisher.send(number, at: Int(number) * 20)
            packets += try viewer.receive(at: Int(number) * 20)
        }
        #expect(steps(packets) == [[0, 0], [1, 1], [3, 3], [4, 4]])
        publisher.poll(at: 1_200)
        #expect(publisher.reported?.cumulative == 1 && publisher.reported?.fraction ?? 0 > 0)
        #expect(publisher.nacks == 0 && publisher.receiver.statistics.audioLost == 1)
        // The viewer's own report is about what the relay sent.
        #expect(viewer.sender.statistics.audioPackets == 4)
    }

    @Test func aLatePacketIsSentUnderTheNumberThatItLeftOut() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in [0, 2, 3, 1, 2, 1, 4] as [UInt16] {
            try publisher.send(number, at: 20)
            packets += try viewer.receive(at: 20)
        }
        #expect(contents(packets) == single([0, 2, 3, 1, 4]))
        #expect(steps(packets) == [[0, 0], [2, 2], [3, 3], [1, 1], [4, 4]])
        #expect(publisher.receiver.statistics.audioLost == 0)
        // Receivers refuse what is older than 64 packets.
        for number in [67, 130, 67, 68, 66, 5] as [UInt16] { try publisher.send(number, at: 2_000) }
        #expect(contents(try viewer.receive(at: 2_000)) == single([67, 130, 68]))
        #expect(publisher.receiver.statistics.audioLate == 2)
    }

    /// A viewer that joins gets what comes from then on, and nothing before it.
    @Test func aViewerBeginsWithTheNextPacket() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        for number in [0, 1, 4] as [UInt16] { try publisher.send(number, at: 0) }
        let viewer = Viewer(audio)
        #expect(try viewer.receive(at: 0).isEmpty)
        for number in [6, 5, 2, 7] as [UInt16] { try publisher.send(number, at: 0) }
        let packets = try viewer.receive(at: 0)
        #expect(contents(packets) == single([6, 7]) && marks(packets) == [0])
    }

    @Test func aViewerThatCannotBeReachedMissesPacketsWithoutAGap() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        try publisher.send(0, at: 0)
        let before = try viewer.receive(at: 0)
        for number in 1..<300 as Range<UInt16> {
            try publisher.send(number, at: Int(number) * 20)
            viewer.sender.skipForwardedAudio()
        }
        try publisher.send(300, at: 6_000)
        let after = try viewer.receive(at: 6_000)
        #expect(steps(before + after) == [[0, 0], [1, 300]] && after[0].isMarked)
        #expect(viewer.sender.statistics.audioDropped == 0)
    }

    @Test func ofALongQueueTheNewestPacketsAreSent() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        for number in 0..<100 as Range<UInt16> { try publisher.send(number, at: Int(number)) }
        #expect(contents(try viewer.receive(at: 100)) == single(36..<100))
        #expect(viewer.sender.statistics.audioDropped == 36)
    }

    /// A jitter buffer in the relay would hold packets for as long as most of them are late, and the viewer's does so
    /// again.
    @Test(arguments: [0, 30, 80])
    func theRelayAddsNoDelay(jitter: Int) throws {
        var random = SeededRandom(seed: 11)
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var buffer = AudioJitterBuffer()
        let times = (0..<500).map { number in number * 20 + 25 + Int.random(in: 0...jitter, using: &random) }
        let arrivals = Dictionary(grouping: times.indices) { times[$0] }
        var (forwarded, buffered) = (0, [Int]())
        for time in 0..<10_500 {
            for number in (arrivals[time] ?? []).map({ UInt16($0) }) {
                try publisher.send(number, at: time)
                let packets = try viewer.receive(at: time)
                #expect(contents(packets) == [[number]])
                forwarded += packets.count
                withBytes(Self.opus(number)) {
                    buffer.insert(
                        Int64(number), $0, timestamp: RTPTimestamp(UInt32(number) * 960), now: .at(time)
                    )
                }
            }
            while let output = buffer.pop(now: .at(time)) {
                if let bytes = output.bytes, !output.isLost {
                    buffered.append(time - times[Int(Self.number(bytes))])
                }
            }
        }
        #expect(forwarded == 500, "each at the instant of its arrival")
        let held = Double(buffered.dropFirst(100).reduce(0, +)) / Double(max(buffered.count - 100, 1))
        print("a jitter of \(jitter) ms: a buffer holds packets for \(held) ms, and loses \(500 - buffered.count)")
        #expect(jitter == 0 ? held == 0 : held > Double(jitter) / 3)
    }

    // MARK: RED

    @Test func whatThePublisherCarriesAgainFillsTheGapBeforeItsPacket() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in [0, 1, 4, 5] as [UInt16] {
            try publisher.send(number, with: number == 0 ? [] : number == 1 ? [1] : [1, 2], at: Int(number) * 20)
            packets += try viewer.receive(at: Int(number) * 20)
        }
        #expect(contents(packets) == single(0..<6))
        #expect(steps(packets) == even(0..<6))
        #expect(publisher.receiver.statistics.audioRestored == 2 && publisher.receiver.statistics.audioLost == 0)
        // The publisher learns of its losses nevertheless.
        publisher.poll(at: 1_200)
        #expect(publisher.reported?.cumulative == 2)
    }

    @Test func whatIsCarriedAgainLaterIsSentLate() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in [0, 1, 2, 3, 5, 6, 7, 8] as [UInt16] {
            try publisher.send(number, with: number < 4 ? [] : [2, 4], at: Int(number) * 20)
            packets += try viewer.receive(at: Int(number) * 20)
        }
        #expect(contents(packets).map { Int($0[$0.count - 1]) } == [0, 1, 2, 3, 5, 4, 6, 7, 8])
        #expect(steps(packets).map { $0[0] } == [0, 1, 2, 3, 5, 4, 6, 7, 8])
    }

    /// The positions of earlier packets are counted in packets, which a pause leads astray.
    @Test func acrossAPauseNothingIsTakenForALostPacket() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        for number in [0, 1, 2, 3, 5, 6, 7, 8] as [UInt16] { try publisher.send(number, at: Int(number) * 20) }
        // Packet 8 again, which lies at the place of packet 4 if the pause is counted.
        try publisher.send(9, with: [1], pause: 4 * 960, isMarked: true, at: 260)
        let packets = try viewer.receive(at: 260)
        #expect(contents(packets) == single([0, 1, 2, 3, 5, 6, 7, 8, 9]))
        #expect(packets.last?.isMarked == true && steps(packets).last == [9, 13])
    }

    @Test func eachViewerGetsItsOwnRedundancy() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        var random = SeededRandom(seed: 5)
        let parameters = AudioStreamParameters(ssrc: 7, payloadType: 111, redundantPayloadType: 63, mid: "1")
        var (spaced, none) = (
            AudioTrack(parameters, forwarding: audio, slotBytes: 1_200, epoch: .at(0), random: &random),
            AudioTrack(parameters, forwarding: audio, slotBytes: 1_200, epoch: .at(0), random: &random)
        )
        func receive(_ track: inout AudioTrack, _ distances: RedundancyDistances) throws -> [Packet] {
            expect(track.takeForwarded())
            var result: [Packet] = []
            try withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
                while let packet = track.takeNext() {
                    let length = try require(track.write(packet, distances, ids: [:], into: buffer)).length
                    result.append(try Self.read(UnsafeRawBufferPointer(rebasing: buffer[..<length])))
                }
            }
            return result
        }
        var (one, other): ([Packet], [Packet]) = ([], [])
        // Packet 5 is lost, and packet 3 restored by packet 4.
        for number in [0, 1, 2, 4, 6, 7, 8, 9] as [UInt16] {
            try publisher.send(number, with: number == 4 ? [1] : [], at: Int(number) * 20)
            one += try receive(&spaced, .lastTwo)
            other += try receive(&none, .none)
        }
        #expect(
            contents(one) == [
                [0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [6], [6, 7], [6, 7, 8], [7, 8, 9],
            ])
        #expect(contents(other) == single([0, 1, 2, 3, 4, 6, 7, 8, 9]))
    }

    // MARK: Other sources

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func anotherSourceContinuesNumbersAndTime(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let audio = ForwardedAudio()
        let viewer = Viewer(audio, seed: seed)
        var packets: [Packet] = []
        var time = 0
        var publishers: [Publisher] = []
        for source in 0..<4 as Range<UInt16> {
            let publisher = Publisher(
                audio, ssrc: .random(in: 1 ... .max, using: &random), first: .random(in: 0 ... .max, using: &random),
                start: .random(in: 0 ... .max, using: &random), seed: seed)
            publishers.append(publisher)
            for number in 0..<5 as Range<UInt16> {
                // A source that has lost the broadcast is ignored.
                for old in publishers.dropLast() { try old.send(source * 100 + number, at: time) }
                try publisher.send(number, at: time)
                packets += try viewer.receive(at: time)
                time += 20
            }
            // The failover takes so long.
            time += 1_000
        }
        let expected: [[Int]] = (0..<20).map { index in [index, index + index / 5 * 50] }
        #expect(steps(packets) == expected)
        #expect(marks(packets) == [0, 5, 10, 15])
        #expect(contents(packets) == single((0..<20).map { $0 % 5 }))
    }

    @Test func anotherSSRCAndARestartedSequenceAreContinued() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        var packets: [Packet] = []
        for number in 0..<3 as Range<UInt16> { try publisher.send(number, at: Int(number) * 20) }
        packets += try viewer.receive(at: 40)
        publisher.ssrc = 0xFFFF_0001
        (publisher.first, publisher.start) = (60_000, 0x8000_0000)
        for number in 0..<3 as Range<UInt16> { try publisher.send(number, at: 2_040 + Int(number) * 20) }
        packets += try viewer.receive(at: 2_080)
        // The first packet that is far from the others is not believed.
        (publisher.first, publisher.start) = (9, 77)
        for number in 0..<3 as Range<UInt16> { try publisher.send(number, at: 2_100 + Int(number) * 20) }
        packets += try viewer.receive(at: 2_140)
        #expect(steps(packets) == [[0, 0], [1, 1], [2, 2], [3, 102], [4, 103], [5, 104], [6, 106], [7, 107]])
    }

    /// After silence the publisher's timestamps say how long it was. What cannot be true is left out.
    @Test func timestampsMayPauseButNotJump() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        try publisher.send(0, at: 0)
        // Five minutes of silence, by the publisher's clock 300.02 s.
        try publisher.send(1, pause: 300 * 48_000, isMarked: true, at: 300_000)
        publisher.start &+= 300 * 48_000
        try publisher.send(2, at: 300_020)
        for jump in [11 * 48_000, 0x7000_0000, 0 &- 40 * 48_000] as [UInt32] {
            publisher.start &+= jump
            try publisher.send(3, at: 300_040)
            publisher.first &+= 1
        }
        let packets = try viewer.receive(at: 300_040)
        #expect(steps(packets) == [[0, 0], [1, 15_001], [2, 15_002], [3, 15_003], [4, 15_004], [5, 15_005]])
        #expect(marks(packets) == [0, 1, 3, 4, 5])
    }

    // MARK: Reports

    @Test func senderReportsFollowThePublishersClock() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        // The time of nothing is not known.
        #expect(try viewer.receive(at: 0).isEmpty && viewer.senderReports.isEmpty)
        try publisher.send(0, at: 100)
        #expect(publisher.reports.map(\.timestamp) == [5_000] && publisher.reports[0].captured == nil)
        audio.note(rtpTimestamp: 5_000, captured: .at(60))
        let packets = try viewer.receive(at: 1_060)
        #expect(packets.count == 1 && viewer.senderReports.last?.rtpTimestamp.rawValue == 5_000 + 48_000)
        // The packet came 40 ms after it was captured; another source's is as old.
        try publisher.report(5_000, captured: NTPTimestamp(unixSeconds: 50, nanoseconds: 0), at: 1_100)
        try publisher.send(1, at: 1_120)
        let captured = try #require(publisher.reports.last?.captured)
        let elapsed = NTPTimestamp(unixSeconds: 50, nanoseconds: 0).duration(to: captured)
        #expect(abs(elapsed.nanoseconds - 20_000_000) < 10)
        let next = Publisher(audio, ssrc: 8, first: 9, start: 0xFFFF_FFF0)
        try next.send(0, at: 2_120)
        audio.note(rtpTimestamp: 0xFFFF_FFF0, captured: .at(2_080))
        let after = try viewer.receive(at: 2_120)
        let stamp = RTPTimestamp(try #require(after.last).timestamp)
        #expect(stamp.distance(to: try #require(viewer.senderReports.last).rtpTimestamp) == 48 * 40)
    }

    /// Late packets would turn the clock back.
    @Test func onlyNewPacketsAreReported() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        for number in [0, 2, 1, 1, 3] as [UInt16] { try publisher.send(number, at: 20) }
        try publisher.send(6, with: [1, 2], at: 40)
        #expect(publisher.reports.map { Int(($0.timestamp - 5_000) / 960) } == [0, 2, 3, 6])
    }

    @Test func audioIsSentInBurstsBeforeVideo() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        for number in 0..<3 as Range<UInt16> { try publisher.send(number, at: 0) }
        viewer.sender.handleForwarded(now: .at(0))
        var lengths = [Int](repeating: 0, count: 2)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 3_200, alignment: 16)
        defer { memory.deallocate() }
        var delays = DelayHistogram()
        var numbers: [[UInt16]] = []
        for count in [2, 1, 0] {
            try lengths.withUnsafeMutableBufferPointer { lengths in
                let slots = PacketSlots(
                    base: memory, stride: 1_600, size: 1_536, count: 2, lengths: try #require(lengths.baseAddress))
                expect(viewer.sender.pollBurst(now: .at(0), into: slots, delays: &delays) == count)
                for index in 0..<count {
                    let bytes = UnsafeRawBufferPointer(start: slots[index], count: lengths[index])
                    numbers.append(try Self.read(bytes).contents)
                }
            }
        }
        #expect(numbers == [[0], [1], [2]])
    }

    // MARK: Hostile publishers

    @Test func packetsThatAreTooLongOrEmptyAreLeftOut() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        try publisher.send(0, at: 0)
        for (number, bytes) in [(1, ForwardedAudio.largestPayload + 1), (2, 3_000), (3, 1_137)] as [(UInt16, Int)] {
            try publisher.send(number, bytes: bytes, at: 0)
        }
        try publisher.send([], sequence: 104, timestamp: 5_000 + 4 * 960, at: 0)
        try publisher.send(5, bytes: 1_136, at: 0)
        #expect(steps(try viewer.receive(at: 0)) == [[0, 0], [5, 5]])
        #expect(viewer.sender.statistics.audioDropped == 1)
    }

    /// A viewer's SRTP takes a packet that follows more than 2^15 missing ones for an old one.
    @Test func aGapOfAnyLengthIsNotPassedOn() throws {
        let audio = ForwardedAudio()
        let publisher = Publisher(audio)
        let viewer = Viewer(audio)
        try publisher.send(0, at: 0)
        var packets = try viewer.receive(at: 0)
        // Packets that cannot be forwarded, each of which the validator admits.
        for step in 1...11 {
            try publisher.send([], sequence: 100 + UInt16(step * 2_999), timestamp: 5_000, at: 0)
        }
        try publisher.send(33_000 + 2_988, pause: 0, at: 20)
        packets += try viewer.receive(at: 20)
        // Packets that can be, but of which a viewer gets the newest only.
        for step in 1...28 { try publisher.send(UInt16(truncatingIfNeeded: 35_988 + step * 2_999), at: 40) }
        packets += try viewer.receive(at: 40)
        #expect(packets.count == 30)
        for (packet, next) in zip(packets, packets.dropFirst()) {
            #expect(next.sequence &- packet.sequence == 1 && next.isMarked)
        }
    }

    @Test func thePacketsAndBytesOfASecondAreBounded() throws {
        for (bytes, most) in [(3, 64 + 500), (1_000, 64 + 80)] {
            let audio = ForwardedAudio()
            let publisher = Publisher(audio)
            let viewer = Viewer(audio)
            var count = 0
            for number in 0..<2_000 {
                try publisher.send(UInt16(number), bytes: bytes, at: number / 2)
                count += try viewer.receive(at: number / 2).count
            }
            #expect((most - 8...most).contains(count), "\(count) of \(bytes) bytes")
        }
    }

    /// Whatever the publisher sends, a viewer gets no number twice, nothing that its SRTP refuses, and what was sent.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func aHostilePublisherCannotBreakTheViewersStream(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let audio = ForwardedAudio()
        var publisher = Publisher(audio, seed: seed)
        let viewers = [false, true].map { Viewer(audio, hasRED: $0, seed: seed) }
        var used: [Set<Int64>] = [[], []]
        var highest: [Int64?] = [nil, nil]
        var (number, time) = (UInt16(0), 0)
        for _ in 0..<600 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: number &+= .random(in: 0 ... .max, using: &random)
            case 1: number &+= .random(in: 0..<2_900, using: &random)
            case 2: number &-= .random(in: 0..<100, using: &random)
            case 3: publisher.start &+= .random(in: 0 ... .max, using: &random)
            case 4: time += .random(in: 0..<3_000, using: &random)
            case 5: publisher.ssrc = .random(in: 1...3, using: &random)
            case 6: publisher = Publisher(audio, ssrc: 3, first: .random(in: 0 ... .max, using: &random), seed: seed)
            case 7:
                let bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                    UInt8.random(in: 0 ... .max, using: &random)
                }
                try? publisher.send([0xEF] + bytes, type: 63, sequence: number, timestamp: publisher.start, at: time)
            default: number &+= 1
            }
            let distances: [UInt16] = [[], [], [1], [1, 2], [2, 4], [9]].randomElement(using: &random) ?? []
            try? publisher.send(
                number, with: distances, pause: [0, 0, 0, 960, 77, 0x9000_0000].randomElement(using: &random) ?? 0,
                bytes: Int.random(in: 3..<1_700, using: &random), at: time)
            time += Int.random(in: 0..<25, using: &random)
            if Int.random(in: 0..<8, using: &random) == 0 { viewers[0].sender.skipForwardedAudio() }
            for index in viewers.indices {
                for packet in try viewers[index].receive(at: time) {
                    let last = highest[index] ?? Int64(packet.sequence)
                    let full =
                        last + Int64(SequenceNumber(truncating: last).distance(to: SequenceNumber(packet.sequence)))
                    expect(used[index].insert(full).inserted, "seed \(seed): \(full) twice")
                    expect(full > last - 64 && full <= last + 65, "seed \(seed): \(full) after \(last)")
                    highest[index] = max(last, full)
                }
            }
        }
        #expect(used.allSatisfy { $0.count > 100 })
    }
}
