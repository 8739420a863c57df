/// The identifier of a service in reverse-DNS notation, such as `com.example.conference`.
public struct ServiceID: Hashable, Sendable, CustomStringConvertible {
    /// Lower case, 3...128 characters of `a-z`, `0-9`, `.` and `-`.
    public let text: String
    public var description: String { text }

    static let length = 3...128
    static let labels = 2...16
    static let labelLength = 1...63

    /// Folds upper case. Returns nil unless there are 2...16 labels of 1...63 characters, of which none begins or ends
    /// with "-".
    public init?(_ text: some StringProtocol) {
        guard Self.length.contains(text.utf8.count) else { return nil }
        let bytes = text.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard Self.labels.contains(labels.count), labels.allSatisfy({ Self.isLabel($0) }) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return labelLength.contains(label.count) && label.first != hyphen && label.last != hyphen
            && label.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == hyphen }
    }
}

extension ServiceID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = ServiceID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an identifier of a service")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
