import ExtensionChannel
import LinuxRuntime
import MediaCore
import MediaEngine
import Publishing
import Sessions
import Transport

/// Passes frames as VP8 and audio as Opus to a program, encoded once. A frame that finds no slot is dropped with those
/// after it up to the next key frame, which is requested.
// SAFETY: `isDropping` is used by the video thread alone.
final class EncodedUploader: SampleUploader, @unchecked Sendable {
    private let pipelines: MediaPipelines
    private let process: ExtensionProcess
    private let fail: @Sendable (EndReason) -> Void
    private let size: Monitor<PixelSize>
    private var isDropping = false
    private let target: Monitor<EncodingTarget>

    init(
        _ sources: SampleSources, _ process: ExtensionProcess, _ configuration: ExtensionBroadcast.Configuration,
        fail: @escaping @Sendable (EndReason) -> Void
    ) throws(CodecFailure) {
        self.process = process
        self.fail = fail
        size = Monitor(sources.screen.size)
        target = Monitor(EncodingTarget(bitrate: configuration.maximumBitrate))
        let frames = FrameQueues()
        let packets = FrameQueue<AudioPacketInfo>(capacity: 32, bytes: 2_048)
        pipelines = MediaPipelines(
            frames: frames, packets: packets,
            video: VideoPipeline(
                source: sources.screen, encoder: try sources.makeEncoder(),
                limits: .init(framesPerSecond: configuration.framesPerSecond),
                bitrate: configuration.maximumBitrate, frames: frames, clock: { MonotonicClock.now }),
            audio: try sources.audio.enumerated().map { (track, input) throws(CodecFailure) in
                AudioPipeline(
                    track: track, kind: input.kind, source: input.source, encoder: try input.makeEncoder(),
                    packets: packets)
            })
        setBitrate(configuration.maximumBitrate)
    }

    func start(_ emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        let pipelines = pipelines
        pipelines.video.start(
            framesReady: { self.passFrames() },
            failed: { [fail] in fail(EndReason(.sourceGone, $0.message, remedy: $0.remedy)) })
        for track in pipelines.audio {
            let name = track.name
            do throws(SourceFailure) {
                try track.start(packetsReady: { self.passPackets() }) {
                    emit(.warning("the \(name) has gone: \($0.message)"))
                }
                emit(.sharing(name + ": " + track.summary))
            } catch {
                emit(.warning("without \(name). \(error.message) \(error.remedy)"))
            }
        }
    }

    func setPaused(_ isPaused: Bool) {
        pipelines.setPaused(isPaused)
        if !isPaused { requestKeyframe() }
    }

    func requestKeyframe() { pipelines.requestKeyframe(.main, isFirst: false) }

    func setBitrate(_ bitrate: Bitrate?) {
        let target = target.with { target in
            if let bitrate { target.bitrate = bitrate }
            target.isBlocked = bitrate == nil
            return target
        }
        pipelines.apply(EncoderPolicy.Decision(main: target))
    }

    var statistics: VideoPipelineStatistics { pipelines.video.statistics }

    var audioTracks: [AudioTrackState] { pipelines.audio.map(\.state) }

    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        let tracks = pipelines.audio.filter { $0.kind == kind }
        for track in tracks { _ = track.setMuted(isMuted) }
        return !tracks.isEmpty
    }

    func stop() async {
        let audio = pipelines.audio
        // Stopping a source blocks until its thread has ended.
        if let ending = try? NamedThread.start("ending", { for track in audio { track.stop() } }) {
            await ending.ended()
        }
        await pipelines.video.stop()
    }

    /// Called on the video thread, which queued the frames.
    private func passFrames() {
        while pipelines.frames[.main].pop({ bytes, info in
            if isDropping, !info.isKeyframe { return }
            let size = size.with { size in
                if info.isKeyframe, let new = Self.size(ofKeyframe: bytes) { size = new }
                return size
            }
            let isTaken = process.send(
                .video, byteCount: bytes.count,
                format: .vp8(
                    bytes: bytes.count, isKeyframe: info.isKeyframe, layer: info.layer, width: size.width,
                    height: size.height), time: info.captured
            ) { $0.copyMemory(from: bytes) }
            if !isTaken { requestKeyframe() }
            isDropping = !isTaken
        }) {}
    }

    /// Called on the threads of the audio sources; the queue has one consumer at a time, as `packets` is locked.
    private func passPackets() {
        packetLock.with { _ in
            while pipelines.packets.pop({ bytes, info in
                let isMicrophone = pipelines.audio[info.track].kind == .microphoneAudio
                process.send(
                    .audio, byteCount: bytes.count,
                    format: .opus(track: isMicrophone ? .microphone : .application, bytes: bytes.count),
                    time: info.captured
                ) { $0.copyMemory(from: bytes) }
            }) {}
        }
    }
    private let packetLock = Monitor(())

    /// The size in the header of a key frame (RFC 6386 section 9.1).
    private static func size(ofKeyframe bytes: UnsafeRawBufferPointer) -> PixelSize? {
        guard bytes.count >= 10 else { return nil }
        func number(_ index: Int) -> Int { (Int(bytes[index]) | Int(bytes[index + 1]) << 8) & 0x3FFF }
        return PixelSize(width: number(6), height: number(8))
    }
}
