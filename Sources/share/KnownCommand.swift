import ArgumentParser
import Foundation
import Signaling

struct KnownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "known", abstract: "Say who was let in 'always', or forget one of them.",
        discussion: """
            A viewer of 'share join' is known by its certificate. A browser is known by a key \
            in its storage, which it has for one address and port of this host: at another \
            one it is a stranger.
            """,
        subcommands: [List.self, Forget.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "A line each: kind, day of the first time, fingerprint, name.")

        func run() throws {
            try saying {
                let entries = try KnownViewers().entries()
                if entries.isEmpty { Words.say("share: nobody is known: answer 'always' when somebody asks to watch") }
                for entry in entries { DataOutput(isJSON: false).line(entry.line) }
            }
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ask about somebody again the next time. Who watches now stays.",
            discussion: "Exit codes: 0 forgotten, 64 nobody or more than one is meant, 73 the file cannot be written.")

        @Argument(help: "The name, or the beginning of the fingerprint (4 digits or more).")
        var name: [String]

        func run() throws {
            try saying {
                let known = KnownViewers()
                let text = name.joined(separator: " ")
                let found = try known.find(text)
                guard let entry = found.first else {
                    throw Complaint(
                        sentence: "nobody is known as \(JSONValue.string(text).text)",
                        remedy: "See who is: share known list", status: .usage)
                }
                guard found.count == 1 else {
                    for entry in found { Words.say(entry.line) }
                    throw Complaint(
                        sentence: "\(found.count) are known as \(JSONValue.string(text).text), see above",
                        remedy: "Say the beginning of the fingerprint instead.", status: .usage)
                }
                try known.forget(entry.identity)
                Words.say("share: forgotten: \(entry.line)")
            }
        }
    }
}

extension KnownViewers.Entry {
    /// One line of `share known`: kind, day, 16 digits of the fingerprint, and the name, which is last because it may
    /// contain spaces.
    fileprivate var line: String {
        let kind = identity.kind.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
        return "\(kind)  \(since ?? "long ago  ")  \(fingerprint.prefix(16))  \(name)"
    }
}

private func saying(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as KnownViewersError {
        throw Complaint(sentence: error.description, status: .cannotWrite).say()
    } catch let complaint as Complaint {
        throw complaint.say()
    }
}
