import EventLoop
import Host
import LinuxRuntime
import MediaCore
import MediaEngine
import Synchronization
import Viewer

extension RelayedBroadcast {
    var videoCodecs: Set<VideoCodec> { Set(VideoCodec.allCases) }

    var forwarded: LoopBound<ForwardedMedia>? { state.withLock { $0.media?.packets } }

    /// Has all packets of one iteration of the loop sent at once.
    func forward() {
        let served = state.withLock { state -> Served? in
            guard !state.isForwarding, let served = state.served else { return nil }
            state.isForwarding = true
            return served
        }
        served?.core.perform { [weak self] in
            self?.state.withLock { $0.isForwarding = false }
            $0.packetsForwarded()
        }
    }

    /// Takes the time and the kind of a frame, whose packets were forwarded already.
    func receive(_ frame: EncodedVideoFrame) {
        let (served, media, captured) = note(
            Self.videoTrack, timestamp: frame.rtpTimestamp, rate: 90_000, captured: frame.captured)
        media?.packets.assumeIsolated { $0.video?.note(rtpTimestamp: frame.rtpTimestamp, captured: captured) }
        guard frame.isKeyframe, let served else { return }
        served.keyframeRequests.assumeIsolated { $0.noteKeyframe() }
        if let size = frame.size { served.core.assumeIsolated { $0.note(forwardedSize: size) } }
    }

    /// Takes the time of a packet, which was forwarded already.
    func receive(_ packet: EncodedAudioPacket) {
        let (_, media, captured) = note(
            packet.track, timestamp: packet.rtpTimestamp, rate: Int64(AudioFormat.sampleRate),
            captured: packet.captured)
        media?.packets.assumeIsolated {
            $0.track(packet.track)?.note(rtpTimestamp: packet.rtpTimestamp, captured: captured)
        }
    }

    /// - Returns: when the media of a track was captured, by this machine's clock.
    private func note(
        _ track: Int, timestamp: UInt32, rate: Int64, captured: MediaInstant?
    ) -> (Served?, Media?, MediaInstant) {
        let now = MonotonicClock.now
        return state.withLock { state in
            let captured = state.clock.instant(
                track: track, timestamp: timestamp, rate: rate, captured: captured, now: now)
            return (state.served, state.media, captured)
        }
    }
}
