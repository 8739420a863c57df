import LinuxRuntime
import MediaCore
import MediaEngine
package import PeerConnection
import PeerEngine
import RTPWire

/// Handles what the connection reports: media goes to the sink.
extension ReceiveStream: PeerConnectionDelegate {
    package func connection(reported event: PeerConnection.Event) {
        switch event {
        case .frame(let bytes, let info): pass(bytes, info)
        case .audio(let packet, let info): pass(packet, info)
        case .connected: report(.connected(path: path))
        case .interrupted: report(.interrupted(lastHeard: MonotonicClock.now - (connection?.silence ?? .zero)))
        case .resumed(let silence): report(.resumed(path: path, after: silence))
        case .checked:
            guard !hasToldTooLong, connection?.receiver?.tooLongPackets ?? 0 > 0 else { return }
            hasToldTooLong = true
            report(.notice(.media(.tooLongPackets(limit: ForwardedVideo.largestPayload))))
        case .ended(let end): report(.ended(EndReason(ofSender: end)))
        case .selectedNewPair, .keyframeNeeded, .recoveryNeeded, .skipFrameDue, .frameSent: break
        }
    }

    private var path: String { connection?.path.summary ?? "no path" }

    // MARK: Media

    private func pass(_ frame: EncodedFrameBytes, _ info: ReceivedFrame) {
        guard decryption != nil else { return passOpened(frame, info) }
        let now = MonotonicClock.now
        let outcome = decryption?.open(video: frame, isKeyframe: info.isKeyframe, now: now)
        switch outcome {
        case .opened(let bytes): bytes.withUnsafeBytes { passOpened(EncodedFrameBytes($0), info) }
        case .keyframeNeeded: requestKeyframe()
        case .dropped, nil: break
        }
        tellOfDecryption(now)
    }

    private func tellOfDecryption(_ now: MediaInstant) {
        if decryption?.takesKeyRequest(now) == true { report(.keysNeeded) }
        guard decryption?.isTampered == true, !hasToldTampered else { return }
        hasToldTampered = true
        report(.notice(.viewing(.framesRefused)))
    }

    private func passOpened(_ frame: EncodedFrameBytes, _ info: ReceivedFrame) {
        layer = max(layer ?? 0, info.layer)
        newestFrame = info.timestamp.rawValue
        sink.receive(
            EncodedVideoFrame(
                bytes: frame, codec: info.codec, isKeyframe: info.isKeyframe, size: info.size, layer: info.layer,
                rtpTimestamp: info.timestamp.rawValue, captured: info.captured.map(mediaInstant),
                colorSpace: info.colorSpace))
    }

    private func pass(_ packet: UnsafeRawBufferPointer?, _ info: ReceivedAudio) {
        guard decryption != nil, let packet else { return passOpened(packet, info) }
        let now = MonotonicClock.now
        let opened = decryption?.open(audio: packet, isPeek: info.isLost, now: now)
        tellOfDecryption(now)
        guard let opened else { return passOpened(nil, info) }
        opened.withUnsafeBytes { passOpened($0, info) }
    }

    private func passOpened(_ packet: UnsafeRawBufferPointer?, _ info: ReceivedAudio) {
        let payload: EncodedAudioPacket.Payload =
            switch packet {
            case let packet? where !info.isLost: .packet(packet)
            case let next? where info.useFEC: .lostBefore(next)
            default: .lost
            }
        sink.receive(
            EncodedAudioPacket(
                track: info.track, payload: payload, samplesPerChannel: info.samplesPerChannel,
                rtpTimestamp: info.timestamp.rawValue,
                captured: info.captured.map(mediaInstant)))
    }

    /// Converts a time of the host's wall clock to the media clock, assuming that both wall clocks agree.
    private func mediaInstant(_ time: NTPTimestamp) -> MediaInstant { epoch.media + epoch.wall.duration(to: time) }

    // MARK: Statistics

    /// Returns the statistics and begins a new report. Nil before there is a connection.
    package var statistics: ViewerStatistics? {
        guard let connection else { return nil }
        let (receiver, received) = (connection.receiver, connection.receiver?.statistics)
        defer { layer = nil }
        return ViewerStatistics(
            packetsReceived: received?.packets ?? 0, bytesReceived: received?.bytes ?? 0,
            packetsLost: received?.video.lost ?? 0, nacks: received?.requests.nacks ?? 0,
            keyframeRequests: received?.requests.keyframes ?? 0, roundTrip: receiver?.roundTripTime,
            estimate: receiver?.estimate, recoveries: received?.video.recoveries ?? 0,
            audioJitterBufferDelay: received?.audioDelay,
            repaired: received?.video.repaired ?? 0, freezes: received?.freezes.count ?? 0,
            freezeTime: received?.freezes.time ?? .zero, path: connection.path.summary, layer: layer.map { Int($0) },
            badPackets: connection.badPackets)
    }
}

extension EndReason {
    fileprivate init(ofSender end: PeerConnection.End) {
        switch end {
        case .closed: self = .hostClosed
        case .noRoute(let report): self.init(report, other: "the host")
        case .failed(let reason): self = reason
        case .silent, .withoutRTCP, .crashed: self = .hostIsSilent
        }
    }

    /// The reason for a session that the host closes, as far as the media says. An event of the host may give a better
    /// one (`ViewerSessionState`, stage `closing`).
    package static let hostClosed = EndReason(.hostEnded, "the host ended the broadcast")

    /// The reason for a session that ends after `MediaLiveness.limit`.
    package static let hostIsSilent = EndReason(
        .connectionLost, "nothing came from the host for 30 s: it or the network between has gone")
}
