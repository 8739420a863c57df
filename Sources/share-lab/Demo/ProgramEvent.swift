import FoundationEssentials

/// An event that a program has written with `--json`: a line with an object.
struct ProgramEvent {
    /// A value of a field; lists and objects are read by nobody here.
    private enum Value: Decodable {
        case text(String)
        case number(Double)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else {
                self = .other
            }
        }
    }

    private var fields: [String: Value] = [:]

    /// Without fields.
    init() {}

    /// - Parameter line: of which nothing is read unless it is an object.
    init(_ line: String) { fields = (try? JSONDecoder().decode([String: Value].self, from: Data(line.utf8))) ?? [:] }

    var name: String? { text("event") }

    func text(_ field: String) -> String? { if case .text(let text) = fields[field] { text } else { nil } }
    func number(_ field: String) -> Double? { if case .number(let number) = fields[field] { number } else { nil } }
    func integer(_ field: String) -> Int? { number(field).flatMap { Int(exactly: $0) } }
}
