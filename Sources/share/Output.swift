import Foundation
import PeerRuntime

/// stderr: words for a person. Lines go out whole; a status line below them is redrawn.
enum Words {
    private static let status = Monitor<String>("")
    static let isTerminal = isatty(STDERR_FILENO) == 1

    static func say(_ line: String) {
        status.with { status in
            write(STDERR_FILENO, (status.isEmpty ? "" : "\r\u{1B}[K") + line + "\n" + status)
        }
    }

    /// Shows a line that is replaced by the next; an empty one takes it away. Only in a terminal.
    static func showStatus(_ line: String) {
        guard isTerminal else { return }
        status.with { status in
            guard line != status else { return }
            write(STDERR_FILENO, "\r\u{1B}[K" + line)
            status = line
        }
    }

    /// Asks without a line's end.
    static func ask(_ question: String) {
        status.with { status in
            write(STDERR_FILENO, "\r\u{1B}[K" + question)
            status = ""
        }
    }
}

/// stdout: data for a program. The link alone, or one JSON object a line.
struct DataOutput: Sendable {
    let isJSON: Bool

    func line(_ text: String) { write(STDOUT_FILENO, text + "\n") }

    func event(_ name: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        guard isJSON else { return }
        var text = "{\"event\":\(JSONValue.string(name).text)"
        for (key, value) in fields { text += ",\(JSONValue.string(key).text):\(value.text)" }
        line(text + "}")
    }
}

/// As much of JSON as the events need; keys keep their order.
enum JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, Sendable {
    case string(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
    case null

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .integer(value) }

    init(milliseconds value: Double?) {
        self = value.map { .number(($0 * 10).rounded() / 10) } ?? .null
    }

    var text: String {
        switch self {
        case .string(let value):
            var text = "\""
            for scalar in value.unicodeScalars {
                switch scalar {
                case "\"": text += "\\\""
                case "\\": text += "\\\\"
                case _ where scalar.value < 32:
                    text += "\\u00" + (scalar.value < 16 ? "0" : "") + String(Int(scalar.value), radix: 16)
                default: text.unicodeScalars.append(scalar)
                }
            }
            return text + "\""
        case .integer(let value): return String(value)
        case .number(let value): return value.isFinite ? String(value) : "null"
        case .boolean(let value): return value ? "true" : "false"
        case .null: return "null"
        }
    }
}

/// Writes all of it or gives up when nobody reads.
private func write(_ descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
        guard let base = bytes.baseAddress else { return }
        var done = 0
        while done < bytes.count {
            let written = Foundation.write(descriptor, UnsafeRawPointer(base + done), bytes.count - done)
            if written > 0 { done += written } else if errno != EINTR { return }
        }
    }
}
