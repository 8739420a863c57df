import ArgumentParser
import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import MediaCore

struct ClipCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clip", abstract: "Save the last seconds of a running session to a file.",
        discussion: """
            Of a host or viewer on this machine that was started with --clips. The session goes on \
            undisturbed. No file is ever overwritten. Exit codes: 0 saved, 64 several run, 72 none \
            runs, 73 the file cannot be written.
            """)

    @Option(
        help: ArgumentHelp("How much: 10, 10s, 1m; all that is kept if omitted.", valueName: "time"))
    var last: Timespan?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, or the folder for it; the current folder if omitted.", valueName: "file|folder"))
    var output = "."

    @Option(
        help: ArgumentHelp(
            "Which session, if several run: the broadcast's name or identifier, or the beginning of one.",
            valueName: "name|id"))
    var broadcast: String?

    @Flag(help: "Print one JSON object on stdout.")
    var json = false

    func run() throws {
        try complaining { () throws(CommandError) in
            let source = try one()
            var path = URL(fileURLWithPath: output).path
            if output.hasSuffix("/"), !path.hasSuffix("/") { path += "/" }
            let saved = try save(source, ClipRequest(seconds: last?.seconds, file: path))
            let name = UntrustedText.path(saved.file)
            ErrorOutput.writeLine("share: saved the last \((saved.seconds * 10).rounded() / 10) s to \(name)")
            guard json else {
                DataOutput(isJSON: false).line(saved.file)
                return
            }
            DataOutput(isJSON: false).line(
                JSONValue.object([
                    "file": .string(saved.file), "seconds": .number(saved.seconds), "bytes": .integer(saved.bytes),
                ]).text)
        }
    }

    private func save(_ source: RunningClips, _ request: ClipRequest) throws(CommandError) -> SavedClip {
        let answer: ControlAnswer
        do throws(ControlSocketFailure) {
            answer = try source.ask(ControlRequest(.clip(request)))
        } catch {
            throw CommandError(sentence: error.message, status: error.code == .notListening ? .noBroadcast : .lost)
        }
        if let clip = answer.clip { return clip }
        throw CommandError(
            sentence: answer.message.map { UntrustedText.clean($0, limit: 512, fallback: "") } ?? "no clip was saved",
            status: answer.error == .failed ? .cannotWrite : .lost)
    }

    private func one() throws(CommandError) -> RunningClips {
        let (running, failures) = RunningClips.all(
            in: ControlSocketFolder(environment: ProcessInfo.processInfo.environment))
        for failure in failures { ErrorOutput.writeLine("share: \(failure.message)") }
        let wanted = broadcast?.lowercased() ?? ""
        let found = running.filter {
            $0.status.name.lowercased().hasPrefix(wanted) || $0.id.lowercased().hasPrefix(wanted)
        }
        guard let first = found.first else {
            throw CommandError(
                sentence: running.isEmpty
                    ? "no host or viewer on this machine keeps clips" : "no session of that name keeps clips",
                remedy: "Start one with --clips, as in: share host --clips", status: .noBroadcast)
        }
        guard found.count == 1 else {
            for source in found { ErrorOutput.writeLine(source.line) }
            throw CommandError(
                sentence: "\(found.count) sessions are meant, see above", remedy: "Choose one: --broadcast NAME",
                status: .usage)
        }
        return first
    }
}

extension RunningClips {
    /// 9X2M4QF1K7D3A  "Ann's screen"  00:00:12 of 00:00:15
    fileprivate var line: String {
        let kept = ClockText.text(Int(status.availableSeconds)) + " of " + ClockText.text(Int(status.lengthSeconds))
        let name = UntrustedText.quote(UntrustedText.clean(status.name, fallback: "share"))
        return [id, name, kept].joined(separator: "  ")
    }
}
