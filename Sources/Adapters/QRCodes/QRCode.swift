import CQREncode

/// A QR code (ISO/IEC 18004) of a text, made by libqrencode: byte mode, error correction L, the smallest version that has room.
public struct QRCode: Sendable {
    /// The number of modules of a side, without the quiet zone.
    public let size: Int
    /// Row by row; true is dark.
    private let modules: [Bool]

    /// - Returns: nil if the text is empty or too long: 2,953 bytes at most.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let code = QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_L) else { return nil }
        defer { QRcode_free(code) }
        let size = Int(code.pointee.width)
        self.size = size
        // The lowest bit is the module.
        modules = (0..<size * size).map { code.pointee.data[$0] & 1 == 1 }
    }

    public subscript(x: Int, y: Int) -> Bool { modules[y * size + x] }

    /// For a terminal: two modules a character, with a quiet zone of two modules, dark on light.
    public var lines: [String] {
        func isDark(_ x: Int, _ y: Int) -> Bool { x >= 0 && y >= 0 && x < size && y < size && self[x, y] }
        return stride(from: -2, to: size + 2, by: 2).map { y in
            let text = (-2..<size + 2).map { x -> Character in
                switch (isDark(x, y), isDark(x, y + 1)) {
                case (true, true): "\u{2588}"
                case (true, false): "\u{2580}"
                case (false, true): "\u{2584}"
                case (false, false): " "
                }
            }
            return String(text)
        }
    }
}
