/// Forms of text for tables, files and paths, without Foundation: its data for all languages would be a third of the
/// program.
extension StringProtocol {
    /// Without whitespace and line breaks at both ends.
    package var trimmed: String {
        let start = drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }

    /// With spaces at the end, at least this many characters long.
    package func padded(to length: Int) -> String { self + String(repeating: " ", count: Swift.max(0, length - count)) }

    /// With another character in front, at least this many characters long.
    package func padded(to length: Int, before filler: Character) -> String {
        String(repeating: filler, count: Swift.max(0, length - count)) + self
    }

    /// With %XX as the byte that it names; nil if that is no UTF-8, or a % has no two digits.
    package var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }),
                let low = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue })
            else { return nil }
            bytes.append(UInt8(high * 16 + low))
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The name of a file without its folders; empty for the root.
    package var fileName: String { split(separator: "/").last.map { String($0) } ?? "" }

    /// What follows the last full stop of the file's name; empty if there is none, or if nothing else precedes it.
    package var fileExtension: String {
        let name = fileName
        guard let stop = name.lastIndex(of: "."), stop != name.startIndex else { return "" }
        return String(name[name.index(after: stop)...])
    }

    /// The path without the extension and its full stop.
    package var withoutFileExtension: String {
        let ending = fileExtension
        return ending.isEmpty ? String(self) : String(dropLast(ending.count + 1))
    }
}

extension Double {
    /// In decimal notation with a full stop, rounded; halves away from zero.
    /// - Parameter decimals: 0 to 6.
    package func text(decimals: Int) -> String {
        var scale = 1
        for _ in 0..<decimals { scale *= 10 }
        guard let scaled = Int(exactly: (magnitude * Double(scale)).rounded()) else { return description }
        let whole = (self < 0 && scaled > 0 ? "-" : "") + String(scaled / scale)
        return decimals == 0 ? whole : whole + "." + String(scaled % scale).padded(to: decimals, before: "0")
    }
}
