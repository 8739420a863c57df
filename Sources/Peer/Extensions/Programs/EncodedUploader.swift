import ExtensionChannel
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import Synchronization

/// Passes frames as VP8 and audio as Opus to a program, encoded once.
final class EncodedUploader: SampleUploader {
    private let encoding: LocalEncoding
    private let fail: @Sendable (EndReason) -> Void

    init(
        _ sources: SampleSources, _ process: ExtensionProcess, _ configuration: ExtensionBroadcast.Configuration,
        fail: @escaping @Sendable (EndReason) -> Void
    ) throws(CodecFailure) {
        self.fail = fail
        encoding = try sources.makeEncoding(configuration)
        // The program takes VP8 as it has asked for it.
        _ = try? encoding.add(ProgramSink(process, tracks: sources.audio.map(\.kind), size: sources.screenSize))
    }

    func start(_ emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        encoding.start { [fail] event in
            if case .videoEnded(let failure) = event {
                fail(EndReason(failure))
            } else if let event = BroadcastEvent(event) {
                emit(event)
            }
        }
    }

    func set(_ hold: BroadcastHold?) { encoding.set(hold) }
    func requestKeyframe() { encoding.requestKeyframe() }
    func setBitrate(_ bitrate: Bitrate?) { encoding.setBitrate(bitrate) }
    var statistics: VideoPipelineStatistics { encoding.statistics }
    var audioTracks: [AudioTrackState] { encoding.audioTracks }

    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool { encoding.setAudioMuted(kind, isMuted) }

    func add(_ sink: any EncodedMediaSink) throws(MediaSinkFailure) -> Bool { try encoding.add(sink) }
    func remove(_ sink: any EncodedMediaSink) async { encoding.remove(sink) }
    func stop() async { await encoding.stop() }
}

/// Passes encoded samples to a program. A frame that finds no slot is dropped with those after it up to the next key
/// frame, which is requested.
private final class ProgramSink: EncodedMediaSink {
    private struct Video {
        var size: PixelSize
        var isDropping = false
        var requestKeyframe: (@Sendable (KeyframeRequest) -> Void)?
    }

    private let process: ExtensionProcess
    private let tracks: [MediaTrackKind]
    private let video: Mutex<Video>

    init(_ process: ExtensionProcess, tracks: [MediaTrackKind], size: PixelSize) {
        self.process = process
        self.tracks = tracks
        video = Mutex(Video(size: size))
    }

    func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {
        video.withLock { $0.requestKeyframe = requestKeyframe }
    }

    func receive(_ frame: EncodedVideoFrame) {
        guard let captured = frame.captured else { return }
        video.withLock { video in
            if video.isDropping, !frame.isKeyframe { return }
            if let size = frame.size { video.size = size }
            let (bytes, size) = (frame.bytes, video.size)
            let isTaken = process.send(
                .video, byteCount: bytes.count,
                format: .vp8(
                    bytes: bytes.count, isKeyframe: frame.isKeyframe, layer: frame.layer, width: size.width,
                    height: size.height), time: captured
            ) { bytes.copy(to: $0) }
            if !isTaken { video.requestKeyframe?(.cannotContinue) }
            video.isDropping = !isTaken
        }
    }

    func receive(_ packet: EncodedAudioPacket) {
        guard case .packet(let bytes) = packet.payload, let captured = packet.captured,
            tracks.indices.contains(packet.track)
        else { return }
        let isMicrophone = tracks[packet.track] == .microphoneAudio
        process.send(
            .audio, byteCount: bytes.count,
            format: .opus(track: isMicrophone ? .microphone : .application, bytes: bytes.count), time: captured
        ) { $0.copyMemory(from: bytes) }
    }

    func close(_ done: @escaping @Sendable () -> Void) { done() }
}
