package import ExtensionChannel
internal import Glibc
internal import LinuxRuntime

/// The upload program of an extension: the counterpart of ReplayKit's `RPBroadcastSampleHandler`. It gets the samples
/// of one broadcast from its host, which has started it.
///
///     @main final class Upload: SampleHandler, @unchecked Sendable {
///         override func processSampleBuffer(_ buffer: SampleBuffer) { ... }
///     }
///
/// All calls are made on the main thread, one after the other. While one runs, the host drops frames, but no audio;
/// after 5 s it ends the program. A program that uses more than its memory budget is ended, too.
open class SampleHandler: @unchecked Sendable {
    /// The application that broadcasts; not verified.
    public struct Application: Sendable, Hashable {
        /// In reverse-DNS notation.
        public let id: String
        /// The application's name for people, as it says.
        public let name: String
        /// A PNG file, at most 256 x 256 pixels and 16 KiB; nil if the application has given none.
        public let icon: [UInt8]?
    }

    /// What the samples are.
    public enum SampleFormat: Sendable {
        /// Frames in I420, audio as PCM.
        case raw
        /// Frames in VP8, audio in Opus, encoded once by the host, as for its other receivers.
        case encoded
    }

    // SAFETY: set once, before the first call.
    package private(set) var connection: ProgramConnection?

    /// Called by ``main()``, before the host tells anything.
    public required init() {}

    /// The link of the service that the manifest names; nil if it names none.
    public internal(set) final var serviceLink: String?

    /// What this program takes; raw samples by default. Read once, before `broadcastStarted`.
    open var sampleFormat: SampleFormat { .raw }

    // MARK: Calls of the host

    /// The broadcast begins; samples follow.
    /// - Parameters:
    ///   - setupInfo: what the setup program returned, or a value for each field of the manifest.
    ///   - application: that is shown.
    open func broadcastStarted(withSetupInfo setupInfo: [String: String], application: Application) {}

    /// No samples follow until ``broadcastResumed()``.
    open func broadcastPaused() {}

    /// Samples follow again, after ``broadcastPaused()``.
    open func broadcastResumed() {}

    /// The broadcast has ended; the program ends after this call. It has 3 s.
    open func broadcastFinished() {}

    /// Another application is shown now.
    open func broadcastAnnotated(withApplication application: Application) {}

    /// Takes a frame, or a piece of audio. Frames show the whole picture; a still picture comes once.
    open func processSampleBuffer(_ buffer: SampleBuffer) {}

    // MARK: Messages to the host

    /// Ends the broadcast: the host's user sees the reason and the next step. Return soon afterwards.
    /// - Parameters:
    ///   - reason: at most 256 characters are shown.
    ///   - nextStep: what the user may do, a sentence or a URL.
    public final func finishBroadcast(withError reason: String, nextStep: String? = nil) {
        connection?.send(.failed(reason: reason, nextStep: nextStep))
    }

    /// Tells the app how the broadcast is received.
    public final func updateServiceInfo(_ info: BroadcastController.ServiceInfo) {
        connection?.send(
            .serviceInfo(
                viewers: info.viewers, likes: info.likes, commentName: info.comment?.name,
                commentText: info.comment?.text))
    }

    /// Tells the app where people can watch.
    /// - Parameter url: `http` or `https`.
    public final func updateBroadcast(url: String) { connection?.send(.broadcastURL(url)) }

    /// For encoded samples: asks for a key frame, which follows soon. Frames that were dropped cannot be decoded
    /// without.
    public final func requestKeyframe() { connection?.send(.keyframe) }

    /// For encoded samples: sets the bitrate of the video. A host takes 50 of these requests a second.
    /// - Parameter bitsPerSecond: 50,000 at least; nil: no frame is to be made for now.
    public final func setBitrate(_ bitsPerSecond: Int?) {
        connection?.send(.bitrate(bitsPerSecond.map { max($0, 50_000) } ?? 0))
    }

    // MARK: The program

    /// Called before `broadcastStarted`, with what that does not have.
    package var onStart: ((ExtensionStart) -> Void)?
    /// Gets samples as they come, instead of `processSampleBuffer`.
    package var onSample: ((ReceivedSample) -> Void)?

    /// Runs the program until its broadcast is over. A program that no host has started says so and exits with 64.
    public static func main() {
        guard let connection = ProgramConnection.inherited() else {
            let text = "This is an upload program; a host starts it (share host).\n"
            _ = write(STDERR_FILENO, text, text.utf8.count)
            exit(64)
        }
        let handler = Self()
        handler.connection = connection
        let end = connection.run { event in
            switch event {
            case .started(let start):
                connection.send(.ready(ExtensionReadiness(media: handler.sampleFormat == .raw ? .raw : .encoded)))
                handler.serviceLink = start.service
                handler.onStart?(start)
                handler.broadcastStarted(withSetupInfo: start.setup, application: Application(start.application))
            case .sample(let sample):
                if let onSample = handler.onSample {
                    onSample(sample)
                } else if let buffer = SampleBuffer(sample) {
                    handler.processSampleBuffer(buffer)
                }
            case .paused: handler.broadcastPaused()
            case .resumed: handler.broadcastResumed()
            case .annotated(let application):
                handler.broadcastAnnotated(withApplication: Application(application))
            case .finished: handler.broadcastFinished()
            }
        }
        exit(end == .finished ? 0 : 1)
    }
}

extension SampleHandler.Application {
    init(_ application: BroadcastingApplication) {
        self.init(id: application.id, name: application.name, icon: application.icon.map { Array($0) })
    }
}

extension SampleBuffer {
    /// Nil for a format that this version of ShareKit does not hand out.
    convenience init?(_ sample: ReceivedSample) {
        guard let content = Content(sample) else { return nil }
        self.init(content, time: .nanoseconds(sample.description.time), release: { withExtendedLifetime(sample) {} })
    }
}

extension SampleBuffer.Content {
    init?(_ sample: ReceivedSample) {
        switch sample.description.format {
        case .i420(let width, let height, let strideY, let strideC):
            guard let base = sample.bytes.baseAddress else { return nil }
            let y = base.assumingMemoryBound(to: UInt8.self)
            let u = y + strideY * height
            self = .video(
                SampleBuffer.VideoPlanes(
                    width: width, height: height, y: y, u: u, v: u + strideC * height / 2, strideY: strideY,
                    strideC: strideC))
        case .pcm(let track, _):
            let samples = sample.bytes.bindMemory(to: Int16.self)
            self = track == .microphone ? .microphoneAudio(samples) : .applicationAudio(samples)
        case .vp8(_, let isKeyframe, let layer, let width, let height):
            self = .encoded(
                SampleBuffer.EncodedSample(
                    media: .video(isKeyframe: isKeyframe, temporalLayer: Int(layer), width: width, height: height),
                    bytes: sample.bytes))
        case .opus(let track, _):
            self = .encoded(
                SampleBuffer.EncodedSample(
                    media: track == .microphone ? .microphoneAudio : .applicationAudio, bytes: sample.bytes))
        }
    }
}
