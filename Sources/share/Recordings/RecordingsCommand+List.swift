import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import MediaCore
import Recording
import ShareKit

struct ListRecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List this user's recordings and clips, the newest first.",
        discussion: "The other verbs take the number of a recording as well as a file.")

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() throws {
        try complaining { () throws(CommandError) in
            let entries: [CatalogueEntry]
            do throws(CatalogueFailure) {
                entries = try RecordingCatalogue.ofUser().entries()
            } catch {
                throw CommandError(sentence: "\(error)", status: .cannotWrite)
            }
            if entries.isEmpty {
                ErrorOutput.writeLine("share: there are no recordings; make one with: share record LINK")
            }
            for entry in entries { DataOutput(isJSON: false).line(json ? entry.json.text : entry.line) }
            if !json { CutOffRecordings.report() }
        }
    }
}

struct RemoveRecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove recordings, their files too.",
        discussion: "Asks first if there is a terminal; without one, --yes is needed.")

    @Argument(help: "The numbers of 'share recordings list', or files that it lists.")
    var recordings: [String]

    @Flag(help: "Without a question.")
    var yes = false

    @Flag(help: "Only forget them; the files stay.")
    var keepFiles = false

    func run() throws {
        try complaining { () throws(CommandError) in
            let catalogue: RecordingCatalogue
            var chosen: [CatalogueEntry] = []
            do throws(CatalogueFailure) {
                catalogue = try RecordingCatalogue.ofUser()
                let entries = try catalogue.entries()
                for name in recordings {
                    let path = URL(fileURLWithPath: name).path
                    guard let entry = entries.first(where: { "\($0.number)" == name || $0.path == path }) else {
                        throw CatalogueFailure(
                            "there is no recording \(UntrustedText.clean(name, fallback: "of that name"))")
                    }
                    chosen.append(entry)
                }
            } catch {
                throw CommandError(
                    sentence: "\(error)", remedy: "See: share recordings list", status: .cannotWrite)
            }
            if !yes { try confirm(chosen) }
            for entry in chosen { try remove(entry, catalogue) }
        }
    }

    private func confirm(_ chosen: [CatalogueEntry]) throws(CommandError) {
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(sentence: "there is no terminal to ask in", remedy: "Add --yes.", status: .usage)
        }
        for entry in chosen { ErrorOutput.writeLine(entry.line) }
        ErrorOutput.writeLine(keepFiles ? "Forget? [y]es, [n]o: " : "Remove? [y]es, [n]o: ")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            throw CommandError(sentence: "nothing was removed", status: .declined)
        }
    }

    private func remove(_ entry: CatalogueEntry, _ catalogue: RecordingCatalogue) throws(CommandError) {
        let name = UntrustedText.path(entry.path, fallback: "the recording")
        if RecordingState(entry) == .recording, !keepFiles {
            throw CommandError(sentence: "\(name) is being recorded", status: .cannotWrite)
        }
        if !keepFiles, unlink(entry.path) != 0, errno != ENOENT {
            throw CommandError(
                sentence: "\(name) cannot be removed: \(String(cString: strerror(errno)))", status: .cannotWrite)
        }
        do throws(CatalogueFailure) {
            try catalogue.remove(entry.number)
        } catch {
            throw CommandError(sentence: "\(error)", status: .cannotWrite)
        }
        ErrorOutput.writeLine("share: \(keepFiles ? "forgotten" : "removed"): \(name)")
    }
}

extension CatalogueEntry {
    /// "12  2026-11-23 14:03  00:12:31  34.2 MB  "Ann's screen"  /home/ann/a.webm"
    fileprivate var line: String {
        let state = RecordingState(self)
        let length = seconds.map { ClockText.text(Int($0)) } ?? (state == .cutOff ? "cut off" : state.rawValue)
        let size = (bytes ?? Self.size(of: path)).map { "\((Double($0) / 1e5).rounded() / 10) MB" } ?? "-"
        return [
            "\(number)", Self.text(began), length, size, state == .gone && seconds != nil ? "file has gone" : "",
            title.isEmpty ? "" : UntrustedText.quote(UntrustedText.clean(title, fallback: "")),
            UntrustedText.path(path),
        ].filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private static func size(of path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
    }

    private static func text(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var time = tm()
        localtime_r(&seconds, &time)
        func digits(_ value: Int32) -> String { (value < 10 ? "0" : "") + String(value) }
        return "\(time.tm_year + 1_900)-\(digits(time.tm_mon + 1))-\(digits(time.tm_mday)) "
            + "\(digits(time.tm_hour)):\(digits(time.tm_min))"
    }

    fileprivate var json: JSONValue {
        .object([
            "number": .integer(number), "file": .string(path), "title": .string(title),
            "began": .number(began.timeIntervalSince1970), "seconds": seconds.map { .number($0) } ?? .null,
            "bytes": (bytes ?? Self.size(of: path)).map { .integer($0) } ?? .null,
            "state": .string(RecordingState(self).rawValue),
        ])
    }
}
