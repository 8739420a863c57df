import MediaCore

/// A reference converter: the BT.601 formula for each pixel, and nearest-neighbour scaling.
struct PlainConverter: PixelConverter {
    func convert(bgra: UnsafeRawPointer, stride: Int, to rect: PixelRect, of canvas: I420Buffer) {}

    func convert(_ frame: I420Frame, rect: PixelRect, toBGRA bgra: UnsafeMutableRawPointer, stride: Int) {
        for row in 0..<rect.height {
            for column in 0..<rect.width {
                let x = rect.x + column
                let y = rect.y + row
                let luma = 298 * (Int(frame.y[y * frame.strideY + x]) - 16)
                let u = Int(frame.u[y / 2 * frame.strideC + x / 2]) - 128
                let v = Int(frame.v[y / 2 * frame.strideC + x / 2]) - 128
                let pixel = bgra + row * stride + column * 4
                let colours = [luma + 516 * u, luma - 100 * u - 208 * v, luma + 409 * v, 255 << 8]
                for (index, colour) in colours.enumerated() {
                    pixel.storeBytes(of: UInt8(clamping: (colour + 128) >> 8), toByteOffset: index, as: UInt8.self)
                }
            }
        }
    }

    func scale(_ frame: I420Frame, to canvas: I420Buffer) {
        let size = canvas.size
        for y in 0..<size.height {
            let from = y * frame.size.height / size.height
            for x in 0..<size.width {
                canvas.y[y * canvas.strideY + x] =
                    frame.y[
                        from * frame.strideY + x * frame.size.width / size.width]
            }
        }
        for y in 0..<(size.height / 2) {
            let from = y * frame.size.height / size.height
            for x in 0..<(size.width / 2) {
                let at = from * frame.strideC + x * frame.size.width / size.width
                canvas.u[y * canvas.strideC + x] = frame.u[at]
                canvas.v[y * canvas.strideC + x] = frame.v[at]
            }
        }
    }
}

extension I420Buffer {
    func fill(_ rect: PixelRect, y luma: UInt8, u blue: UInt8, v red: UInt8) {
        for row in rect.y..<rect.maxY { (y + row * strideY + rect.x).update(repeating: luma, count: rect.width) }
        for row in (rect.y / 2)..<(rect.maxY / 2) {
            (u + row * strideC + rect.x / 2).update(repeating: blue, count: rect.width / 2)
            (v + row * strideC + rect.x / 2).update(repeating: red, count: rect.width / 2)
        }
    }
}
