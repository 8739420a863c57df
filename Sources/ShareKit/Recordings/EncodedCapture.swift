#if RecordingsAndWHIP
internal import CameraCapture
internal import Host
internal import InAppCapture
internal import LinuxRuntime
internal import MediaCore
internal import Recording
internal import VPXCodec

/// A capture that is encoded, into a file or into a buffer for clips.
final class EncodedCapture: RunningCapture {
    enum Output: Sendable {
        case file(Recorder, path: String)
        case clips(ClipBuffer)
    }

    private struct State {
        var isEnded = false
        var failure: ShareKitError?
        /// The file, when it is complete.
        var file: RecordedFile?
        var isOver = false
    }

    let microphone: MicrophoneInput
    let output: Output
    private let encoding: LocalEncoding
    private let events: SampleCapture.Events
    private let state: Monitor<State>

    private static let maximumBitrate = Bitrate.kilobits(20_000)

    /// Starts a capture into a file, which must not exist yet.
    static func file(
        _ path: String, title: String, _ source: ApplicationSource, framesPerSecond: Int,
        makeMicrophone: @escaping @Sendable () -> any AudioSource, events: SampleCapture.Events
    ) throws(ShareKitError) -> EncodedCapture {
        let state = Monitor(State())
        // Weak, as the capture holds the recorder.
        let capturing = Monitor(WeakCapture())
        let recorder: Recorder
        do throws(RecordingFailure) {
            recorder = try Recorder(to: .file(path)) { event in
                switch event {
                case .finished(let file): state.with { $0.file = file }
                case .failed(let failure):
                    capturing.with { $0.capture }?.end(ShareKitError(failure), isDiscarding: false)
                case .started, .dropped: break
                }
            }
        } catch {
            throw ShareKitError(error)
        }
        recorder.setTitle(title)
        let capture = try EncodedCapture(
            .file(recorder, path: path), recorder, state, source, framesPerSecond, makeMicrophone, events)
        capturing.with { $0.capture = capture }
        return capture
    }

    /// Starts a capture whose last seconds can be saved.
    static func clips(
        _ length: MediaDuration, _ source: ApplicationSource, framesPerSecond: Int,
        makeMicrophone: @escaping @Sendable () -> any AudioSource, events: SampleCapture.Events
    ) throws(ShareKitError) -> EncodedCapture {
        let buffer = ClipBuffer(length: length)
        buffer.setTitle(source.name)
        return try EncodedCapture(
            .clips(buffer), buffer, Monitor(State()), source, framesPerSecond, makeMicrophone, events)
    }

    private init(
        _ output: Output, _ sink: any EncodedMediaSink, _ state: Monitor<State>, _ source: ApplicationSource,
        _ framesPerSecond: Int, _ makeMicrophone: @escaping @Sendable () -> any AudioSource,
        _ events: SampleCapture.Events
    ) throws(ShareKitError) {
        self.output = output
        self.state = state
        self.events = events
        let voice = SwitchedMicrophone(makeMicrophone, gone: events.microphoneGone)
        microphone = voice.input
        let audio = source.audio.map { AudioInput(.applicationAudio, $0.makeSource(capacity: .seconds(5))) }
        let screen = source.makeScreen()
        // The app sees that it is captured before the capture has started.
        screen.resume()
        let media = CapturedMedia(
            screen: screen,
            audio: (audio.map { [$0] } ?? []) + [AudioInput(.microphoneAudio, voice)])
        do throws(CodecFailure) {
            encoding = try LocalEncoding(
                source: media.takeScreen(), encoder: VP8Encoder(), audio: media.audio,
                framesPerSecond: framesPerSecond, maximumBitrate: Self.maximumBitrate)
        } catch {
            sink.close {}
            throw ShareKitError(.failed, "the encoder cannot be started: \(error.message)")
        }
        do throws(MediaSinkFailure) {
            try encoding.add(sink)
        } catch {
            sink.close {}
            throw ShareKitError(.failed, error.message, remedy: error.remedy)
        }
        encoding.start { [weak self] event in
            switch event {
            case .audioStarted, .audioChanged: break
            case .videoEnded(let failure), .audioNotStarted(_, let failure), .audioEnded(_, let failure):
                self?.end(ShareKitError(.sourceGone, failure.message, remedy: failure.remedy), isDiscarding: false)
            }
        }
    }

    var isEnded: Bool { state.with { $0.isEnded } }
    var failure: ShareKitError? { state.with { $0.failure } }
    /// Nil before the end, and if nothing was captured.
    var file: RecordedFile? { state.with { $0.file } }

    func end(_ failure: ShareKitError?, isDiscarding: Bool) {
        let isFirst = state.with { state in
            defer { state.isEnded = true }
            if !state.isEnded { state.failure = failure }
            return !state.isEnded
        }
        guard isFirst else { return }
        events.ended(failure)
        Task.detached { [self] in
            await encoding.stop()
            if isDiscarding { discard() }
            // Who waits for the end may begin another at once.
            events.over()
            state.change { $0.isOver = true }
        }
    }

    func abandon() { end(nil, isDiscarding: false) }

    private func discard() {
        guard case .file = output, let file = state.with({ $0.file }) else { return }
        RecordingStorage.remove(file.path)
        state.with { $0.file = nil }
    }

    func ended() async {
        await withCheckedContinuation { continuation in
            _ = NamedThread("ending") { [state] in
                state.wait { $0.isOver ? () : nil }
                continuation.resume()
            }
        }
    }
}

private struct WeakCapture: Sendable {
    weak var capture: EncodedCapture?
}

/// The microphone as a track of an encoded capture, which may be switched on and off.
final class SwitchedMicrophone: AudioSource {
    typealias Handler = @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void

    let input: MicrophoneInput
    private let handler: Monitor<Handler?>

    init(_ makeSource: @escaping @Sendable () -> any AudioSource, gone: @escaping @Sendable (ShareKitError) -> Void) {
        let handler = Monitor<Handler?>(nil)
        self.handler = handler
        input = MicrophoneInput(
            makeSource: makeSource, handler: { samples, instant in handler.with { $0 }?(samples, instant) }, gone: gone)
    }

    var summary: String { "microphone" }

    func start(
        handler: @escaping Handler, ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        self.handler.with { $0 = handler }
    }

    func stop() {
        input.close()
        handler.with { $0 = nil }
    }
}

extension ShareKitError {
    init(_ failure: RecordingFailure) { self.init(.badFile, failure.message, remedy: failure.remedy) }
}
#endif
