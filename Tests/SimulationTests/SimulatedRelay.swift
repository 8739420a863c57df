import MediaCore
import MediaEngine
import RTPWire
import TestSupport

/// A publisher, a relay that forwards its packets, and viewers, in virtual time.
final class SimulatedRelay {
    /// A viewer, the relay's sender for it, and the link between them.
    final class Viewer {
        let sender: MediaSender
        let receiver: MediaReceiver
        var forward: SimulatedLink
        var backward: SimulatedLink
        var senderWake: MediaInstant
        var receiverWake: MediaInstant
        /// The numbers of the frames that were shown, and when.
        private(set) var shown: [(number: Int, layer: UInt8, at: MediaInstant)] = []
        fileprivate(set) var damaged = 0
        fileprivate(set) var requests = 0
        /// How often the relay asked for a key frame on behalf of this viewer is limited as for a real one.
        fileprivate var budget = KeyframeRequestLimiter()
        /// RTP packets by SSRC and sequence number, which must not be protected twice.
        fileprivate var sent: Set<UInt64> = []
        fileprivate(set) var protectedTwice = 0

        fileprivate init(
            _ source: ForwardedVideo, seed: UInt64, _ conditions: SimulatedLink.Conditions, hasRTX: Bool,
            now: MediaInstant
        ) {
            let video = VideoStreamParameters(
                ssrc: 0x5151, payloadType: 101, rtxSSRC: hasRTX ? 0x6161 : nil, rtxPayloadType: hasRTX ? 102 : nil,
                mid: "v")
            sender = MediaSender(
                SenderParameters(
                    video: video, audio: [], extensions: SimulatedRelay.extensions, cname: "relay",
                    startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(20_000), usesTransportFeedback: true,
                    historyCapacity: 2_048),
                forwarding: ForwardedMedia(video: source), seed: seed, ntpEpoch: SimulatedRelay.epoch, now: now)
            receiver = MediaReceiver(
                ReceiverParameters(
                    video: video, audio: [], extensions: SimulatedRelay.extensions, cname: "viewer",
                    localSSRC: 0x7171, usesTransportFeedback: true),
                seed: seed, ntpEpoch: SimulatedRelay.epoch, now: now)
            forward = SimulatedLink(conditions, seed: seed ^ 0xF0)
            var clean = conditions
            clean.rate = nil
            backward = SimulatedLink(clean, seed: seed ^ 0x0B)
            senderWake = now
            receiverWake = now
        }

        fileprivate func show(_ frame: EncodedFrameBytes, _ info: ReceivedFrame, now: MediaInstant) {
            var bytes = [UInt8](repeating: 0, count: frame.count)
            bytes.withUnsafeMutableBytes { _ = frame.copy(to: $0) }
            if bytes == SimulatedFrames.skipFrame { return }
            guard let number = bytes.withUnsafeBytes(SimulatedFrames.number) else { return damaged += 1 }
            shown.append((number, info.layer, now))
        }
    }

