import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine

/// Sends media to one viewer.
extension SendingPeer {
    /// - Parameter base: the bitrate of the base layer; nil if there is one layer only.
    func send(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, base: Bitrate?, now: MediaInstant) {
        guard isConnected, !isEnded else { return }
        guard isReceiving else { return noteHold(info, isTaken: false) }
        // A viewer changes its encoding with a key frame only.
        let isOwn =
            info.isKeyframe
            ? frames.encodingSelector.noteKeyframe(of: info.encoding)
            : info.encoding == frames.encodingSelector.encoding
        guard isOwn else { return }
        noteCongestion(now: now)
        // Browsers do not recover from a stream that begins without a key frame.
        let isAdmitted = frames.layerFilter.admits(
            isKeyframe: info.isKeyframe, layer: info.layer, layerSwitch: info.layer > 0 ? .own : .none,
            bytes: frame.count, rate: sender.videoEstimate(now: now), base: base, now: now)
        // What the viewer does not want, it does not wait for.
        if info.layer <= frames.layerFilter.maximumLayer { noteHold(info, isTaken: isAdmitted) }
        guard isAdmitted else { return }
        sender.handleFrame(
            frame, isKeyframe: info.isKeyframe, layer: info.layer, captured: info.captured, now: now,
            references: info.references)
        pump()
    }

    /// Takes what the forwarded video has got, and sends it as long as nothing else is to be sent before it. Several
    /// threads may call it, each for other viewers; `pump` follows on the loop.
    /// - Parameter delays: as that of `MediaSender.pollBurst`.
    func forward(through batch: PacketBatch, delays: inout DelayHistogram, now: MediaInstant) {
        guard isReceiving, !isEnded else { return }
        sender.handleForwarded(now: now)
        let now = MonotonicClock.now
        transport.sendBursts(through: batch) { sender.pollBurst(now: now, into: $0, delays: &delays) }
    }

    /// Adds the memory that `forward` is going to use.
    func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 320)
        sender.addMemory(to: &list)
        transport.addMemory(to: &list)
    }

    private func noteHold(_ info: FrameInfo, isTaken: Bool) {
        guard let change = info.changedSince else { return }
        frames.freezeMeter.note(change: change, isTaken: isTaken)
    }

    func sendAudio(_ packet: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard isReceiving, !isEnded else { return }
        sender.handleAudio(packet, track: track, captured: captured, now: now)
        pump()
    }

    func noteLostAudio(_ track: Int, samplesPerChannel: Int) {
        sender.handleLostAudio(track: track, samplesPerChannel: samplesPerChannel)
    }

    func pump() {
        guard isConnected, !isEnded else { return }
        let now = MonotonicClock.now
        while true {
            let left = sender.framesSent
            let output = sender.poll(now: now, into: transport.slot)
            if sender.framesSent != left, !liveness.isInterrupted {
                frames.freezeMeter.noteFrameSent(hasMore: sender.hasFramesWaiting, now: now)
            }
            switch output {
            // A silent viewer gets only probes. Other packets are dropped, and a key frame follows when it is heard
            // again.
            case .rtp(let length):
                if maySend(now), let packet = transport.sendMedia(length) { sender.keepProtected(packet) }
            case .protected(let length): if maySend(now) { transport.sendProtected(length) }
            case .rtcp(let length): transport.sendControl(length)
            case .event(.keyframeNeeded): delegate?.viewerNeedsKeyframe(self)
            case .event(.recoveryNeeded(let number)): delegate?.viewerNeedsRecovery(self, from: number)
            case .event(.estimateChanged): break
            case .wait(let deadline, let reason):
                transport.flush()
                timer.set(deadline == .distantFuture ? nil : deadline, isCoarse: reason == .report)
                return
            }
        }
    }

    private func maySend(_ now: MediaInstant) -> Bool {
        !liveness.isInterrupted || negotiation.takeReachabilityPacket(now: now)
    }

    func drainGoodbye() {
        for _ in 0..<64 {
            switch sender.poll(now: MonotonicClock.now, into: transport.slot) {
            case .rtp, .protected: continue
            case .rtcp(let length): transport.sendControl(length)
            case .event: continue
            case .wait: return transport.flush()
            }
        }
        transport.flush()
    }
}
