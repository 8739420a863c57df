import CommandSupport
import Host
import MediaCore
import Recording

extension UntrustedText {
    /// A path as people see it.
    static func path(_ path: String, fallback: String = "a file") -> String {
        clean(path, limit: 4_096, fallback: fallback)
    }
}

extension RecordedFile {
    /// The members of an event that tells of the file.
    var fields: [(String, JSONValue)] {
        [("file", .string(path)), ("seconds", .number(duration.inSeconds)), ("bytes", .integer(bytes))]
    }
}

extension RecordingEvent {
    /// The event as programs get it, and the sentence for people.
    var report: (name: String, fields: [(String, JSONValue)], sentence: String) {
        switch self {
        case .started(let path): ("recording", [("file", .string(path))], "recording to \(UntrustedText.path(path))")
        case .finished(let file):
            (
                "recorded", file.fields,
                "recorded \(UntrustedText.path(file.path)): \(ClockText.text(Int(file.duration.inSeconds)))"
            )
        case .failed(let failure): ("recording-failed", [("reason", .string(failure.message))], failure.message)
        case .dropped(let count):
            (
                "dropped", [("count", .integer(count))],
                "the disk is too slow; \(count) frames and packets were left out so far"
            )
        }
    }
}

extension DataOutput {
    /// Reports an event of a recorder, also on stderr.
    func report(_ event: RecordingEvent) {
        let (name, fields, sentence) = event.report
        self.event(name, fields)
        if case .failed = event { return }
        ErrorOutput.writeLine("share: \(sentence)")
    }
}
