import Glibc
import LinuxRuntime
public import MediaCore

/// Writes the comments of a session beside its recording, as WebVTT (W3C Candidate Recommendation, 2019): `FILE.webm`
/// gets `FILE.vtt`, which players take as subtitles. Without a comment there is no file. Safe from any thread.
///
/// A comment is written at once, so the file is complete at every moment. Its time is exact to half a second.
public final class CommentTrack: Sendable {
    private struct State {
        /// Of the recording that is being written.
        var recording: (path: String, began: MediaInstant)?
        /// -1: not created yet.
        var descriptor: Int32 = -1
        var hasFailed = false
    }

    private let state = Monitor(State())
    private let report: @Sendable (String) -> Void

    /// How long a comment is shown.
    static let cueTime = MediaDuration.seconds(6)

    /// - Parameter report: called with a sentence once for each recording whose comments cannot be written.
    public init(report: @escaping @Sendable (String) -> Void) { self.report = report }

    deinit { state.with { Self.close(&$0) } }

    /// Follows what becomes of the recording.
    public func note(_ event: RecordingEvent) { note(event, now: MonotonicClock.now) }

    /// Writes a comment, if something is being recorded.
    public func add(_ comment: BroadcastComment) { add(comment, now: MonotonicClock.now) }

    func note(_ event: RecordingEvent, now: MediaInstant) {
        state.with { state in
            switch event {
            case .started(let path):
                Self.close(&state)
                state.recording = (path, now)
            case .finished, .failed: Self.close(&state)
            case .dropped: break
            }
        }
    }

    func add(_ comment: BroadcastComment, now: MediaInstant) {
        let failure: String? = state.with { state in
            guard let (path, began) = state.recording, !state.hasFailed else { return nil }
            let file = Self.file(beside: path)
            var text = Self.cue(comment, at: now - began)
            if state.descriptor < 0 {
                state.descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
                text = "WEBVTT\n\n" + text
            }
            guard state.descriptor >= 0, Self.write(text, to: state.descriptor) else {
                state.hasFailed = true
                let shown = UntrustedText.clean(file, limit: 4_096, fallback: "a file")
                return "comments cannot be written to \(shown): \(String(cString: strerror(errno)))"
            }
            return nil
        }
        if let failure { report(failure) }
    }

    private static func close(_ state: inout State) {
        if state.descriptor >= 0 { _ = Glibc.close(state.descriptor) }
        state = State()
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var bytes = ArraySlice(text.utf8)
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    // MARK: The text

    /// `DIR/FILE.vtt` of `DIR/FILE.webm`.
    static func file(beside recording: String) -> String {
        let name = recording.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return recording + ".vtt" }
        return recording.dropLast(name.distance(from: dot, to: name.endIndex)) + ".vtt"
    }

    /// One cue, with the empty line after it. Cleaned text has no line breaks, which end a cue, and escaped text no
    /// arrow (-->).
    static func cue(_ comment: BroadcastComment, at time: MediaDuration) -> String {
        let voice = comment.from.map(UntrustedText.escapedMarkup) ?? "Host"
        return """
            \(timestamp(time)) --> \(timestamp(time + cueTime))
            <v \(voice)>\(voice): \(UntrustedText.escapedMarkup(comment.text))


            """
    }

    /// "01:02:03.456".
    private static func timestamp(_ time: MediaDuration) -> String {
        let all = max(0, time.nanoseconds / 1_000_000)
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return
            "\(digits(all / 3_600_000, 2)):\(digits(all / 60_000 % 60, 2)):\(digits(all / 1_000 % 60, 2)).\(digits(all % 1_000, 3))"
    }
}
