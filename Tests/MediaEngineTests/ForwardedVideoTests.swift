import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct ForwardedVideoTests {
    /// The first bytes of a key frame of 64 x 48 pixels, and of another frame.
    private static let keyframe: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]
    private static let interframe: [UInt8] = [0x11, 0, 0, 1, 2, 3]

    /// Puts in the packet of a VP8 frame, whole unless `part` says otherwise.
    private func insert(
        _ sequence: Int64, into source: ForwardedVideo, _ descriptor: [UInt8] = [0x10], isKeyframe: Bool = false,
        isStart: Bool = true, isMarked: Bool = true, padding: Bool = false, extra: Int = 0, at time: Int = 0,
        by input: ForwardedInput? = nil, frame: Int64? = nil
    ) throws {
        var descriptor = descriptor
        if !isStart { descriptor[0] &= ~0x10 }
        let data = isKeyframe ? Self.keyframe : Self.interframe
        let payload =
            padding ? [] : descriptor + data + [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: extra)
        try insert(
            payload, sequence, into: source, isMarked: isMarked,
            timestamp: UInt32(UInt16(truncatingIfNeeded: frame ?? (isStart ? sequence : sequence - 1))), at: time,
            by: input)
    }

    private func insert(
        _ payload: [UInt8], _ sequence: Int64, into source: ForwardedVideo, isMarked: Bool, timestamp: UInt32,
        at time: Int = 0, by input: ForwardedInput? = nil
    ) throws {
        let number = UInt16(truncatingIfNeeded: sequence)
        let header: [UInt8] = [
            0x80, (isMarked ? 0x80 : 0) | 96, UInt8(number >> 8), UInt8(number & 0xFF), 0, 0,
            UInt8(truncatingIfNeeded: timestamp >> 8), UInt8(truncatingIfNeeded: timestamp), 0, 0, 0, 9,
        ]
        try withBytes(header + payload) { bytes in
            let view = try RTPPacketView(bytes)
            let part = try VideoDepacketizer(source.codec).depacketize(view.payload)
            if let input {
                input.insert(sequence, view, part, now: .at(time))
            } else {
                source.insert(sequence, view, part, now: .at(time))
            }
        }
    }

    /// The sequence numbers of what can be sent.
    private func sequences(_ source: ForwardedVideo) -> [Int] {
        (source.resumption..<source.end).compactMap { source.packet($0) }.filter { $0.length > 0 }.map {
            Int($0.timestamp.rawValue)
        }
    }

    @Test(arguments: wrapPoints)
    func packetsBehindAGapWaitUntilItIsFilled(first: UInt16) throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        let first = Int64(first)
        var calls = 0
        source.onPackets = { calls += 1 }
        try insert(first, into: source, isKeyframe: true)
        try insert(first + 2, into: source)
        try insert(first + 3, into: source)
        let before = source.end
        #expect(before == 1 && calls == 1)
        try insert(first + 1, into: source)
        #expect(source.end == 4 && calls == 2)
        let expected = (0..<4).map { Int(UInt16(truncatingIfNeeded: first + $0)) }
        #expect(sequences(source) == expected)
    }

    @Test func nothingIsSentBeforeAKeyFrame() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        for sequence in 10..<14 as Range<Int64> { try insert(sequence, into: source) }
        #expect(source.end == 0 && source.group.start == nil)
        try insert(14, into: source, isKeyframe: true)
        #expect(sequences(source) == [14])
    }

    @Test func aKeyFrameEndsTheWaitForALostPacket() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(0, into: source, isKeyframe: true)
        try insert(2, into: source)
        try insert(4, into: source, isKeyframe: true)
        #expect(source.end == 5 && source.group.start == 4 && source.group.frames == 1)
        // The lost packet comes too late.
        try insert(1, into: source)
        #expect(source.end == 5 && source.packet(1) == nil)
    }

    @Test func aGapThatExceedsTheRingIsGivenUp() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(0, into: source, isKeyframe: true)
        for sequence in 2..<30 as Range<Int64> { try insert(sequence, into: source) }
        #expect(source.end == 1)
        try insert(1, into: source)
        #expect(source.end == 1, "what follows it was overwritten")
        try insert(30, into: source, isKeyframe: true)
        #expect(source.end == 31)
    }

    @Test func aTooLongPayloadIsNotSent() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(0, into: source, isKeyframe: true)
        try insert(1, into: source, extra: ForwardedVideo.largestPayload)
        try insert(2, into: source)
        #expect(source.end == 1)
        try insert(3, into: source, isKeyframe: true)
        #expect(source.end == 4)
    }

    @Test func paddingClosesAGapAndIsLeftOut() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(0, into: source, isKeyframe: true)
        try insert(1, into: source, padding: true)
        try insert(2, into: source)
        #expect(source.end == 3 && sequences(source) == [0, 2])
    }

    @Test func anotherSourceBeginsWithItsKeyFrame() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(100, into: source, isKeyframe: true)
        try insert(102, into: source)
        source.restart()
        try insert(7, into: source)
        try insert(8, into: source, isKeyframe: true)
        try insert(9, into: source)
        #expect(sequences(source) == [8, 9])
    }

    /// What the former source still sends does not shift the numbers of the next one.
    @Test func aFormerSourceIsIgnored() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        let former = ForwardedInput(source)
        try insert(100, into: source, isKeyframe: true, by: former)
        let next = ForwardedInput(source)
        try insert(101, into: source, by: former)
        try insert(7, into: source, isKeyframe: true, by: next)
        former.restart()
        try insert(102, into: source, isKeyframe: true, by: former)
        try insert(8, into: source, by: next)
        #expect(sequences(source) == [7, 8])
    }

    @Test func theFirstPacketOfAFrameIsKnownWithoutAMark() throws {
        let source = ForwardedVideo(.h264, capacity: 16)
        // A sequence parameter set, two slices of its frame, and one of the next frame.
        let units: [(UInt8, Bool)] = [(0x67, false), (0x65, false), (0x65, true), (0x41, true)]
        for (index, (unit, isMarked)) in units.enumerated() {
            try insert(Int64(index), into: source, [unit], isMarked: isMarked, frame: index < 3 ? 0 : 1)
        }
        let starts = (0..<source.end).compactMap { source.packet($0)?.isFrameStart }
        #expect(starts == [true, false, false, true] && source.group.start == 0)
        #expect(source.group.frames == 2)
    }

    /// The payloads of a key frame whose parameter sets do not come first, one packet each, and of the frame before it.
    struct LateParameterSets: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var codec: VideoCodec
        var keyframe: [[UInt8]]
        var other: [[UInt8]]
    }

    static let lateParameterSets = [
        LateParameterSets(
            testDescription: "H.264: delimiter, SPS, PPS, SEI, two slices, as OBS sends it", codec: .h264,
            keyframe: [[0x09, 0x10], [0x67, 1], [0x68, 2], [0x06, 5], [0x65, 0x88, 1], [0x65, 0x08, 2]],
            other: [[0x09, 0x30], [0x41, 0x9A, 1]]),
        LateParameterSets(
            testDescription: "H.264: SEI and PPS, then two SPS", codec: .h264,
            keyframe: [[0x06, 5, 1], [0x68, 2], [0x67, 1], [0x67, 2], [0x65, 0x88, 1]],
            other: [[0x06, 5, 1], [0x41, 0x9A, 1]]),
        LateParameterSets(
            testDescription: "H.264: STAP-A without SPS, SEI in fragments", codec: .h264,
            keyframe: [
                [0x78, 0, 2, 0x09, 0x10, 0, 2, 0x06, 5], [0x7C, 0x86, 1, 2], [0x7C, 0x46, 3], [0x67, 1], [0x68, 2],
                [0x65, 0x88, 1],
            ], other: [[0x41, 0x9A, 1]]),
        LateParameterSets(
            testDescription: "H.265: delimiter, prefix SEI, VPS, SPS, PPS, slice", codec: .h265,
            keyframe: [
                [0x46, 1, 0x10], [0x4E, 1, 5], [0x40, 1, 1], [0x42, 1, 2], [0x44, 1, 3], [0x26, 1, 0x80],
            ], other: [[0x46, 1, 0x30], [0x02, 1, 0x80]]),
        LateParameterSets(
            testDescription: "AV1: temporal delimiter and metadata, then the sequence header", codec: .av1,
            keyframe: [[0x10, 0x10], [0x10, 0x28, 1], [0x18, 0x08, 1], [0x10, 0x30, 2]],
            other: [[0x10, 0x10], [0x10, 0x30, 0x20]]),
    ]

    /// Takes the key frame and the frame after it in, in packets of their own.
    private func insertFrames(_ stream: LateParameterSets, into source: ForwardedVideo, from first: Int64) throws
        -> Int64
    {
        var sequence = first
        for frame in [stream.other, stream.keyframe, stream.other] {
            let timestamp = UInt32(truncatingIfNeeded: sequence)
            for (index, payload) in frame.enumerated() {
                try insert(
                    payload, sequence, into: source, isMarked: index == frame.count - 1, timestamp: timestamp,
                    at: Int(sequence))
                sequence += 1
            }
        }
        return sequence
    }

    private func payloads(_ packets: [[UInt8]]) throws -> [[UInt8]] {
        try packets.filter { $0[1] & 0x7F == 120 }.map { try withBytes($0) { Array(try RTPPacketView($0).payload) } }
    }

    @Test(arguments: lateParameterSets)
    func aReceiverBeginsWithAKeyFrameWhoseParameterSetsDoNotComeFirst(_ stream: LateParameterSets) throws {
        let source = ForwardedVideo(stream.codec, capacity: 64)
        let next = try insertFrames(stream, into: source, from: 100)
        #expect(source.group.frames == 2)
        // It joins between two frames, and takes each packet as it comes.
        var late = sender(source)
        var sent: [[UInt8]] = []
        var sequence = next
        for frame in [stream.other, stream.keyframe, stream.other] {
            let timestamp = UInt32(truncatingIfNeeded: sequence)
            for (index, payload) in frame.enumerated() {
                try insert(
                    payload, sequence, into: source, isMarked: index == frame.count - 1, timestamp: timestamp,
                    at: Int(sequence))
                sequence += 1
                sent += packets(of: &late, at: Int(sequence))
            }
        }
        #expect(try payloads(sent) == stream.keyframe + stream.other)
        expect(late.statistics.video.keyframes == 1)
        // And it begins at once with the newest one, if it asks for that.
        var rewound = sender(source)
        #expect(rewound.video.forwarded?.rewind() == true)
        #expect(try payloads(packets(of: &rewound, at: Int(sequence))) == stream.keyframe + stream.other)
    }

    /// Then the key frame begins with its parameter sets.
    @Test(arguments: lateParameterSets) func packetsBeforeTheParameterSetsMayBeLateOrLost(_ stream: LateParameterSets)
        throws
    {
        let first = try #require(stream.keyframe.firstIndex { [0x67, 0x40, 0x18].contains($0[0]) })
        for lost in [nil] + (0..<first).map(Optional.some) {
            let source = ForwardedVideo(stream.codec, capacity: 64)
            var late = sender(source)
            try insert(stream.other[0], 499, into: source, isMarked: true, timestamp: 6)
            let order = [first] + (0..<first).reversed() + (first + 1..<stream.keyframe.count)
            for index in order where index != lost {
                try insert(
                    stream.keyframe[index], 500 + Int64(index), into: source,
                    isMarked: index == stream.keyframe.count - 1, timestamp: 7)
            }
            let got = try payloads(packets(of: &late, at: 10))
            #expect(got == Array(stream.keyframe[first...]))
        }
    }

    /// A sender that begins frame after frame with units that hold no picture costs no more than others.
    @Test func endlessUnitsBeforeAPictureAreForwarded() throws {
        let source = ForwardedVideo(.h264, capacity: 64)
        try insert([0x67, 1], 0, into: source, isMarked: true, timestamp: 0)
        for sequence in 1..<40 as Range<Int64> {
            try insert([0x06, 5], sequence, into: source, isMarked: false, timestamp: 1)
        }
        #expect(source.end > 20)
    }

    // MARK: The receivers' packets

    private func sender(_ source: ForwardedVideo, rtx: Bool = true) -> SenderState {
        let video = VideoStreamParameters(
            ssrc: 0xAABB_CCDD, payloadType: 120, rtxSSRC: rtx ? 0x1122_3344 : nil, rtxPayloadType: rtx ? 121 : nil,
            mid: "7")
        let parameters = SenderParameters(
            video: video, audio: [], extensions: [.transportSequence: 3, .mid: 1], cname: "c",
            startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(20_000), usesTransportFeedback: true,
            historyCapacity: 2_048)
        return SenderState(
            parameters, forwarding: ForwardedMedia(video: source), seed: 1,
            ntpEpoch: NTPTimestamp(unixSeconds: 0, nanoseconds: 0), now: .at(0)
        )
    }

    /// The RTP packets that the sender has to send now.
    private func packets(of sender: inout SenderState, at time: Int) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var room = [UInt8](repeating: 0, count: 1_600)
        sender.handleForwarded(now: .at(time))
        room.withUnsafeMutableBytes { buffer in
            while true {
                switch sender.poll(now: .at(time), into: buffer) {
                case .rtp(let length): result.append(Array(buffer[..<length]))
                case .protected, .rtcp, .event: continue
                case .wait: return
                }
            }
        }
        return result
    }

    /// The packets that the sender sends at once.
    private func burst(of sender: inout SenderState, most: Int = 8, at time: Int) -> [[UInt8]] {
        var memory = [UInt8](repeating: 0xEE, count: most * 1_600)
        var lengths = [Int](repeating: 0, count: most)
        sender.handleForwarded(now: .at(time))
        return memory.withUnsafeMutableBytes { memory in
            lengths.withUnsafeMutableBufferPointer { lengths in
                guard let base = memory.baseAddress, let first = lengths.baseAddress else { return [] }
                let slots = PacketSlots(base: base, stride: 1_600, size: 1_500, count: most, lengths: first)
                var delays = DelayHistogram()
                let count = sender.pollBurst(now: .at(time), into: slots, delays: &delays)
                #expect(delays.count == count)
                return (0..<count).map { Array(UnsafeRawBufferPointer(start: slots[$0], count: lengths[$0])) }
            }
        }
    }

    /// The same stream for two receivers: one polls, the other takes bursts.
    @Test func aBurstHasThePacketsThatPollReturns() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var polled = sender(source)
        var bursting = sender(source)
        try insert(0, into: source, isKeyframe: true, isMarked: false, extra: 800)
        // A browser's parts differ by a byte; the last packet of the next frame is much shorter.
        try insert(1, into: source, isStart: false, extra: 803)
        try insert(2, into: source, isMarked: false, extra: 500)
        try insert(3, into: source, isStart: false, extra: 20)
        let one = packets(of: &polled, at: 10).filter { $0[1] & 0x7F == 120 }
        let other = burst(of: &bursting, at: 10)
        try #require(one.count == 4 && other.count == 4)
        for (a, b) in zip(one, other) {
            try withBytes(a) { a in
                try withBytes(b) { b in
                    let (a, b) = (try RTPPacketView(a), try RTPPacketView(b))
                    #expect(a.header == b.header && Array(a.payload) == Array(b.payload))
                    let ids: HeaderExtensionMap = [.transportSequence: 3, .mid: 1]
                    #expect(a.values(of: ids).transportSequence == b.values(of: ids).transportSequence)
                }
            }
        }
        // Those that differ by a few bytes are padded to one length.
        #expect(Set(other.prefix(2).map(\.count)).count == 1 && Set(one.prefix(2).map(\.count)).count == 2)
        #expect(other[2].count == one[2].count && other[3].count == one[3].count)
        let (packets, frames) = (bursting.statistics.packetsSent, bursting.video.framesSent)
        #expect(packets == 4 && frames == 2)
        let more = burst(of: &bursting, at: 10)
        #expect(more.isEmpty)
    }

    @Test func aBurstIsLimitedByTheSlotsAndThePacer() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true, extra: 1_000)
        for sequence in 1..<50 as Range<Int64> { try insert(sequence, into: source, extra: 1_000) }
        let few = burst(of: &sender, most: 3, at: 0)
        #expect(few.count == 3)
        // 40 ms at 2.5 times the start bitrate, the packets before included.
        let rest = burst(of: &sender, most: 50, at: 0)
        #expect(rest.count == 31_250 / rest[0].count + 1 - 3)
        let none = burst(of: &sender, at: 0)
        #expect(none.isEmpty, "the pacer has no room")
        let later = burst(of: &sender, at: 20)
        #expect(!later.isEmpty)
    }

    @Test func aRetransmissionComesBeforeABurst() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true, extra: 300)
        let sent = burst(of: &sender, at: 0)
        let nack: [UInt8] = [0x81, 205, 0, 3, 0, 0, 0, 1, 0xAA, 0xBB, 0xCC, 0xDD] + sent[0][2...3] + [0, 0]
        withBytes(nack) { sender.handleRTCP($0, now: .at(150)) }
        try insert(1, into: source, extra: 300)
        let none = burst(of: &sender, at: 150)
        #expect(none.isEmpty)
        // A probe follows.
        let types = packets(of: &sender, at: 150).prefix(2).map { $0[1] & 0x7F }
        #expect(types == [121, 120])
    }

    @Test func feedbackAloneNeedsNoPoll() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true, extra: 300)
        let sent = packets(of: &sender, at: 0)
        #expect(sent.contains { $0[1] & 0x7F == 120 })
        // The first probe is over.
        _ = packets(of: &sender, at: 70)
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 1]
        withBytes(report) { sender.handleRTCP($0, now: .at(100)) }
        let isDue = sender.isPollDue(now: .at(100))
        #expect(!isDue)
        let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0xAA, 0xBB, 0xCC, 0xDD]
        withBytes(loss) { sender.handleRTCP($0, now: .at(900)) }
        let isDueThen = sender.isPollDue(now: .at(900))
        #expect(isDueThen)
    }

    /// The state, the entries of both histories and the header of the next packet lie in different places.
    @Test func theMemoryOfTheNextFrameIsKnown() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true, extra: 300)
        var (first, second) = (PrefetchList(), PrefetchList())
        sender.addMemory(to: &first)
        #expect(first.count >= 6 && first.count < PrefetchList.capacity / 2)
        _ = packets(of: &sender, at: 0)
        sender.addMemory(to: &second)
        #expect(first.count == second.count)
        // The entries are others then, and the objects the same.
        let moved = (0..<first.count).count { first[$0].start != second[$0].start }
        #expect(moved == 2)
    }

    @Test func aReceiverGetsItsOwnHeaderAndTheSourcesPayload() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        try insert(0, into: source, isKeyframe: true)
        var sender = sender(source)
        #expect(packets(of: &sender, at: 0).isEmpty, "it has joined after the key frame")
        try insert(1, into: source, isKeyframe: true, isMarked: false)
        try insert(2, into: source, isStart: false)
        let sent = packets(of: &sender, at: 10).filter { $0[1] & 0x7F == 120 }
        try #require(sent.count == 2)
        for (bytes, isMarked) in zip(sent, [false, true]) {
            try withBytes(bytes) { bytes in
                let view = try RTPPacketView(bytes)
                #expect(view.ssrc == 0xAABB_CCDD && view.marker == isMarked)
                #expect(view.values(of: [.transportSequence: 3, .mid: 1]).isMid("7"))
                let data = Array(view.payload)
                #expect(isMarked ? data == [0x00] + Self.interframe : data == [0x10] + Self.keyframe)
            }
        }
    }

    /// Layer 1 frames that a receiver does not get leave no gap in its picture IDs. RFC 7741 section 4.2.
    @Test(arguments: [true, false]) func pictureIDsOfAReceiverAreConsecutive(isLong: Bool) throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        // Extension, start; I, L and T; the picture ID; TL0PICIDX; TID 0 or 1.
        func descriptor(_ picture: Int, layer: UInt8) -> [UInt8] {
            let identifier =
                isLong ? [0x80 | UInt8(picture >> 8 & 0x7F), UInt8(picture & 0xFF)] : [UInt8(picture & 0x7F)]
            return [0x90, 0xE0] + identifier + [5, layer << 6]
        }
        var sender = sender(source)
        let first = isLong ? 0x7FFA : 0x7A
        try insert(0, into: source, descriptor(first, layer: 0), isKeyframe: true)
        var sent = packets(of: &sender, at: 0)
        // A congested receiver gets the base layer alone.
        for index in 1..<12 {
            sender.video.forwarded?.filter.note(isCongested: true, now: .at(index))
            try insert(Int64(index), into: source, descriptor(first + index, layer: UInt8(index % 2)), at: index)
            let range: Range<Int64> = Int64(index)..<Int64(index + 1)
            for position in range {
                guard let packet = source.packet(position) else { continue }
                let admitted = sender.video.forwarded?.admits(packet, rate: .kilobits(100), now: .at(index)) == true
                #expect(admitted == (index % 2 == 0))
                guard admitted, let shift = sender.video.forwarded?.pictureIDShift else { continue }
                sender.video.history.append(
                    packet, timestamp: packet.timestamp, pictureIDShift: shift, announcesMid: false, now: .at(index))
            }
        }
        sent += packets(of: &sender, at: 20)
        let identifiers = try sent.filter { $0[1] & 0x7F == 120 }.map { bytes in
            try withBytes(bytes) { try VP8PayloadDescriptor.parse(RTPPacketView($0).payload).descriptor.pictureID }
        }
        let range = isLong ? 0x8000 : 0x80
        #expect(identifiers == (0..<6).map { UInt16((first + $0) % range) })
    }

    @Test func aNackIsAnsweredFromTheSource() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true)
        for sequence in 1..<5 as Range<Int64> { try insert(sequence, into: source, extra: 300) }
        let sent = packets(of: &sender, at: 0).filter { $0[1] & 0x7F == 120 }
        try #require(sent.count == 5)
        let nack: [UInt8] = [0x81, 205, 0, 3, 0, 0, 0, 1, 0xAA, 0xBB, 0xCC, 0xDD] + sent[3][2...3] + [0, 0]
        withBytes(nack) { sender.handleRTCP($0, now: .at(50)) }
        let again = packets(of: &sender, at: 50).filter { $0[1] & 0x7F == 121 }
        let packet = try #require(again.first { $0.suffix(300) == sent[3].suffix(300) })
        // The original sequence number comes before the payload.
        let number = try withBytes(packet) { Array(try RTPPacketView($0).payload.prefix(2)) }
        #expect(number == Array(sent[3][2...3]))
    }

    @Test func aReceiverGoesOnWithTheKeyFrameAfterAGap() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true)
        #expect(packets(of: &sender, at: 0).count { $0[1] & 0x7F == 120 } == 1)
        source.restart()
        try insert(500, into: source)
        try insert(501, into: source, isKeyframe: true)
        let sent = packets(of: &sender, at: 100).filter { $0[1] & 0x7F == 120 }
        #expect(sent.map { Array($0.suffix(10)) } == [Self.keyframe])
        expect(!sender.keyframeRequests.hasGap, "no further key frame is asked for")
    }

    @Test func aReceiverThatIsBehindTheRingGoesOnWithAKeyFrame() throws {
        let source = ForwardedVideo(.vp8, capacity: 16)
        var sender = sender(source)
        try insert(0, into: source, isKeyframe: true)
        #expect(packets(of: &sender, at: 0).count { $0[1] & 0x7F == 120 } == 1)
        for sequence in 1..<40 as Range<Int64> { try insert(sequence, into: source) }
        #expect(packets(of: &sender, at: 1_000).allSatisfy { $0[1] & 0x7F != 120 })
        expect(sender.keyframeRequests.hasGap)
        try insert(40, into: source, isKeyframe: true)
        #expect(packets(of: &sender, at: 1_010).contains { $0.suffix(10) == Self.keyframe[...] })
    }

    @Test func aHistoryGrowsWithTheBitrateAlone() throws {
        let source = ForwardedVideo(.vp8, capacity: 64)
        var sender = sender(source)
        for sequence in 0..<600 as Range<Int64> {
            let time = Int(sequence) * 100
            try insert(sequence, into: source, isKeyframe: sequence == 0, at: time)
            _ = packets(of: &sender, at: time)
        }
        #expect(sender.video.history.count <= 64 && sender.egress.sent.count <= 128)
        for sequence in 600..<1_600 as Range<Int64> {
            let time = 60_000 + Int(sequence - 600) * 2
            try insert(sequence, into: source, at: time)
            _ = packets(of: &sender, at: time)
        }
        #expect(sender.video.history.count >= 512 && sender.egress.sent.count >= 512)
    }
}
