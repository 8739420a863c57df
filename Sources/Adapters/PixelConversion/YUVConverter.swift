internal import CYUV
public import MediaCore

/// Converts, scales and copies pixels with libyuv: BT.601, limited range. Any thread; only `scale` allocates.
public struct YUVConverter: PixelConverter {
    public init() {}

    public func convert(bgra: UnsafeRawPointer, stride: Int, to rect: PixelRect, of canvas: I420Buffer) {
        precondition(
            (rect.x | rect.y | rect.width | rect.height) & 1 == 0 && rect.clipped(to: canvas.size) == rect,
            "\(rect) is odd or not inside \(canvas.size)")
        let chroma = rect.y / 2 * canvas.strideC + rect.x / 2
        ARGBToI420(
            bgra.assumingMemoryBound(to: UInt8.self), Int32(stride),
            canvas.y + rect.y * canvas.strideY + rect.x, Int32(canvas.strideY),
            canvas.u + chroma, Int32(canvas.strideC), canvas.v + chroma, Int32(canvas.strideC),
            Int32(rect.width), Int32(rect.height))
    }

    public func convert(
        _ frame: I420Frame, rect: PixelRect, toBGRA bgra: UnsafeMutableRawPointer, stride: Int
    ) {
        precondition(
            (rect.x | rect.y) & 1 == 0 && rect.clipped(to: frame.size) == rect,
            "\(rect) starts odd or is not inside \(frame.size)")
        let chroma = rect.y / 2 * frame.strideC + rect.x / 2
        I420ToARGB(
            frame.y + rect.y * frame.strideY + rect.x, Int32(frame.strideY),
            frame.u + chroma, Int32(frame.strideC), frame.v + chroma, Int32(frame.strideC),
            bgra.assumingMemoryBound(to: UInt8.self), Int32(stride), Int32(rect.width), Int32(rect.height))
    }

    public func scale(_ frame: I420Frame, to canvas: I420Buffer) {
        I420Scale(
            frame.y, Int32(frame.strideY), frame.u, Int32(frame.strideC), frame.v, Int32(frame.strideC),
            Int32(frame.size.width), Int32(frame.size.height),
            canvas.y, Int32(canvas.strideY), canvas.u, Int32(canvas.strideC), canvas.v, Int32(canvas.strideC),
            Int32(canvas.size.width), Int32(canvas.size.height), kFilterBox)
    }

    /// Luma by ``BicubicScaler``, as text is read by it. Below half of the size, libyuv averages over areas; what is
    /// not smaller is interpolated.
    public func reduce(_ frame: I420Frame, to canvas: I420Buffer, rows: Range<Int>) {
        let (from, to) = (frame.size, canvas.size)
        guard from.width >= to.width, from.height >= to.height, from.width <= 2 * to.width,
            from.height <= 2 * to.height,
            from.width >= BicubicScaler.minimalWidth
        else { return scale(frame, to: canvas) }
        BicubicScaler(from: (from.width, from.height), to: (to.width, to.height)).scale(
            frame.y, stride: frame.strideY, to: canvas.y, stride: canvas.strideY, rows: rows)
        for (source, target) in [(frame.u, canvas.u), (frame.v, canvas.v)] {
            ScalePlane(
                source, Int32(frame.strideC), Int32(from.width / 2), Int32(from.height / 2), target,
                Int32(canvas.strideC),
                Int32(to.width / 2), Int32(to.height / 2), kFilterBilinear)
        }
    }

    /// Copies a rectangle between frames of the same size; all four numbers even.
    public func copy(_ rect: PixelRect, of frame: I420Frame, to canvas: I420Buffer) {
        precondition(frame.size == canvas.size, "\(frame.size) is not \(canvas.size)")
        precondition(
            (rect.x | rect.y | rect.width | rect.height) & 1 == 0 && rect.clipped(to: canvas.size) == rect,
            "\(rect) is odd or not inside \(canvas.size)")
        let from = rect.y / 2 * frame.strideC + rect.x / 2
        let to = rect.y / 2 * canvas.strideC + rect.x / 2
        I420Copy(
            frame.y + rect.y * frame.strideY + rect.x, Int32(frame.strideY),
            frame.u + from, Int32(frame.strideC), frame.v + from, Int32(frame.strideC),
            canvas.y + rect.y * canvas.strideY + rect.x, Int32(canvas.strideY),
            canvas.u + to, Int32(canvas.strideC), canvas.v + to, Int32(canvas.strideC),
            Int32(rect.width), Int32(rect.height))
    }
}
