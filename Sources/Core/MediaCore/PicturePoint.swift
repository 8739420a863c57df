/// A place in the picture of a broadcast, whatever its size.
public struct PicturePoint: Sendable, Equatable {
    /// 0: the left edge; 65,535: the right one.
    public var x: UInt16
    /// 0: the upper edge; 65,535: the lower one.
    public var y: UInt16

    public init(x: UInt16, y: UInt16) { (self.x, self.y) = (x, y) }

    /// - Parameters:
    ///   - horizontal: 0 to 1, from the left edge; other values are taken to the nearer edge.
    ///   - vertical: 0 to 1, from the upper edge.
    public init(horizontal: Double, vertical: Double) {
        func place(_ part: Double) -> UInt16 { part.isNaN ? 0 : UInt16(min(max(part, 0), 1) * 65_535) }
        (x, y) = (place(horizontal), place(vertical))
    }

    /// The pixel of a picture.
    /// - Parameters: the picture's size, in pixels, over 0.
    public func pixel(width: Int, height: Int) -> (x: Int, y: Int) {
        (Int(x) * (width - 1) / 65_535, Int(y) * (height - 1) / 65_535)
    }
}

/// As JSON: `[x,y]`.
extension PicturePoint: Codable {
    public init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        x = try values.decode(UInt16.self)
        y = try values.decode(UInt16.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        try values.encode(x)
        try values.encode(y)
    }
}
