import Glibc
import HTTP
package import PeerConnection
import Signaling
import Synchronization

/// Writes data for programs to stdout: the link alone, or one JSON object a line.
package struct DataOutput: Sendable {
    package let isJSON: Bool
    /// Events that come before the link; nil: nothing is held back.
    private let early: EarlyEvents?

    /// - Parameter beginsWithLink: the link is the first event: `eventAfterLink` holds back what comes before.
    package init(isJSON: Bool, beginsWithLink: Bool = false) {
        self.isJSON = isJSON
        early = beginsWithLink ? EarlyEvents() : nil
    }

    /// Writes an event, but none before the link, and none out of order.
    package func eventAfterLink(_ name: String, _ fields: [(String, JSONValue)]) {
        guard let early else {
            event(name, fields)
            return
        }
        early.held.withLock { held in
            if held == nil { event(name, fields) } else { held?.append((name, fields)) }
        }
    }

    /// Writes what was held back after what `write` writes, unless that fails.
    private func release(after write: () -> Bool) -> Bool {
        guard let early else { return write() }
        return early.held.withLock { held in
            guard write() else { return false }
            for (name, fields) in held ?? [] { event(name, fields) }
            held = nil
            return true
        }
    }

    /// - Returns: false if the line could not be written, which was said then.
    @discardableResult
    package func line(_ text: String) -> Bool {
        guard let number = ErrorOutput.writeData(text + "\n") else { return true }
        StandardStreams.noteLoss(number)
        return false
    }

    /// Writes the link, for which a person or a program waits: alone, or as the event `link`.
    /// - Throws: if it cannot be written, as nobody could join.
    package func link(_ link: String, _ fields: [(String, JSONValue)] = []) throws(CommandError) {
        let isWritten = release {
            isJSON ? event("link", [("link", .string(link))] + fields) : line(link)
        }
        guard isWritten else {
            throw CommandError(
                sentence: "the link is lost, as it cannot be written to stdout",
                remedy: "Give stdout a place: a terminal, a file or a pipe that is read.", status: .cannotWrite)
        }
    }

    /// Writes the last event. It has the candidates and servers if no network path was found.
    package func ended(_ reason: EndReason) {
        _ = release { true }
        var fields: [(String, JSONValue)] = [
            ("reason", .string(reason.sentence)), ("code", .string(reason.code.rawValue)),
        ]
        if !reason.remedy.isEmpty { fields.append(("remedy", .string(reason.remedy))) }
        if let report = reason.connectivity {
            func list(_ places: [ConnectivityReport.Candidate]) -> JSONValue {
                .list(
                    places.map {
                        .object(["kind": .string($0.kind), "address": .string($0.address), "port": .integer($0.port)])
                    })
            }
            fields += [
                ("ownCandidates", list(report.localCandidates)), ("otherCandidates", list(report.remoteCandidates)),
                ("refusedCandidates", .integer(report.refused)),
                (
                    "servers",
                    .list(
                        report.servers.map {
                            .object(["url": .string($0.url), "finding": $0.finding.map { .string($0.words) } ?? .null])
                        })
                ),
            ]
        }
        event("ended", fields)
    }

    @discardableResult
    package func event(_ name: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) -> Bool {
        event(name, fields.map { ($0, $1) })
    }

    /// - Returns: false if the event could not be written.
    @discardableResult
    package func event(_ name: String, _ fields: [(String, JSONValue)]) -> Bool {
        guard isJSON else { return true }
        var text = "{\"event\":\(JSONValue.string(name).text)"
        for (key, value) in fields { text += ",\(JSONValue.string(key).text):\(value.text)" }
        return line(text + "}")
    }
}

/// Events that wait for the link, in their order; nil once it was written. Copies of an output share them.
private final class EarlyEvents: Sendable {
    let held = Mutex<[(name: String, fields: [(String, JSONValue)])]?>([])
}

/// The JSON values that events need. Objects keep the order of their keys.
package indirect enum JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, Sendable {
    case string(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
    case list([JSONValue])
    case object(KeyValuePairs<String, JSONValue>)
    /// An object with names that are known at run time only; written in their order.
    case dictionary([String: JSONValue])
    case null

    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }

    package init(milliseconds value: Double?) {
        self = value.map { .number(($0 * 10).rounded() / 10) } ?? .null
    }

    package var text: String {
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
        case .list(let values): return "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let fields):
            return "{" + fields.map { "\(JSONValue.string($0).text):\($1.text)" }.joined(separator: ",") + "}"
        case .dictionary(let fields):
            let sorted = fields.sorted { $0.key < $1.key }
            return "{" + sorted.map { "\(JSONValue.string($0.key).text):\($0.value.text)" }.joined(separator: ",") + "}"
        case .null: return "null"
        }
    }
}

/// Writes all of `text`; gives up if the descriptor cannot be written.
/// - Returns: why it cannot, as in `errno`; nil if all was written.
@discardableResult
package func write(_ descriptor: Int32, _ text: String) -> Int32? {
    var text = text
    return text.withUTF8 { bytes in
        guard let base = bytes.baseAddress else { return nil }
        var done = 0
        while done < bytes.count {
            let written = Glibc.write(descriptor, UnsafeRawPointer(base + done), bytes.count - done)
            if written > 0 { done += written } else if errno != EINTR { return written == 0 ? EIO : errno }
        }
        return nil
    }
}
