import EventLoop
import LinuxRuntime
package import MediaCore
package import MediaEngine
package import PeerConnection
import PeerEngine
import RTPWire

/// Handles what the connection to the host reports: passes media to the sink, and emits events and statistics.
extension Subscription: ReceivingPeerDelegate {
    // MARK: Media

    package func host(sent frame: EncodedFrameBytes, _ info: ReceivedFrame) {
        layer = max(layer ?? 0, info.layer)
        sink.receive(
            EncodedVideoFrame(
                bytes: frame, codec: info.codec, isKeyframe: info.isKeyframe, size: info.size, layer: info.layer,
                rtpTimestamp: info.timestamp.rawValue, captured: info.captured.map(mediaInstant),
                colorSpace: info.colorSpace))
    }

    package func host(sentAudio packet: UnsafeRawBufferPointer?, _ info: ReceivedAudio) {
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

    // MARK: Events

    func hostIsConnected(_ connection: ReceivingPeer) {
        if let outage = recovery.outage(MonotonicClock.now) {
            hostIsBack(connection, after: outage)
        } else {
            emit(.connected(path: connection.path.summary))
        }
    }

    func hostIsInterrupted(_ connection: ReceivingPeer) {
        guard !recovery.isInterrupted else { return }
        emit(.interrupted)
        recover(.interrupted(lastHeard: MonotonicClock.now - connection.silence))
    }

    func hostSendsTooLongPackets(_ connection: ReceivingPeer) {
        emit(.notice(.media(.tooLongPackets(limit: ForwardedVideo.largestPayload))))
    }

    func hostIsBack(_ connection: ReceivingPeer, after silence: MediaDuration) {
        guard recovery.isInterrupted else { return }
        recover(.heard)
        emit(.resumed(path: connection.path.summary, after: silence))
    }

    package func hostEnded(_ reason: EndReason) {
        switch reason.code {
        // Anybody may have spoiled the handshake. During an outage the next attempt follows.
        case .noRoute, .failed: recover(.noPair) { _ in reason }
        default: outcome.fulfil(reason)
        }
    }

    // MARK: Statistics

    /// Returns the statistics and begins a new report. Nil before there is a connection.
    package var statistics: ViewerStatistics? {
        guard let connection else { return nil }
        let received = connection.statistics
        defer { layer = nil }
        return ViewerStatistics(
            packetsReceived: received?.packets ?? 0, bytesReceived: received?.bytes ?? 0,
            packetsLost: received?.lost ?? 0, nacks: received?.nacks ?? 0,
            keyframeRequests: received?.keyframeRequests ?? 0, roundTrip: connection.roundTripTime,
            estimate: connection.estimate, recoveries: received?.recoveries ?? 0,
            audioJitterBufferDelay: received?.audioDelay,
            repaired: received?.repaired ?? 0, freezes: received?.freezes ?? 0,
            freezeTime: received?.freezeTime ?? .zero, path: connection.path.summary, layer: layer.map { Int($0) },
            badPackets: connection.badPackets)
    }
}
