import FoundationEssentials

/// An event of a server-sent-events stream (HTML standard, section 9.2), with one line of JSON.
package protocol StreamEvent: Sendable {
    var name: String { get }
    var json: String { get }
    /// No event follows on its stream.
    var isFinal: Bool { get }
    /// The event with which streams begin that open later, until another one with its key; nil: none with its key any
    /// more.
    var lasting: Self? { get }
    /// Tells apart the lasting events of a stream.
    var lastingKey: String { get }
    /// The event as one stream gets it, which is another one for each.
    /// - Parameter mark: of that stream.
    func marked(_ mark: String) -> Self?
    /// Returns nil if the event is unknown or malformed; it is then skipped.
    init?(name: String, data: String)
}

extension StreamEvent {
    package var lastingKey: String { name }
    package func marked(_ mark: String) -> Self? { nil }

    /// The text that is kept for streams that open later; nil: none.
    package var kept: (key: String, text: String)? { lasting.map { ($0.lastingKey, $0.serialized) } }

    /// The event as text of `text/event-stream`: its name, and one `data:` line of JSON.
    package var serialized: String { "event: \(Self.line(name))\ndata: \(Self.line(json))\n\n" }

    package static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The events of a text of `text/event-stream`, without those that are unknown or malformed.
    package static func events(in text: [UInt8]) -> [Self] {
        var (parser, events) = (EventStreamParser(), [Self]())
        try? parser.feed(text) { name, data in
            if let event = Self(name: name, data: data) { events.append(event) }
        }
        return events
    }

    private static func line(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 != 10 && $0 != 13 }, as: UTF8.self)
    }
}

/// Parses server-sent events from a byte stream.
///
/// A line over 64 KiB ends the stream with an error. Fields other than `event` and `data` are skipped.
struct EventStreamParser {
    private var line: [UInt8] = []
    private var name = ""
    private var data = ""
    private var wasCarriageReturn = false

    struct TooLong: Error {}

    mutating func feed(_ bytes: some Sequence<UInt8>, _ found: (String, String) -> Void) throws(TooLong) {
        for byte in bytes {
            if byte == 10, wasCarriageReturn {
                wasCarriageReturn = false
                continue
            }
            wasCarriageReturn = byte == 13
            guard byte == 10 || byte == 13 else {
                guard line.count + data.utf8.count < 65_536 else { throw TooLong() }
                line.append(byte)
                continue
            }
            take(found)
        }
    }

    private mutating func take(_ found: (String, String) -> Void) {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else {
            if !data.isEmpty { found(name.isEmpty ? "message" : name, data) }
            name = ""
            data = ""
            return
        }
        let text = String(decoding: line, as: UTF8.self)
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        var value = text[colon...].dropFirst()
        if value.hasPrefix(" ") { value = value.dropFirst() }
        switch text[..<colon] {
        case "event": name = String(value)
        case "data": data += (data.isEmpty ? "" : "\n") + value
        default: break
        }
    }
}
