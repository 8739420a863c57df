import ArgumentParser
import CommandSupport
import LinuxRuntime

/// The options of a command as a file: a subset of TOML with a line for each option, `max-viewers = 500`.
///
/// A key is a long option without its dashes. A value is a string in quotes, a whole number, `true` or `false` for a
/// flag, or a list of strings for an option with several values.
struct ConfigurationFile {
    struct Entry: Equatable {
        var line: Int
        var key: String
        /// Nil: the flag is set. An empty list: it is not.
        var values: [String]?

        /// As the command line has them.
        var arguments: [String] { values?.map { "--\(key)=\($0)" } ?? ["--\(key)"] }
    }

    /// What is wrong with a line.
    struct Flaw: Error, Equatable {
        var line: Int
        var sentence: String
    }

    let entries: [Entry]

    private static let sizeLimit = 1 << 20

    init(text: String) throws(Flaw) {
        var entries: [Entry] = []
        // "\r\n" is one character.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let number = index + 1
            do throws(Line.Failure) {
                guard var entry = try Line.entry(line) else { continue }
                if let first = entries.first(where: { $0.key == entry.key }) {
                    throw Line.Failure("\(entry.key) is in line \(first.line) already")
                }
                entry.line = number
                entries.append(entry)
            } catch {
                throw Flaw(line: number, sentence: error.sentence)
            }
        }
        self.entries = entries
    }

    init(file: String) throws(CommandError) {
        guard let handle = FileDescriptor(reading: file), let bytes = handle.read(upTo: Self.sizeLimit),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw CommandError(sentence: "--config: \(file) cannot be read as text", status: .usage)
        }
        do throws(Flaw) {
            try self.init(text: text)
        } catch {
            throw CommandError(sentence: "\(file):\(error.line): \(error.sentence)", status: .usage)
        }
    }

    /// Returns the command with the options of a file, and of the command line, which win.
    /// - Parameter arguments: the command line without the option that names the file.
    static func configure<Command: ParsableCommand>(
        _ command: Command.Type, from file: String, _ arguments: [String]
    ) throws -> Command {
        let given = Set(arguments.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } })
        let entries = try ConfigurationFile(file: file).entries
        SecretFile.warnIfExposed(file, "--config")
        for entry in entries { try check(entry, of: command, in: file) }
        let used = entries.filter { !given.contains("--\($0.key)") }
        let merged = used.flatMap(\.arguments) + arguments
        do {
            return try command.parse(merged)
        } catch {
            // The command line may be at fault by itself.
            _ = try command.parse(arguments)
            throw CommandError(sentence: "\(file), with the command line: \(message(error, command))", status: .usage)
        }
    }

    /// Checks one entry by itself.
    private static func check(_ entry: Entry, of command: (some ParsableCommand).Type, in file: String) throws {
        func flaw(_ sentence: String) -> CommandError {
            CommandError(sentence: "\(file):\(entry.line): \(entry.key): \(sentence)", status: .usage)
        }
        do {
            let arguments = entry.values == [] ? ["--\(entry.key)"] : entry.arguments
            _ = try command.parse(arguments)
            guard entry.key != "config" else { throw flaw("a file names no other file") }
        } catch let error as CommandError {
            throw error
        } catch {
            let text = message(error, command)
            // "--help" ends with success.
            let isUnknown = command.exitCode(for: error).isSuccess || text.hasPrefix("Unknown option")
            throw flaw(isUnknown ? "there is no such option" : text)
        }
    }

    private static func message(_ error: any Error, _ command: (some ParsableCommand).Type) -> String {
        let text = command.message(for: error)
        return String(text.split(separator: "\n").first ?? "")
    }
}

/// Reads one line of the file.
private struct Line {
    struct Failure: Error {
        var sentence: String
        init(_ sentence: String) { self.sentence = sentence }
    }

    private var rest: Substring

    /// - Returns: nil for an empty line or a comment.
    static func entry(_ text: Substring) throws(Failure) -> ConfigurationFile.Entry? {
        var line = Line(rest: text)
        line.skipBlanks()
        if line.isAtEnd { return nil }
        guard line.rest.first != "[" else { throw Failure("there are no sections: a line is key = value") }
        let key = line.take { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        line.skipBlanks()
        guard !key.isEmpty, !key.hasPrefix("-"), line.take("=") else {
            throw Failure("a line is key = value, as max-viewers = 500")
        }
        line.skipBlanks()
        let values = try line.values()
        line.skipBlanks()
        guard line.isAtEnd else { throw Failure("\(key): something follows the value; text stands in quotes") }
        return .init(line: 0, key: key, values: values)
    }

    private mutating func values() throws(Failure) -> [String]? {
        guard take("[") else {
            guard let first = rest.first, first.isLetter else { return [try value()] }
            switch take(while: { $0.isLetter }) {
            case "true": return nil
            case "false": return []
            default: throw Failure("text stands in quotes, as accept = \"known\"")
            }
        }
        var list: [String] = []
        while true {
            skipBlanks()
            if take("]") { break }
            list.append(try value())
            skipBlanks()
            if take("]") { break }
            guard take(",") else { throw Failure("a list is [\"one\", \"two\"], on one line") }
        }
        guard !list.isEmpty else { throw Failure("the list is empty: leave the line out") }
        return list
    }

    /// A string or a whole number.
    private mutating func value() throws(Failure) -> String {
        if take("'") {
            let text = take { $0 != "'" }
            guard take("'") else { throw Failure("a quote is missing at the end") }
            return text
        }
        guard take("\"") else {
            let text = take { $0.isASCII && ($0.isNumber || $0 == "-") }
            guard Int(text) != nil else { throw Failure("a value is a text in quotes, a whole number, true or false") }
            return text
        }
        var text = ""
        while let next = rest.popFirst() {
            switch next {
            case "\"": return text
            case "\\":
                switch rest.popFirst() {
                case "\"": text.append("\"")
                case "\\": text.append("\\")
                case "t": text.append("\t")
                case "n": text.append("\n")
                default: throw Failure("after \\ stands \", \\, n or t; or use 'single quotes'")
                }
            default: text.append(next)
            }
        }
        throw Failure("a quote is missing at the end")
    }

    private var isAtEnd: Bool { rest.isEmpty || rest.first == "#" }

    private mutating func skipBlanks() { _ = take { $0 == " " || $0 == "\t" } }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func take(while isPart: (Character) -> Bool) -> String {
        let text = rest.prefix(while: isPart)
        rest = rest[text.endIndex...]
        return String(text)
    }
}
