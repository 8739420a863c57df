/// Converts pixel formats. BGRA means bytes B, G, R, X in memory (X11's 24-bit depth, libyuv's "ARGB").
public protocol PixelConverter: Sendable {
    /// Converts a rectangle of BGRA pixels and writes it into the canvas.
    /// - Parameters:
    ///   - bgra: the pixel of the rectangle's upper left corner.
    ///   - stride: bytes from one row to the next.
    ///   - rect: the target; all four numbers even, inside the canvas.
    func convert(bgra: UnsafeRawPointer, stride: Int, to rect: PixelRect, of canvas: I420Buffer)

    /// Converts a rectangle of the frame to BGRA (X = 255).
    /// - Parameter rect: `x` and `y` even, inside the frame.
    func convert(_ frame: I420Frame, rect: PixelRect, toBGRA bgra: UnsafeMutableRawPointer, stride: Int)

    /// Scales the whole frame to the size of the canvas.
    func scale(_ frame: I420Frame, to canvas: I420Buffer)

    /// Scales the whole frame to the size of the canvas, where it is smaller, so that small text can still be read.
    /// Takes longer.
    /// - Parameter rows: of the canvas, with even bounds: those that have changed.
    func reduce(_ frame: I420Frame, to canvas: I420Buffer, rows: Range<Int>)
}

extension PixelConverter {
    public func reduce(_ frame: I420Frame, to canvas: I420Buffer, rows: Range<Int>) { scale(frame, to: canvas) }
}
