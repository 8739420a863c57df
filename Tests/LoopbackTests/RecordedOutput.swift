import Host
import ICETransport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import OpusCodec
import PeerConnection
import Signaling
import TestSource
import VPXCodec
import Viewer
import WaitSupport

@testable import Admission

/// Records what a viewer shows and plays.
final class RecordedOutput: VideoSink, AudioSink {
    struct State {
        /// The frame numbers that the frames show.
        var counters: [Int] = []
        /// When each of the frames was shown.
        var times: [MediaInstant] = []
        /// When frames of the one colour of a blanked broadcast were shown.
        var blanks: [MediaInstant] = []
        /// The number of audible samples of one channel.
        var samples = 0
    }

    private let monitor = Monitor(State())
    private let pattern = TestPattern(TestVideoSource.defaultSize)

    var state: State { monitor.with { $0 } }

    func show(_ frame: I420Frame, at time: MediaInstant?) {
        let number = pattern.frameNumber(in: frame)
        let now = MonotonicClock.now
        monitor.change { state in
            guard let number else {
                if Self.isBlank(frame) { state.blanks.append(now) }
                return
            }
            state.counters.append(number)
            state.times.append(now)
        }
    }

    private static func isBlank(_ frame: I420Frame) -> Bool {
        stride(from: 0, to: frame.size.height, by: 16).allSatisfy { row in
            stride(from: 0, to: frame.size.width, by: 16).allSatisfy { column in
                abs(Int(frame.y[row * frame.strideY + column]) - 52) <= 8
            }
        }
    }

    func play(_ samples: UnsafeBufferPointer<Int16>) {
        let audible = samples.contains { abs(Int($0)) > 1_000 } ? samples.count / 2 : 0
        monitor.change { $0.samples += audible }
    }

    var latency: MediaDuration { .zero }
    func close() {}

    /// Waits for the condition, for 20 s at most.
    func wait(_ condition: @escaping @Sendable (State) -> Bool) async -> Bool {
        await waiting(monitor) { condition($0) ? true : nil } ?? false
    }
}

/// A host without audio that admits every viewer.
func silentHost(_ source: sending any ScreenSource) throws -> HostSession {
    try HostSession(
        configuration: .init(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(8_000), contentHint: nil),
        identity: try .ephemeral(), source: source, encoder: VP8Encoder(), audio: [], decide: { _ in .accepted },
        emit: { _ in })
}

extension AudioInput {
    /// A tone, as the system's audio.
    static var testTone: AudioInput {
        AudioInput(kind: .applicationAudio, source: TestTone(), hasSilenceSuppression: false) {
            () throws(CodecFailure) in try OpusFrameEncoder(.systemAudio)
        }
    }
}

/// A viewer without audio.
func watcher(
    _ link: Link, _ seen: RecordedOutput, identity: Identity? = nil, servers: [ICEServer] = [],
    relaysOnly: Bool = false,
    emit: @escaping @Sendable (ViewerSessionEvent) -> Void = { _ in }
) throws -> ViewerSession {
    ViewerSession(
        link: link, identity: try identity ?? .ephemeral(), name: "viewer", servers: servers,
        usesOnlyRelays: relaysOnly, sink: playback(seen, speaker: nil), emit: emit)
}

/// Decodes and plays to these sinks; without a speaker there is no audio.
func playback(_ seen: RecordedOutput, speaker: RecordedOutput?) -> PlaybackSink {
    PlaybackSink(
        decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in VP8Decoder() }, videoSink: seen,
        audioDecoder: { () throws(CodecFailure) in try OpusFrameDecoder() }, makeSpeaker: { speaker })
}

/// Knocks, and returns the token of a host that admits it.
func admissionToken(for identity: Identity, named name: String, from client: SignalingClient) async throws -> String {
    let ticket = try await client.knock(name: name, identity: identity)
    guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else { throw NotAccepted() }
    return token
}

struct NotAccepted: Error {}
