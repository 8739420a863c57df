/// One line `x=...` of a description or of a trickle fragment.
struct SDPLine {
    /// The letter before the equals sign.
    let type: UInt8
    let value: Substring

    /// Splits a text, within ``SDPLimits``. Empty lines are skipped.
    static func lines(of text: String) throws(SDPError) -> [SDPLine] {
        guard text.utf8.count <= SDPLimits.bytes else { throw .tooLarge }
        let rows = text.text.fields(separatedBy: UInt8(ascii: "\n"), limit: SDPLimits.lines)
        guard rows.count <= SDPLimits.lines else { throw .tooLarge }
        var lines: [SDPLine] = []
        lines.reserveCapacity(rows.count)
        for row in rows {
            var bytes = row.utf8[...]
            if bytes.last == UInt8(ascii: "\r") { bytes = bytes.dropLast() }
            guard let type = bytes.first else { continue }
            let rest = bytes.dropFirst()
            guard rest.first == UInt8(ascii: "="), bytes.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 })
            else { throw .notSDP }
            lines.append(SDPLine(type: type, value: Substring(rest.dropFirst())))
        }
        return lines
    }

    var attribute: SDPAttribute {
        let (name, value) = value.cut(at: UInt8(ascii: ":"))
        return SDPAttribute(String(name), value.map { String($0) })
    }
}
