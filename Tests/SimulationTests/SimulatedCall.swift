import MediaCore
import MediaEngine
import RTPWire
import TestSupport

/// A call between a `MediaSender` and a `MediaReceiver` over two simulated links, in virtual time. The same seed gives
/// the same call. The file is long, as it records what any simulation may ask about a call.
final class SimulatedCall: SimulatedParty {
    /// A frame that the viewer showed.
    struct Shown {
        var number: Int
        var isKeyframe: Bool
        var captured: MediaInstant
        var shown: MediaInstant
        var latency: MediaDuration { shown - captured }
    }

    let seed: UInt64
    private(set) var now: MediaInstant
    private let ignoresRTX: Bool
    static let start = MediaInstant(nanoseconds: 1_000_000_000_000)
    let sender: MediaSender
    let receiver: MediaReceiver
    var forward: SimulatedLink
    var backward: SimulatedLink
    var plan: SimulatedFrames.Plan {
        didSet { nextFrame = min(nextFrame, now) }
    }
    var keyframeBytes = 60_000
    /// How far the receiver's clock is ahead of the sender's.
    var receiverAhead = MediaDuration.zero {
        didSet { receiverWake = now }
    }
    /// Replaces a datagram from the receiver by what it returns.
    var tamper: ((_ packet: [UInt8], _ now: MediaInstant) -> [[UInt8]])?
    /// Called with each packet that the sender sends.
    var watch: ((_ packet: UnsafeRawBufferPointer) -> Void)?
    var hasAudio = false
    /// Other viewers share the encoding, so `KeyframeRequestLimiter` limits this viewer's requests.
    var isShared = false
    private var keyframeBudget = KeyframeRequestLimiter()
    /// Size of an audio packet, if the sender's estimate allows it.
    var audioBytes = 120

    private(set) var shown: [Shown] = []
    private(set) var damaged = 0
    private(set) var outOfOrder = 0
    private(set) var made: [(number: Int, captured: MediaInstant, bytes: Int)] = []
    private(set) var audio: [(at: MediaInstant, isLost: Bool, useFEC: Bool)] = []
    private(set) var estimates: [(at: MediaInstant, estimate: Bitrate)] = []
    private(set) var polls = 0
    private(set) var keyframesMade = 0
    private(set) var didEnd = false
    /// When skip frames repeated the last frame.
    private(set) var shownAgain: [MediaInstant] = []
    /// When each RTP packet was sent; and its bytes at its first transmission, by SSRC and sequence number.
    private(set) var departures: [MediaInstant] = []
    private var sentBytes: [UInt64: [UInt8]] = [:]
    /// Sequence numbers that were to be protected twice, and packets that were sent again with other bytes.
    private(set) var protectedTwice = 0
    private(set) var alteredRetransmissions = 0
    private var random: SeededGenerator
    private var nextFrame: MediaInstant
    private var nextAudio: MediaInstant
    private var needsKeyframe = true
    private var isNew = true
    private var lastKeyframe: MediaInstant?
    private(set) var references = SimulatedReferences()
    /// The encoder says how large a recovery frame would be.
    var predictsRecovery = false
    /// Size of a recovery frame.
    var recoveryBytes = 12_000
    private var senderWake: MediaInstant
    private var receiverWake: MediaInstant
    private var buffer = [UInt8](repeating: 0, count: 1_500)
    private var changes: [(at: MediaInstant, change: (SimulatedCall) -> Void)] = []

    struct Options {
        var startBitrate = Bitrate.kilobits(2_500)
        var maximumBitrate = Bitrate.kilobits(20_000)
        var usesTransportFeedback = true
        var hasRTX = true
        /// The receiver agrees to RTX and acknowledges RTX packets, but drops their payload.
        var ignoresRTX = false
        var usesREMB = false
        var audioTracks = 0
        /// After `start`.
        var begins = MediaDuration.zero
        /// Long-term references are negotiated.
        var hasReferences = false
        /// RED is negotiated.
        var hasRED = false
        /// The owner of the sender makes the skip frames; here it does not encrypt them.
        var sealsFrames = false
    }

