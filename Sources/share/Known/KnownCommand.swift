import ArgumentParser
import CommandSupport
import Identifiers
import Identity
import MediaCore
import Signaling

struct KnownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "known", abstract: "List the viewers that join without a question, or remove one.",
        discussion: """
            These are the viewers that you accepted with 'always'. 'share join' is known by \
            its certificate. A browser is known by a key in its storage, which it keeps for \
            one address and port of this host; you are asked about it at another one.
            """,
        subcommands: [List.self, Forget.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a line for each: kind, date, fingerprint, name.")

        func run() throws {
            try saying {
                let entries = try KnownViewers().entries()
                if entries.isEmpty {
                    ErrorOutput.writeLine("share: nobody is known: answer 'always' when somebody asks to watch")
                }
                for entry in entries { DataOutput(isJSON: false).line(entry.line) }
            }
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a known viewer, so that you are asked again. Running sessions continue.",
            discussion: "Exit codes: 0 forgotten, 64 nobody or more than one is meant, 73 the file cannot be written.")

        @Argument(help: "The name, or the beginning of the fingerprint (4 digits or more).")
        var name: [String]

        func run() throws {
            try saying {
                let known = KnownViewers()
                let text = name.joined(separator: " ")
                let found = try known.find(text)
                guard let entry = found.first else {
                    throw CommandError(
                        sentence: "nobody is known as \(JSONValue.string(text).text)",
                        remedy: "List the known viewers: share known list", status: .usage)
                }
                guard found.count == 1 else {
                    for entry in found { ErrorOutput.writeLine(entry.line) }
                    throw CommandError(
                        sentence: "\(found.count) are known as \(JSONValue.string(text).text), see above",
                        remedy: "Give the beginning of the fingerprint instead.", status: .usage)
                }
                try known.forget(entry.identity)
                ErrorOutput.writeLine("share: forgotten: \(entry.line)")
            }
        }
    }
}

extension KnownViewers.Entry {
    /// One line of `share known`: kind, day, 16 digits of the fingerprint, and the name, which is last because it may
    /// contain spaces.
    fileprivate var line: String {
        let kind = identity.kind.rawValue.padded(to: 7)
        return "\(kind)  \(since ?? "long ago  ")  \(fingerprint.prefix(16))  \(name)"
    }
}

private func saying(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as KnownViewersError {
        throw CommandError(sentence: error.description, status: .cannotWrite).report()
    } catch let error as CommandError {
        throw error.report()
    }
}
