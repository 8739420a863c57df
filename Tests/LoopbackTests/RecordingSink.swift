import LinuxRuntime
import MediaCore

/// Records what a session receives, without a decoder.
final class RecordingSink: EncodedMediaSink {
    struct Frame {
        var length: Int
        var codec: VideoCodec
        var isKeyframe: Bool
        var layer: UInt8
        var size: PixelSize?
        var rtpTimestamp: UInt32
        var captured: MediaInstant?
        var arrival: MediaInstant
    }

    struct State {
        var formats: [EncodedMediaFormat] = []
        var frames: [Frame] = []
        /// For each packet that arrived: track, length in bytes, samples of one channel and RTP timestamp.
        var packets: [(track: Int, length: Int, samplesPerChannel: Int, rtpTimestamp: UInt32)] = []
        var closings = 0
        var requestKeyframe: (@Sendable (KeyframeRequest) -> Void)?
    }

    let state = Monitor(State())

    func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {
        state.change { state in
            state.formats.append(format)
            state.requestKeyframe = requestKeyframe
        }
    }

    func receive(_ frame: EncodedVideoFrame) {
        let record = Frame(
            length: frame.bytes.count, codec: frame.codec, isKeyframe: frame.isKeyframe, layer: frame.layer,
            size: frame.size,
            rtpTimestamp: frame.rtpTimestamp, captured: frame.captured, arrival: MonotonicClock.now)
        state.change { $0.frames.append(record) }
    }

    func receive(_ packet: EncodedAudioPacket) {
        guard case .packet(let bytes) = packet.payload else { return }
        state.change { $0.packets.append((packet.track, bytes.count, packet.samplesPerChannel, packet.rtpTimestamp)) }
    }

    func close(_ done: @escaping @Sendable () -> Void) {
        state.change { $0.closings += 1 }
        done()
    }
}

/// Refuses every format.
final class RefusingSink: EncodedMediaSink {
    func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        throw MediaSinkFailure("the disk is full", remedy: "Make room.")
    }

    func receive(_ frame: EncodedVideoFrame) {}
    func receive(_ packet: EncodedAudioPacket) {}
    func close(_ done: @escaping @Sendable () -> Void) { done() }
}