    static let start = MediaInstant(nanoseconds: 1_000_000_000)
    fileprivate static let epoch = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)
    fileprivate static let extensions: HeaderExtensionMap = [
        .transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1,
    ]

    private(set) var now = start
    let publisher: MediaSender
    let receiver: MediaReceiver
    let source: ForwardedVideo
    private var up: SimulatedLink
    private var down: SimulatedLink
    private(set) var viewers: [Viewer] = []
    private(set) var made: [MediaInstant] = []
    private(set) var keyframesMade = 0
    /// Requests of a key frame at the publisher.
    private(set) var demands = 0
    var frameBytes = 3_000
    /// Frames are as large as the publisher's estimate allows.
    var adaptsFrames = false
    /// The publisher is told what the fastest viewer can get.
    var limitsPublisher = false
    private var nextLimit = start
    /// The publisher is also told what the slowest viewer can get, and makes temporal layers as a host does.
    var layersByAudience = false
    private var slowest = SlowestBitrateReporter()
    private var layering: VideoEncodeRequest.Layering?
    /// From 30 s on; nil if there were no layers.
    private(set) var lowestBase: Bitrate?
    /// Each second frame is of temporal layer 1.
    var hasLayers = false
    var isStill = false
    private var needsKeyframe = true
    private var hasPackets = false
    private var lastDemand: MediaInstant?
    private var nextFrame = start
    private var publisherWake = start
    private var receiverWake = start
    private var buffer = [UInt8](repeating: 0, count: 1_600)

    init(seed: UInt64, _ conditions: SimulatedLink.Conditions = .init()) {
        let video = VideoStreamParameters(
            ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0")
        publisher = MediaSender(
            SenderParameters(
                video: video, audio: [], extensions: Self.extensions, cname: "host", startBitrate: .kilobits(2_500),
                maximumBitrate: .kilobits(20_000), usesTransportFeedback: true
            ).obeyingREMB,
            seed: seed, ntpEpoch: Self.epoch, now: Self.start)
        source = ForwardedVideo(.vp8)
        receiver = MediaReceiver(
            ReceiverParameters(
                video: video, audio: [], extensions: Self.extensions, cname: "relay", localSSRC: 0x4444,
                usesTransportFeedback: true, sendsREMB: true),
            seed: seed, ntpEpoch: Self.epoch, forwarded: ForwardedMedia(video: source), now: Self.start)
        up = SimulatedLink(conditions, seed: seed)
        down = SimulatedLink(conditions, seed: seed ^ 1)
        source.onPackets = { [unowned self] in hasPackets = true }
    }

    func join(seed: UInt64, _ conditions: SimulatedLink.Conditions = .init(), hasRTX: Bool = true) -> Viewer {
        let viewer = Viewer(source, seed: seed, conditions, hasRTX: hasRTX, now: now)
        viewers.append(viewer)
        if !viewer.sender.rewindForwarded(now: now) { demand() }
        drain(viewer)
        return viewer
    }

    func run(for duration: MediaDuration) {
        let end = now + duration
        while now < end {
            step()
            var next = min(publisherWake, receiverWake, up.nextArrival, down.nextArrival, nextFrame)
            if limitsPublisher { next = min(next, nextLimit) }
            for viewer in viewers {
                next = min(next, viewer.senderWake, viewer.receiverWake)
                next = min(next, viewer.forward.nextArrival, viewer.backward.nextArrival)
            }
            now = min(max(next, now + .microseconds(1)), end)
        }
    }

    private func step() {
        if now >= nextFrame { makeFrame() }
        if limitsPublisher, now >= nextLimit {
            nextLimit = now + .milliseconds(250)
            let estimates = AudienceEstimates(viewers.map(\.sender.estimate))
            receiver.limitBitrate(estimates?.fastest)
            _ = slowest.update(estimates, now: now)
            drainReceiver()
        }
        while let packet = up.receive(now: now) {
            packet.withUnsafeBytes {
                if PacketKind(of: $0) == .rtcp {
                    receiver.handleRTCP($0, now: now)
                } else {
                    receiver.handleRTP($0, now: now)
                }
            }
            drainReceiver()
        }
        if hasPackets {
            hasPackets = false
            for viewer in viewers { forward(to: viewer) }
        }
        while let packet = down.receive(now: now) {
            packet.withUnsafeBytes { publisher.handleRTCP($0, now: now) }
            drainPublisher()
        }
        if now >= publisherWake { drainPublisher() }
        if now >= receiverWake { drainReceiver() }
        for viewer in viewers { step(viewer) }
    }

    private func step(_ viewer: Viewer) {
        while let packet = viewer.forward.receive(now: now) {
            packet.withUnsafeBytes {
                if PacketKind(of: $0) == .rtcp {
                    viewer.receiver.handleRTCP($0, now: now)
                } else {
                    viewer.receiver.handleRTP($0, now: now)
                }
            }
            drainReceiver(of: viewer)
        }
        while let packet = viewer.backward.receive(now: now) {
            packet.withUnsafeBytes { viewer.sender.handleRTCP($0, now: now) }
            drain(viewer)
        }
        if now >= viewer.senderWake { drain(viewer) }
        if now >= viewer.receiverWake { drainReceiver(of: viewer) }
    }

    private func makeFrame() {
        nextFrame = nextFrame + .microseconds(33_333)
        guard !isStill || needsKeyframe else { return }
        let isKeyframe = needsKeyframe
        needsKeyframe = false
        if isKeyframe { keyframesMade += 1 }
        let isUpper = (layersByAudience ? layered() : hasLayers) && !isKeyframe && made.count % 2 == 1
        let usual = adaptsFrames ? adaptedBytes(isUpper: isUpper) : frameBytes
        let frame = SimulatedFrames.make(
            made.count, isKeyframe: isKeyframe, length: isKeyframe ? min(usual * 4, 60_000) : usual)
        made.append(now)
        frame.withUnsafeBytes {
            publisher.handleFrame(
                $0, FrameInfo(of: $0, isKeyframe: isKeyframe, layer: isUpper ? 1 : 0, captured: now), now: now)
        }
        drainPublisher()
    }

    /// Decides on layers as `ViewerPeer.contribute` and `EncoderPolicy` do.
    private func layered() -> Bool {
        let video = publisher.videoEstimate(now: now)
        var load = EncodingAudience()
        load.add(rate: video, isWaiting: false, congestedSince: nil)
        let slow = AudienceEstimates.video(ofSlowest: slowest.reported, estimate: publisher.estimate, video: video)
        if let slow { load.add(rate: slow, isWaiting: false, congestedSince: nil) }
        layering = load.target(maximum: .kilobits(20_000), wasLayered: layering != nil, now: now).layering
        if let layering, now - Self.start > .seconds(30) {
            lowestBase = min(lowestBase ?? layering.baseBitrate, layering.baseBitrate)
        }
        return layering != nil
    }

    /// Half of the frames are of the base layer, if there are layers.
    private func adaptedBytes(isUpper: Bool) -> Int {
        let all = publisher.estimate.bitsPerSecond * 9 / 10
        guard let base = layering?.baseBitrate.bitsPerSecond else { return max(all / 8 / 30, 200) }
        let ofLayer = isUpper ? all - base * 9 / 10 : base * 9 / 10
        return max(ofLayer / 8 / 15, 200)
    }

    /// One request a second for all viewers.
    private func demand() {
        guard lastDemand.map({ now - $0 >= .seconds(1) }) ?? true else { return }
        lastDemand = now
        demands += 1
        receiver.requestKeyframe(.wanted, now: now)
        drainReceiver()
    }

    /// Packets that were sent in bursts.
    private(set) var bursts = 0

    private func forward(to viewer: Viewer) {
        viewer.sender.handleForwarded(now: now)
        drainBursts(viewer)
        drain(viewer)
    }

    private func drainBursts(_ viewer: Viewer) {
        let stride = 1_600
        var memory = [UInt8](repeating: 0, count: 8 * stride)
        var lengths = [Int](repeating: 0, count: 8)
        memory.withUnsafeMutableBytes { memory in
            lengths.withUnsafeMutableBufferPointer { lengths in
                guard let base = memory.baseAddress, let first = lengths.baseAddress else { return }
                let slots = PacketSlots(base: base, stride: stride, size: stride - 64, count: 8, lengths: first)
                while true {
                    var delays = DelayHistogram()
                    let count = viewer.sender.pollBurst(now: now, into: slots, delays: &delays)
                    for index in 0..<count {
                        let packet = UnsafeRawBufferPointer(start: slots[index], count: lengths[index])
                        bursts += 1
                        note(packet, to: viewer)
                        viewer.forward.send(packet, now: now)
                    }
                    if count == 0 { return }
                }
            }
        }
    }

    private func drain(_ viewer: Viewer) {
        var packet = [UInt8](repeating: 0, count: 1_600)
        packet.withUnsafeMutableBytes { bytes in
            while true {
                switch viewer.sender.poll(now: now, into: bytes) {
                case .rtp(let length):
                    let packet = UnsafeRawBufferPointer(rebasing: bytes[..<length])
                    note(packet, to: viewer)
                    viewer.sender.keepProtected(packet)
                    viewer.forward.send(packet, now: now)
                case .protected(let length), .rtcp(let length):
                    viewer.forward.send(UnsafeRawBufferPointer(rebasing: bytes[..<length]), now: now)
                case .event(.keyframeNeeded):
                    viewer.requests += 1
                    if viewer.budget.allows(.key, isShared: viewers.count > 1, now: now) { demand() }
                case .event: break
                case .wait(let until, _): return viewer.senderWake = until
                }
            }
        }
    }

    private func note(_ packet: UnsafeRawBufferPointer, to viewer: Viewer) {
        guard let view = try? RTPPacketView(packet) else { return }
        // Sequence numbers do not wrap in these tests.
        let key = UInt64(view.ssrc) << 16 | UInt64(view.sequenceNumber.rawValue)
        if !viewer.sent.insert(key).inserted { viewer.protectedTwice += 1 }
    }

    private func drainReceiver(of viewer: Viewer) {
        var packet = [UInt8](repeating: 0, count: 1_600)
        packet.withUnsafeMutableBytes { bytes in
            while true {
                switch viewer.receiver.poll(now: now, into: bytes) {
                case .rtcp(let length):
                    viewer.backward.send(UnsafeRawBufferPointer(rebasing: bytes[..<length]), now: now)
                case .frame(let frame, let info): viewer.show(frame, info, now: now)
                case .audio, .event: break
                case .wait(let until, _): return viewer.receiverWake = until
                }
            }
        }
    }

    private func drainPublisher() {
        buffer.withUnsafeMutableBytes { bytes in
            while true {
                switch publisher.poll(now: now, into: bytes) {
                case .rtp(let length), .protected(let length), .rtcp(let length):
                    up.send(UnsafeRawBufferPointer(rebasing: bytes[..<length]), now: now)
                case .event(.keyframeNeeded): needsKeyframe = true
                case .event: break
                case .wait(let until, _): return publisherWake = until
                }
            }
        }
    }

    private func drainReceiver() {
        var packet = [UInt8](repeating: 0, count: 1_600)
        packet.withUnsafeMutableBytes { bytes in
            while true {
                switch receiver.poll(now: now, into: bytes) {
                case .rtcp(let length): down.send(UnsafeRawBufferPointer(rebasing: bytes[..<length]), now: now)
                case .frame(_, let info): source.note(rtpTimestamp: info.timestamp.rawValue, captured: now)
                case .audio, .event: break
                case .wait(let until, _): return receiverWake = until
                }
            }
        }
    }
}

extension SenderParameters {
    fileprivate var obeyingREMB: SenderParameters {
        var copy = self
        copy.obeysREMB = true
        return copy
    }
}
