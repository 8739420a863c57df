internal import CameraCapture
internal import LinuxRuntime
internal import MediaCore
internal import PulseAudio

/// Captures an app's own frames, its audio and the microphone for the app itself: the counterpart of ReplayKit's
/// `RPScreenRecorder`.
///
/// A recorder belongs to an ``ApplicationSource``, as the frames come from the app and not from the display. There is
/// no shared one: an app with two windows has two sources, and a test has its own. One recorder captures a source at a
/// time; broadcasts of the same source go on beside it.
///
/// The app's user is asked before the first capture, and before the first one with the microphone or the camera.
public final class ScreenRecorder: Sendable {
    /// What the user is asked.
    public struct Request: Sendable, Equatable {
        /// The app's name.
        public let application: String
        /// Whether the microphone is captured, too.
        public let withMicrophone: Bool
        /// Whether the camera is shown, too.
        public var withCamera = false
    }

    /// Asks the user; returns whether the capture is allowed.
    public typealias Confirmation = @Sendable (Request) async -> Bool

    /// The observable state.
    public struct State: Sendable, Equatable {
        /// False while a system broadcast is live, which takes precedence.
        public var isAvailable = true
        /// Whether a capture runs.
        public var isRecording = false
        /// Whether captures have the microphone's audio; false again when it has gone or cannot be opened.
        public var isMicrophoneEnabled = false
        /// Whether the frames are to show the camera. It stays true while a camera that has gone is waited for.
        public var isCameraEnabled = false
        /// Why the last capture, or its microphone, ended by itself, or why the camera is not in the frames; nil again
        /// with the next capture, or when the camera is back.
        public var failure: ShareKitError?
    }

    let source: ApplicationSource
    private let confirm: Confirmation
    let framesPerSecond: Int
    let makeMicrophone: @Sendable () -> any AudioSource
    let recordings: Monitor<StartedRecordings>
    let state: RecorderState
    /// Follows the system broadcast; nil: nothing tells about one.
    private let observation: Task<Void, Never>?

    /// Makes a recorder. Nothing is captured yet, and nobody is asked.
    /// - Parameters:
    ///   - source: what is captured.
    ///   - maximumFramesPerSecond: 1...240. Frames are captured when the app draws, on average at most as often as this,
    ///     to 2 %.
    ///   - microphone: the name of a source of the sound server; nil for the default one.
    ///   - cameras: parts of the names of the front and the back camera; the first and the second one if there are
    ///     none.
    ///   - confirm: asks the app's user. The answer holds for this recorder's later captures.
    public convenience init(
        _ source: ApplicationSource, maximumFramesPerSecond: Int = 60, microphone: String? = nil,
        cameras: [String] = [], confirm: @escaping Confirmation
    ) {
        if let front = cameras.first {
            source.camera.feed.choose(
                .init(front: .name(front), back: cameras.count > 1 ? .name(cameras[1]) : nil))
        }
        self.init(
            source, framesPerSecond: maximumFramesPerSecond, makeMicrophone: { Microphone(source: microphone) },
            systemBroadcasts: SystemBroadcastMonitor.shared.broadcasting(), recordings: .listed, confirm: confirm)
    }

    /// - Parameters:
    ///   - systemBroadcasts: whether the whole screen is being broadcast, and its changes.
    ///   - recordings: none, and where they will be listed.
    init(
        _ source: ApplicationSource, framesPerSecond: Int, makeMicrophone: @escaping @Sendable () -> any AudioSource,
        systemBroadcasts: AsyncStream<Bool>? = nil, recordings: StartedRecordings = StartedRecordings(),
        confirm: @escaping Confirmation
    ) {
        precondition((1...240).contains(framesPerSecond), "\(framesPerSecond) frames a second is not 1...240")
        self.source = source
        self.framesPerSecond = framesPerSecond
        self.makeMicrophone = makeMicrophone
        self.confirm = confirm
        self.recordings = Monitor(recordings)
        let state = RecorderState()
        self.state = state
        observation = systemBroadcasts.map { broadcasts in
            Task {
                for await isLive in broadcasts { state.setSystemBroadcastLive(isLive) }
            }
        }
    }

    deinit {
        observation?.cancel()
        state.capture?.abandon()
    }

    /// Whether a capture may start; false while a system broadcast is live.
    public var isAvailable: Bool { state.current.isAvailable }

    /// Whether a capture runs.
    public var isRecording: Bool { state.current.isRecording }

    /// Whether captures have the microphone's audio.
    public var isMicrophoneEnabled: Bool { state.current.isMicrophoneEnabled }

    /// How loud the microphone of the running capture is, in dBFS (-70...0), for a meter; nil in silence, and without a
    /// microphone. The value follows a loud moment for half a second; it is read as often as a meter is drawn.
    public var microphoneLevel: Double? { state.capture?.microphone.level }

    /// The states, from the current one on. The newest replaces one that was not read yet. Each call makes a sequence
    /// for one reader.
    public var changes: AsyncStream<State> { state.changes.stream }