    init(
        seed: UInt64, _ conditions: SimulatedLink.Conditions = .init(), back: SimulatedLink.Conditions? = nil,
        changes: [(after: MediaDuration, conditions: SimulatedLink.Conditions)] = [], plan: SimulatedFrames.Plan,
        options: Options = Options()
    ) {
        self.seed = seed
        self.plan = plan
        ignoresRTX = options.ignoresRTX
        let begin = Self.start + options.begins
        now = begin
        senderWake = begin
        receiverWake = begin
        random = SeededGenerator(seed: seed ^ 0xE7)
        let video = VideoStreamParameters(
            ssrc: 0x1111, payloadType: 96, rtxSSRC: options.hasRTX ? 0x2222 : nil,
            rtxPayloadType: options.hasRTX ? 97 : nil, mid: "0")
        let audio = (0..<options.audioTracks).map {
            AudioStreamParameters(
                ssrc: 0x3333 + UInt32($0), payloadType: 111, redundantPayloadType: options.hasRED ? 63 : nil,
                mid: "\($0 + 1)")
        }
        let extensions: HeaderExtensionMap = [
            .transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1,
            .frameReferences: options.hasReferences ? 5 : nil,
        ]
        let epoch = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)
        var parameters = SenderParameters(
            video: video, audio: audio, extensions: extensions, cname: "host", startBitrate: options.startBitrate,
            maximumBitrate: options.maximumBitrate, usesTransportFeedback: options.usesTransportFeedback,
            usesREMB: options.usesREMB)
        parameters.sealsFrames = options.sealsFrames
        sender = MediaSender(parameters, seed: seed, ntpEpoch: epoch, now: begin)
        receiver = MediaReceiver(
            ReceiverParameters(
                video: video, audio: audio, extensions: extensions, cname: "viewer", localSSRC: 0x4444,
                usesTransportFeedback: options.usesTransportFeedback), seed: seed, ntpEpoch: epoch, now: begin)
        let schedule = changes.map { (at: Self.start + $0.after, conditions: $0.conditions) }
        forward = SimulatedLink(conditions, changes: schedule, seed: seed ^ 0xF0)
        var clean = conditions
        clean.rate = nil
        backward = SimulatedLink(
            back ?? clean,
            changes: schedule.map { change in
                var clean = change.conditions
                clean.rate = nil
                return (change.at, back ?? clean)
            }, seed: seed ^ 0x0B)
        nextFrame = begin
        nextAudio = begin
        hasAudio = options.audioTracks > 0
    }

    func after(_ duration: MediaDuration, _ change: @escaping (SimulatedCall) -> Void) {
        changes.append((Self.start + duration, change))
        changes.sort { $0.at < $1.at }
    }

    func run(for duration: MediaDuration) {
        let end = now + duration
        while true {
            step(at: now)
            let next = nextEvent
            if next >= end { break }
            now = next
        }
        now = end
    }

    var nextEvent: MediaInstant {
        var next = min(senderWake, receiverWake, forward.nextArrival, backward.nextArrival)
        next = min(next, nextFrame)
        if hasAudio { next = min(next, nextAudio) }
        if let change = changes.first { next = min(next, change.at) }
        return isNew ? next : max(next, now + .microseconds(1))
    }

    func step(at instant: MediaInstant) {
        now = instant
        isNew = false
        while let change = changes.first, change.at <= now {
            changes.removeFirst()
            change.change(self)
        }
        if hasAudio, now >= nextAudio { makeAudio() }
        if now >= nextFrame { makeFrame() }
        while let packet = forward.receive(now: now) {
            packet.withUnsafeBytes { bytes in
                if PacketKind(of: bytes) == .rtcp {
                    receiver.handleRTCP(bytes, now: now + receiverAhead)
                } else {
                    receiver.handleRTP(withoutIgnored(bytes), now: now + receiverAhead)
                }
            }
            drainReceiver()
        }
        while let packet = backward.receive(now: now) {
            deliver(tamper?(packet, now) ?? [packet])
        }
        if now >= senderWake { drainSender() }
        if now >= receiverWake { drainReceiver() }
    }

    /// Delivers RTCP datagrams to the sender.
    func deliver(_ packets: [[UInt8]]) {
        for packet in packets { packet.withUnsafeBytes { sender.handleRTCP($0, now: now) } }
        drainSender()
    }

    /// Sets the clocks of both peers forward, as after a suspended machine.
    func jump(by duration: MediaDuration) {
        now = now + duration
        nextFrame = now
        nextAudio = now
    }

    private func makeAudio() {
        nextAudio = nextAudio + .milliseconds(20)
        // The TOC byte of Opus: one frame of 20 ms.
        let room = sender.audioEstimate.bitsPerSecond / 8 / 50
        let packet = [UInt8](repeating: 0x48, count: max(min(audioBytes, room), 40))
        packet.withUnsafeBytes { sender.handleAudio($0, track: 0, captured: now, now: now) }
        drainSender()
    }

    private func makeFrame() {
        var size = keyframeBytes
        switch plan {
        case .steady(let perSecond, let bytes):
            nextFrame = nextFrame + .microseconds(1_000_000 / perSecond)
            size = bytes
        case .adaptive(let perSecond, let limit):
            nextFrame = nextFrame + .microseconds(1_000_000 / perSecond)
            guard sender.backlog <= .milliseconds(40) || replacesBacklog else { return }
            size = max(min(sender.estimate, limit).bitsPerSecond / 8 / perSecond, 200)
        case .camera(let perSecond, let limit):
            nextFrame = nextFrame + .microseconds(1_000_000 / perSecond)
            guard sender.backlog <= .milliseconds(20) || replacesBacklog else { return }
            let mean = Double(min(sender.estimate, limit).bitsPerSecond / 8 / perSecond)
            size = max(Int(mean * Double.random(in: 0.8...1.2, using: &random)), 200)
        case .screen(let screen):
            nextFrame = nextFrame + .microseconds(33_333)
            guard sender.backlog <= .milliseconds(20) || replacesBacklog else { return }
            let bytes = screen.frame(at: now, bitrate: sender.videoEstimate(now: now), isKeyframe: keyframeIsDue)
            guard let bytes else { return }
            size = bytes
            keyframeBytes = bytes
        case .small:
            nextFrame = nextFrame + .microseconds(33_333)
            let phase = (now - Self.start).nanoseconds % 7_500_000_000
            guard phase < 6_000_000_000 || needsKeyframe || references.source(now: now) != nil else { return }
            size = Int.random(in: 300...3_000, using: &random)
        case .still:
            nextFrame = needsKeyframe || references.wanted != nil ? now + .milliseconds(50) : .distantFuture
            guard needsKeyframe || references.source(now: now) != nil else { return }
        }
        var isKeyframe = false
        if keyframeIsDue {
            isKeyframe = true
            needsKeyframe = false
            lastKeyframe = now
            keyframesMade += 1
            size = keyframeBytes
        } else if references.source(now: now) != nil {
            size = recoveryBytes
        }
        let mayStore = sender.hasReferences && !sender.awaitsAcknowledgement(now: now)
        let kept = references.make(isKeyframe: isKeyframe, mayStore: mayStore, now: now)
        let frame = SimulatedFrames.make(made.count, isKeyframe: isKeyframe, length: size)
        made.append((made.count, now, frame.count))
        frame.withUnsafeBytes {
            sender.handleFrame(
                $0,
                FrameInfo(
                    of: $0, isKeyframe: isKeyframe, captured: now, references: kept,
                    recoveryBytes: predictsRecovery ? recoveryBytes : nil),
                now: now)
        }
        drainSender()
    }

    private var replacesBacklog: Bool { keyframeIsDue || references.source(now: now) != nil }

    private var keyframeIsDue: Bool { needsKeyframe && lastKeyframe.map { now - $0 >= .seconds(1) } ?? true }

    private func drainSender() {
        buffer.withUnsafeMutableBytes { bytes in
            while true {
                polls += 1
                let output = sender.poll(now: now, into: bytes)
                switch output {
                case .rtp(let length), .protected(let length), .rtcp(let length):
                    let packet = UnsafeRawBufferPointer(rebasing: bytes[0..<length])
                    watch?(packet)
                    noteDeparture(output, packet)
                    forward.send(packet, now: now)
                case .event(.keyframeNeeded):
                    guard sender.hasGap || keyframeBudget.allows(.key, isShared: isShared, now: now) else {
                        sender.postponeKeyframe(now: now)
                        continue
                    }
                    needsKeyframe = true
                    if case .still = plan { nextFrame = min(nextFrame, now + .milliseconds(50)) }
                case .event(.recoveryNeeded(let number)):
                    guard keyframeBudget.allows(.recovery, isShared: isShared, now: now) else { continue }
                    if references.canRecover(from: number) { references.wanted = number } else { needsKeyframe = true }
                    if case .still = plan { nextFrame = min(nextFrame, now + .milliseconds(50)) }
                case .event(.skipFrameDue):
                    sender.takeSkipFrame()?.withUnsafeBytes { sender.handleSkipFrame($0, now: now) }
                case .event(.estimateChanged(let estimate)): estimates.append((now, estimate))
                case .wait(let until, _): return senderWake = until
                }
            }
        }
    }

    private func withoutIgnored(_ packet: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard ignoresRTX, let view = try? RTPPacketView(packet), view.ssrc == 0x2222 else { return packet }
        return UnsafeRawBufferPointer(rebasing: packet[0..<(packet.count - view.payload.count)])
    }

    /// Records a packet. Protection changes nothing here, but must be applied once for each sequence number only.
    private func noteDeparture(_ output: SenderOutput, _ packet: UnsafeRawBufferPointer) {
        if case .rtcp = output { return }
        departures.append(now)
        guard let view = try? RTPPacketView(packet) else { return }
        let key = UInt64(view.ssrc) << 16 | UInt64(view.sequenceNumber.rawValue)
        if case .protected = output {
            if sentBytes[key] != Array(packet) { alteredRetransmissions += 1 }
        } else {
            if sentBytes[key] != nil { protectedTwice += 1 }
            sentBytes[key] = Array(packet)
            sentBytes[key ^ 0x8000] = nil
            sender.keepProtected(packet)
        }
    }

    private func drainReceiver() {
        buffer.withUnsafeMutableBytes { bytes in
            while true {
                polls += 1
                switch receiver.poll(now: now + receiverAhead, into: bytes) {
                case .rtcp(let length): backward.send(UnsafeRawBufferPointer(rebasing: bytes[0..<length]), now: now)
                case .frame(let frame, let info): show(frame, info)
                case .audio(_, let info): audio.append((now, info.isLost, info.useFEC))
                case .event(.bye): didEnd = true
                case .event: break
                case .wait(let until, _):
                    return receiverWake = until == .distantFuture ? until : until - receiverAhead
                }
            }
        }
    }

    private func show(_ frame: EncodedFrameBytes, _ info: ReceivedFrame) {
        var bytes = [UInt8](repeating: 0, count: frame.count)
        bytes.withUnsafeMutableBytes { _ = frame.copy(to: $0) }
        if bytes == SimulatedFrames.skipFrame { return shownAgain.append(now) }
        guard let number = bytes.withUnsafeBytes(SimulatedFrames.number), number < made.count else {
            return damaged += 1
        }
        if !references.decode(number) { outOfOrder += 1 }
        if shown.isEmpty, !info.isKeyframe { outOfOrder += 1 }
        shown.append(Shown(number: number, isKeyframe: info.isKeyframe, captured: made[number].captured, shown: now))
    }

    // MARK: What a viewer notices

    func since(_ duration: MediaDuration) -> [Shown] { shown.filter { $0.shown >= Self.start + duration } }

    /// The longest time between two shown frames.
    var longestFreeze: MediaDuration { freeze(from: .zero) }

    func freeze(from begin: MediaDuration, to end: MediaDuration = .seconds(100_000)) -> MediaDuration {
        var longest = MediaDuration.zero
        var last: MediaInstant?
        for frame in shown {
            defer { last = frame.shown }
            guard let last, frame.shown >= Self.start + begin, frame.shown < Self.start + end else { continue }
            longest = max(longest, frame.shown - last)
        }
        return longest
    }

    /// The times over `limit` for which a newer frame had been made and none was shown, with the usual frame interval
    /// and without the path's delay; and when each ended. A still screen is no freeze.
    func freezes(
        over limit: MediaDuration, from begin: MediaDuration = .seconds(2)
    ) -> [(end: MediaInstant, time: MediaDuration)] {
        var result: [(end: MediaInstant, time: MediaDuration)] = []
        for (last, next) in zip(shown, shown.dropFirst()) where next.shown >= Self.start + begin {
            let due = made[last.number + 1].captured + forward.conditions.delay - .milliseconds(33)
            let time = next.shown - max(last.shown, due)
            if time > limit { result.append((next.shown, time)) }
        }
        return result
    }

    func latency(percentile share: Double, from begin: MediaDuration = .zero) -> MediaDuration {
        let sorted = since(begin).map(\.latency).sorted()
        guard !sorted.isEmpty else { return .zero }
        return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
    }

    /// The sender's estimate at that time, not the mean rate on the link.
    func estimate(at duration: MediaDuration) -> Bitrate {
        estimates.last { $0.at <= Self.start + duration }?.estimate ?? sender.estimate
    }

    var summary: String {
        let sent = sender.statistics
        let received = receiver.statistics
        return """
            seed \(seed): made \(made.count) shown \(shown.count) damaged \(damaged) wrong \(outOfOrder) keys \(keyframesMade) \
            p50 \(latency(percentile: 0.5).inMilliseconds) p95 \(latency(percentile: 0.95).inMilliseconds) \
            max \(latency(percentile: 1).inMilliseconds) freeze \(longestFreeze.inMilliseconds) ms \
            estimate \(sender.estimate.kilobitsPerSecond) rtt \(sender.roundTripTime?.inMilliseconds ?? -1) \
            seen \(receiver.roundTripTime?.inMilliseconds ?? -1) \
            sent \(sent.packetsSent) rtx \(sent.retransmission.packets) probes \(sent.retransmission.probePackets) vain \(sent.retransmission.nacksIgnored) \
            stalls \(sent.path.stalls) refused \(sent.video.framesRefused) \
            lost \(received.video.lost) repaired \(received.video.repaired) nacks \(received.requests.nacks) pli \(received.requests.keyframes) \
            recoveries \(received.video.recoveries) \
            queue \(forward.longestQueue.inMilliseconds) polls \(polls) drops \(received.drops.total)
            """
    }
}
