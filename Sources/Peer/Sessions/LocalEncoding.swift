import LinuxRuntime
public import MediaCore
import MediaEngine
import Publishing

/// Encodes a screen and its audio for one sink of this process, without a network: a recorder, or a buffer for clips.
///
/// Call `start` once, and `stop` at the end. From any thread.
// SAFETY: `receiver` is used with `lock` held.
public final class LocalEncoding: @unchecked Sendable {
    private let pipelines: MediaPipelines
    private let sink: any EncodedMediaSink
    private let receiver: LocalReceiver
    /// The threads of video and audio call the sink one at a time.
    private let lock = Monitor(())
    private let maximumBitrate: Bitrate

    /// - Parameter sink: closed by `stop`.
    public init(
        source: sending any ScreenSource, encoder: sending any VideoEncoder, audio inputs: [AudioInput],
        framesPerSecond: Int, maximumBitrate: Bitrate, sink: any EncodedMediaSink
    ) throws(CodecFailure) {
        self.sink = sink
        self.maximumBitrate = maximumBitrate
        receiver = LocalReceiver(sink, demandsMedia: true, records: true, audioTracks: inputs.count)
        let frames = FrameQueues()
        let packets = FrameQueue<AudioPacketInfo>(capacity: 32, bytes: 2_048)
        pipelines = MediaPipelines(
            frames: frames, packets: packets,
            video: VideoPipeline(
                source: source, encoder: encoder, limits: .init(framesPerSecond: framesPerSecond),
                bitrate: maximumBitrate, frames: frames, clock: { MonotonicClock.now }),
            audio: try inputs.enumerated().map { (track, input) throws(CodecFailure) in
                AudioPipeline(
                    track: track, kind: input.kind, source: input.source, encoder: try input.makeEncoder(),
                    packets: packets)
            })
    }

    /// Starts the threads.
    /// - Parameter failed: called on one of them when the screen cannot be captured any more, or an audio track.
    /// - Throws: if the sink cannot take VP8; nothing runs then.
    public func start(failed: @escaping @Sendable (SourceFailure) -> Void) throws(MediaSinkFailure) {
        let pipelines = pipelines
        try sink.start(EncodedMediaFormat(video: .vp8, audio: pipelines.audio.map(\.kind))) { _ in
            pipelines.requestKeyframe(.main, isFirst: false)
        }
        pipelines.apply(EncoderPolicy.Decision(main: EncodingTarget(bitrate: maximumBitrate)))
        pipelines.video.start(framesReady: { [self] in passFrames() }, failed: failed)
        for track in pipelines.audio {
            do throws(SourceFailure) {
                try track.start(packetsReady: { [self] in passPackets() }, ended: failed)
            } catch {
                failed(error)
            }
        }
    }

    /// Ends the threads and closes the sink. May be called twice.
    public func stop() async {
        let audio = pipelines.audio
        // Stopping a source blocks until its thread has ended.
        if let ending = try? NamedThread.start("ending", { for track in audio { track.stop() } }) {
            await ending.ended()
        }
        await pipelines.video.stop()
        await sink.closed()
    }

    private func passFrames() {
        lock.with { _ in
            while pipelines.frames[.main].pop({ bytes, info in receiver.receive(bytes, info) }) {}
        }
    }

    private func passPackets() {
        lock.with { _ in
            while pipelines.packets.pop({ bytes, info in receiver.receive(bytes, info) }) {}
        }
    }
}
