/// A motion vector in whole pixels of luma: what is at p is predicted from what was at p + (x, y).
public struct VP8MotionVector: Hashable, Sendable {
    public var x: Int16
    public var y: Int16

    public init(x: Int, y: Int) {
        self.x = Int16(clamping: x)
        self.y = Int16(clamping: y)
    }

    public static let zero = VP8MotionVector(x: 0, y: 0)
}
