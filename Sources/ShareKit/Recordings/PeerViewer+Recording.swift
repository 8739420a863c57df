#if RecordingsAndWHIP
internal import Identity
internal import LinuxRuntime
internal import MediaCore
internal import PeerConnection
internal import Recording

extension PeerViewer {
    /// Makes a viewer that also writes what it receives to a file. The host and its viewers are told that the session is
    /// recorded.
    /// - Parameters:
    ///   - link: of the broadcast.
    ///   - name: as the host sees it.
    ///   - recording: a file that does not exist yet, which gets all that is received, in WebM and as it was sent; nil:
    ///     nothing is recorded.
    ///   - onFrame: as without a recording.
    ///   - onAudio: as without a recording.
    /// - Throws: `.badLink`; `.badFile` if the file cannot be created; `.failed` without an identity.
    public convenience init(
        link: String, name: String, recordingTo recording: String?,
        onFrame: @escaping @Sendable (borrowing Frame) -> Void,
        onAudio: (@Sendable (UnsafeBufferPointer<Int16>) -> Void)? = nil
    ) throws(ShareKitError) {
        try self.init(
            link: link, name: name, identity: try .ofUser(), recordingTo: recording, onFrame: onFrame, onAudio: onAudio)
    }

    convenience init(
        link: String, name: String, identity: Identity, recordingTo recording: String?,
        onFrame: @escaping @Sendable (borrowing Frame) -> Void,
        onAudio: (@Sendable (UnsafeBufferPointer<Int16>) -> Void)?
    ) throws(ShareKitError) {
        let link = try Self.parse(link)
        var recorder: FileRecorder?
        if let recording { recorder = try FileRecorder(recording) }
        self.init(link, name: name, identity: identity, recorder: recorder, onFrame: onFrame, onAudio: onAudio)
    }

    /// What was recorded, when `run` has returned; nil without a file, and if nothing came.
    public var recording: Recording? { (recorder as? FileRecorder)?.result.recording }

    /// Why the recording has ended before the session; nil if it has not. The session goes on.
    public var recordingFailure: ShareKitError? { (recorder as? FileRecorder)?.result.failure }
}

/// Records a session to a file.
private final class FileRecorder: SessionRecorder {
    struct Result {
        var recording: Recording?
        var failure: ShareKitError?
    }

    private let recorder: Recorder
    private let state: Monitor<Result>

    /// - Parameter path: of a file that does not exist yet.
    init(_ path: String) throws(ShareKitError) {
        let state = Monitor(Result())
        self.state = state
        do throws(RecordingFailure) {
            recorder = try Recorder(to: .file(path)) { event in
                switch event {
                case .finished(let file): state.with { $0.recording = Recording(file) }
                case .failed(let failure): state.with { $0.failure = ShareKitError(failure) }
                case .started, .dropped: break
                }
            }
        } catch {
            throw ShareKitError(error)
        }
    }

    var result: Result { state.with { $0 } }
    var sink: any EncodedMediaSink { recorder }
    func setTitle(_ title: String) { recorder.setTitle(title) }
}
#endif
