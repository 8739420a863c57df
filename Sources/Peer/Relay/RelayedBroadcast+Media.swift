import EventLoop
import Host
import LinuxRuntime
import MediaCore
import MediaEngine
import Synchronization
import Viewer

extension RelayedBroadcast {
    var videoCodecs: Set<VideoCodec> { Set(VideoCodec.allCases) }

    var forwarded: LoopBound<ForwardedVideo>? { state.withLock { $0.video?.packets } }

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
        let now = MonotonicClock.now
        let (served, video, captured) = state.withLock { state in
            (
                state.served, state.video,
                state.clock.instant(
                    track: Self.videoTrack, timestamp: frame.rtpTimestamp, rate: 90_000, captured: frame.captured,
                    now: now)
            )
        }
        video?.packets.assumeIsolated { $0.note(rtpTimestamp: frame.rtpTimestamp, captured: captured) }
        guard frame.isKeyframe, let served else { return }
        served.keyframeRequests.assumeIsolated { $0.noteKeyframe() }
        if let size = frame.size { served.core.assumeIsolated { $0.note(forwardedSize: size) } }
    }

    func receive(_ packet: EncodedAudioPacket) {
        let now = MonotonicClock.now
        let (served, captured) = state.withLock { state in
            (
                state.served,
                state.clock.instant(
                    track: packet.track, timestamp: packet.rtpTimestamp, rate: Int64(AudioFormat.sampleRate),
                    captured: packet.captured, now: now)
            )
        }
        guard let served, packet.track < served.audioTracks else { return }
        var info = AudioPacketInfo(track: packet.track, captured: captured)
        if case .packet(let bytes) = packet.payload {
            _ = packets.push(bytes, info)
        } else {
            // The viewers conceal it, or restore it from the next packet.
            info.lostSamples = packet.samplesPerChannel
            _ = packets.push(UnsafeRawBufferPointer(start: nil, count: 0), info)
        }
        served.core.assumeIsolated { $0.audioPacketsQueued() }
    }
}
