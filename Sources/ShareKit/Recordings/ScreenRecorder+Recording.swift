#if RecordingsAndWHIP
internal import LinuxRuntime
internal import MediaCore
internal import Recording

/// Files and clips. One capture of a source runs at a time, whatever becomes of it.
extension ScreenRecorder {
    private var list: UserRecordings? { recordings.with { $0.list } }

    // MARK: Recordings

    /// Starts a recording: VP8 video with the app's audio and the microphone, in WebM. The file can be played at every
    /// moment, also if the app crashes.
    ///
    /// The last recording that was started without a path is removed, unless it was saved. A system broadcast takes
    /// precedence: it ends and discards a recording.
    /// - Parameter path: of a file that does not exist yet; nil: one in the user's cache, for ``Recording/save(to:)``.
    /// - Throws: as `startCapture(handler:)`; `.badFile` if the file cannot be created.
    public func startRecording(to path: String? = nil) async throws(ShareKitError) {
        let file = if let path { path } else { try RecordingStorage.newPath() }
        let (source, framesPerSecond, makeMicrophone) = (source, framesPerSecond, makeMicrophone)
        let capture = try await begin { events throws(ShareKitError) in
            try EncodedCapture.file(
                file, title: source.name, source, framesPerSecond: framesPerSecond, makeMicrophone: makeMicrophone,
                events: events)
        }
        let former = recordings.with { recordings in
            defer {
                recordings.capture = capture
                recordings.temporary = path == nil ? file : nil
            }
            return recordings.temporary
        }
        if let former { RecordingStorage.remove(former) }
    }

    /// Ends the recording and completes its file.
    /// - Returns: the recording, also if it has ended by itself before (``State/failure`` says why).
    /// - Throws: why there is none: `.notRunning`, `.nothingRecorded`, or a system broadcast has discarded it.
    public func stopRecording() async throws(ShareKitError) -> Recording {
        guard let capture = recordings.with({ $0.capture }) else {
            throw ShareKitError(.notRunning, "nothing is being recorded")
        }
        capture.end(nil, isDiscarding: false)
        await capture.ended()
        recordings.with { if $0.capture === capture { $0.capture = nil } }
        guard let file = capture.file else {
            throw capture.failure ?? ShareKitError(.nothingRecorded, "nothing was recorded")
        }
        // One without a path is listed when it is saved.
        let isTemporary = recordings.with { $0.temporary == file.path }
        guard !isTemporary, let list else { return Recording(file, list: list, title: source.name) }
        let title = source.name
        return try await Recording.onDisk(list: list, title: title) { () throws(RecordingFailure) in
            list.note(file, title: title)
            return file
        }
    }

    /// Ends the recording and removes its file. Does nothing if none runs.
    public func discardRecording() async {
        let capture = recordings.with { recordings in
            defer { recordings.capture = nil }
            return recordings.capture
        }
        guard let capture else { return }
        capture.end(nil, isDiscarding: true)
        await capture.ended()
        // One that had ended by itself.
        if let file = capture.file { RecordingStorage.remove(file.path) }
    }

    // MARK: Clips

    /// Keeps the last seconds in memory, encoded, for ``exportClip(to:duration:)``.
    /// - Parameter duration: what a clip can have at most, up to 10 minutes. 64 MiB are kept at most.
    /// - Throws: as `startCapture(handler:)`.
    public func startClipBuffering(duration: Duration = .seconds(15)) async throws(ShareKitError) {
        let length = min(max(MediaDuration(duration), .seconds(1)), .seconds(600))
        let (source, framesPerSecond, makeMicrophone) = (source, framesPerSecond, makeMicrophone)
        let capture = try await begin { events throws(ShareKitError) in
            try EncodedCapture.clips(
                length, source, framesPerSecond: framesPerSecond, makeMicrophone: makeMicrophone, events: events)
        }
        recordings.with { $0.clips = capture }
    }

    /// Saves the last seconds to a file. The buffer goes on as it is.
    /// - Parameters:
    ///   - path: of a file that does not exist yet.
    ///   - duration: nil: all that is kept.
    /// - Throws: `.notRunning` if no clips are kept; `.badFile` if there is nothing yet, or if the file cannot be
    ///   written.
    @discardableResult
    public func exportClip(to path: String, duration: Duration? = nil) async throws(ShareKitError) -> Recording {
        guard let capture = recordings.with({ $0.clips }), case .clips(let buffer) = capture.output, !capture.isEnded
        else { throw ShareKitError(.notRunning, "no clips are kept", remedy: "Call startClipBuffering first.") }
        let (list, title) = (list, source.name)
        return try await Recording.onDisk(list: list, title: title) { () throws(RecordingFailure) in
            let file = try buffer.export(last: duration.map { MediaDuration($0) }, to: .file(path))
            list?.note(file, title: title)
            return file
        }
    }

    /// Ends the buffer, and drops what it keeps. Does nothing without one.
    public func stopClipBuffering() async {
        let capture = recordings.with { recordings in
            defer { recordings.clips = nil }
            return recordings.clips
        }
        guard let capture else { return }
        capture.end(nil, isDiscarding: true)
        await capture.ended()
    }
}
#endif