    // MARK: Capture

    /// Starts a capture, and calls `handler` with each sample: a frame when the app has drawn something new, audio each
    /// 10 ms while there is some.
    ///
    /// A slow handler gets fewer frames, each with all changes since the last one, but all audio. If audio has waited
    /// for 10 s, the capture ends with `.overrun`.
    ///
    /// A microphone that cannot be opened does not prevent the capture: `changes` has the reason.
    /// - Parameter handler: called on one thread of the capture. It must not wait for `stopCapture`.
    /// - Throws: `.alreadyStarted` if the source is being captured; `.declined`; `.interrupted` during a system
    ///   broadcast, or if it was stopped before it began; `.failed`.
    public func startCapture(handler: @escaping @Sendable (SampleBuffer) -> Void) async throws(ShareKitError) {
        _ = try await beginSamples(handler)
    }

    /// Starts a capture, and returns its samples as a sequence, which ends with the capture. A reader that is slow gets
    /// fewer frames, as with `startCapture(handler:)`.
    /// - Throws: as `startCapture(handler:)`.
    public func samples() async throws(ShareKitError) -> Samples {
        Samples(try await beginSamples(nil), recorder: self)
    }

    /// Stops the capture. What was captured before is handed over first; then nothing is. Does nothing if none runs.
    public func stopCapture() async { await end(isDiscarding: false) }

    /// Stops the capture, and drops the samples that were not handed over yet.
    public func discardCapture() async { await end(isDiscarding: true) }

    /// Switches the microphone on or off, at any time; while a capture runs, at once.
    /// - Throws: `.noMicrophone`, `.declined`; the microphone is then off, and the capture goes on.
    public func setMicrophoneEnabled(_ isEnabled: Bool) async throws(ShareKitError) {
        guard let capture = state.capture else {
            state.update { $0.isMicrophoneEnabled = isEnabled }
            return
        }
        try await setMicrophone(isEnabled, of: capture)
    }

    private func setMicrophone(_ isEnabled: Bool, of capture: any RunningCapture) async throws(ShareKitError) {
        do throws(ShareKitError) {
            if isEnabled { try await askForConsent(withMicrophone: true) }
            try await capture.microphone.setEnabled(isEnabled)
        } catch {
            state.update { $0.isMicrophoneEnabled = false }
            throw error
        }
        state.update { $0.isMicrophoneEnabled = isEnabled }
    }

    private func beginSamples(_ handler: SampleCapture.Handler?) async throws(ShareKitError) -> SampleCapture {
        let (source, framesPerSecond, makeMicrophone) = (source, framesPerSecond, makeMicrophone)
        return try await begin { events throws(ShareKitError) in
            try SampleCapture(
                source, framesPerSecond: framesPerSecond, handler: handler, makeMicrophone: makeMicrophone,
                events: events)
        }
    }

    /// Starts a capture, after the user has allowed it.
    func begin<Capture: RunningCapture>(
        _ make: (SampleCapture.Events) throws(ShareKitError) -> Capture
    ) async throws(ShareKitError) -> Capture {
        if let refusal = state.begin(source) { throw refusal }
        let capture: Capture
        do throws(ShareKitError) {
            try await askForConsent(withMicrophone: isMicrophoneEnabled)
            // The threads of a capture hand over samples at once.
            if let refusal = state.start() { throw refusal }
            capture = try make(state.events(source))
        } catch {
            state.over(source)
            throw error
        }
        if let refusal = state.adopt(capture) {
            capture.end(nil, isDiscarding: true)
            await capture.ended()
            throw refusal
        }
        if isMicrophoneEnabled {
            do throws(ShareKitError) {
                try await setMicrophone(true, of: capture)
            } catch {
                state.update { $0.failure = error }
            }
        }
        return capture
    }

    func askForConsent(withMicrophone: Bool, withCamera: Bool = false) async throws(ShareKitError) {
        if state.hasConsent(withMicrophone: withMicrophone, withCamera: withCamera) { return }
        let request = Request(
            application: source.name, withMicrophone: withMicrophone, withCamera: withCamera || isCameraEnabled)
        guard await confirm(request) else { throw ShareKitError(.declined, "the capture was not allowed") }
        state.noteConsent(withMicrophone: withMicrophone, withCamera: withCamera)
    }

    private func end(isDiscarding: Bool) async {
        guard let capture = state.requestEnd() else { return await state.whileStarting() }
        capture.end(nil, isDiscarding: isDiscarding)
        await capture.ended()
    }
}

/// What a recorder has started that is no capture of samples.
struct StartedRecordings: Sendable {
    #if RecordingsAndWHIP
    /// Where clips and recordings with a path are listed; nil: nowhere.
    var list: UserRecordings?
    var capture: EncodedCapture?
    var clips: EncodedCapture?
    /// The file of the last recording without a path.
    var temporary: String?

    static var listed: Self { Self(list: UserRecordings()) }
    #else
    static var listed: Self { Self() }
    #endif
}
