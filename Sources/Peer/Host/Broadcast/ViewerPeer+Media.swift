import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection

/// Sends media to one viewer.
extension ViewerPeer {
    /// - Parameter base: the bitrate of the base layer; nil if there is one layer only.
    func send(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, base: Bitrate?, now: MediaInstant) {
        guard isConnected else { return }
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
        if info.isKeyframe || info.references.source != nil && sender.hasReferences {
            frames.replacement.noteSent(now: now)
        }
        withSealed(frame) {
            $0.seal(video: frame, of: info.encoding, isKeyframe: info.isKeyframe, now: now)
        } send: {
            sender.handleFrame($0, info, now: now)
        }
        connection.pump()
    }

    /// Repeats the last frame for viewers of a relay, on a still screen.
    func sendSkipFrame(now: MediaInstant) {
        let encoding = frames.encodingSelector.encoding
        sender.takeSkipFrame()?.withUnsafeBytes { frame in
            withSealed(frame) {
                $0.seal(video: frame, of: encoding, isKeyframe: false, now: now)
            } send: {
                sender.handleSkipFrame($0, now: now)
            }
        }
    }

    /// Passes on a frame or an audio packet as this peer gets it.
    private func withSealed(
        _ bytes: UnsafeRawBufferPointer, seal: (BroadcastEncryption) -> [UInt8]?, send: (UnsafeRawBufferPointer) -> Void
    ) {
        guard isSealed else { return send(bytes) }
        broadcast?.encryption.flatMap(seal)?.withUnsafeBytes(send)
    }

    /// Takes what the forwarded media has got, and sends it as long as nothing else is to be sent before it. Several
    /// threads may call it, each for other viewers; `PeerConnection.pump` follows on the loop.
    /// - Parameter delays: as that of `MediaSender.pollBurst`.
    func forward(through batch: PacketBatch, delays: inout DelayHistogram, now: MediaInstant) {
        guard isReceiving else { return sender.skipForwardedAudio() }
        sender.handleForwarded(now: now)
        let now = MonotonicClock.now
        transport.sendBursts(through: batch) { sender.pollBurst(now: now, into: $0, delays: &delays) }
    }

    /// Adds the memory that `forward` is going to use.
    func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 320)
        connection.addMemory(to: &list)
        sender.addMemory(to: &list)
        transport.addMemory(to: &list)
    }

    private func noteHold(_ info: FrameInfo, isTaken: Bool) {
        guard let change = info.changedSince else { return }
        frames.freezeMeter.note(change: change, isTaken: isTaken)
    }

    func sendAudio(_ packet: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard isReceiving else { return }
        withSealed(packet) { encryption in
            broadcast.flatMap { encryption.seal(audio: packet, of: $0.settings.audio[track].kind, now: now) }
        } send: {
            sender.handleAudio($0, track: track, captured: captured, now: now)
        }
        connection.pump()
    }
}
