import CQREncode

/// A QR code (ISO/IEC 18004) of a text, made by libqrencode: byte mode, error correction L, the smallest version that
/// has room.
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

    /// Of the quiet zone, too, which is light.
    public subscript(x: Int, y: Int) -> Bool {
        x >= 0 && y >= 0 && x < size && y < size && modules[y * size + x]
    }

    /// For a terminal: two modules a character, one above the other, with a quiet zone of two modules.
    /// - Parameter character: for an upper and a lower module; true is dark.
    public func lines(_ character: (_ upper: Bool, _ lower: Bool) -> String) -> [String] {
        stride(from: -2, to: size + 2, by: 2).map { y in
            (-2..<size + 2).map { x in character(self[x, y], self[x, y + 1]) }.joined()
        }
    }

    /// Dark on light, in block characters.
    public var lines: [String] {
        lines { upper, lower in
            switch (upper, lower) {
            case (true, true): "\u{2588}"
            case (true, false): "\u{2580}"
            case (false, true): "\u{2584}"
            case (false, false): " "
            }
        }
    }
}
