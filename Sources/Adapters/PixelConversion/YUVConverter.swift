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
        _ picture: I420Frame, rect: PixelRect, toBGRA bgra: UnsafeMutableRawPointer, stride: Int
    ) {
        precondition(
            (rect.x | rect.y) & 1 == 0 && rect.clipped(to: picture.size) == rect,
            "\(rect) starts odd or is not inside \(picture.size)")
        let chroma = rect.y / 2 * picture.strideC + rect.x / 2
        I420ToARGB(
            picture.y + rect.y * picture.strideY + rect.x, Int32(picture.strideY),
            picture.u + chroma, Int32(picture.strideC), picture.v + chroma, Int32(picture.strideC),
            bgra.assumingMemoryBound(to: UInt8.self), Int32(stride), Int32(rect.width), Int32(rect.height))
    }

    public func scale(_ picture: I420Frame, to canvas: I420Buffer) {
        I420Scale(
            picture.y, Int32(picture.strideY), picture.u, Int32(picture.strideC), picture.v, Int32(picture.strideC),
            Int32(picture.size.width), Int32(picture.size.height),
            canvas.y, Int32(canvas.strideY), canvas.u, Int32(canvas.strideC), canvas.v, Int32(canvas.strideC),
            Int32(canvas.size.width), Int32(canvas.size.height), kFilterBox)
    }

    public func copy(_ rect: PixelRect, of picture: I420Frame, to canvas: I420Buffer) {
        precondition(picture.size == canvas.size, "\(picture.size) is not \(canvas.size)")
        precondition(
            (rect.x | rect.y | rect.width | rect.height) & 1 == 0 && rect.clipped(to: canvas.size) == rect,
            "\(rect) is odd or not inside \(canvas.size)")
        let from = rect.y / 2 * picture.strideC + rect.x / 2
        let to = rect.y / 2 * canvas.strideC + rect.x / 2
        I420Copy(
            picture.y + rect.y * picture.strideY + rect.x, Int32(picture.strideY),
            picture.u + from, Int32(picture.strideC), picture.v + from, Int32(picture.strideC),
            canvas.y + rect.y * canvas.strideY + rect.x, Int32(canvas.strideY),
            canvas.u + to, Int32(canvas.strideC), canvas.v + to, Int32(canvas.strideC),
            Int32(rect.width), Int32(rect.height))
    }
}
