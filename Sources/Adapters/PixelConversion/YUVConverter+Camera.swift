internal import CYUV
public import MediaCore

extension YUVConverter: CameraConverter {
    public func convert(_ image: CameraImage, to canvas: I420Buffer) -> Bool {
        let layout = image.layout
        precondition(canvas.size == layout.size.even, "\(canvas.size) is not \(layout.size)")
        guard let base = image.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        let (width, height) = (Int32(canvas.size.width), Int32(canvas.size.height))
        let (y, u, v) = (canvas.y, canvas.u, canvas.v)
        let (stride, strideY, strideC) = (Int32(layout.stride), Int32(canvas.strideY), Int32(canvas.strideC))
        let chroma = Int32(layout.chromaStride)
        let code =
            switch layout.format {
            case .yuyv: YUY2ToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .uyvy: UYVYToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .nv12:
                NV12ToI420(
                    base, stride, base + layout.secondPlane, chroma, y, strideY, u, strideC, v, strideC, width, height)
            case .i420:
                I420Copy(
                    base, stride, base + layout.secondPlane, chroma, base + layout.thirdPlane, chroma, y, strideY, u,
                    strideC, v, strideC, width, height)
            case .bgrx: ARGBToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .rgbx: ABGRToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .rgb: RAWToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .bgr: RGB24ToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .gray: I400ToI420(base, stride, y, strideY, u, strideC, v, strideC, width, height)
            case .jpeg:
                MJPGToI420(
                    base, image.bytes.count, y, strideY, u, strideC, v, strideC, Int32(layout.size.width),
                    Int32(layout.size.height), width, height)
            }
        if code == 0, layout.format == .jpeg { limitRange(of: canvas) }
        return code == 0
    }

    /// The samples of a JPEG have the full range.
    private func limitRange(of canvas: I420Buffer) {
        for row in 0..<canvas.size.height {
            let line = canvas.y + row * canvas.strideY
            for column in 0..<canvas.size.width {
                line[column] = UInt8(truncatingIfNeeded: (UInt32(line[column]) &* 219 &+ 127) / 255 &+ 16)
            }
        }
        for row in 0..<canvas.size.height / 2 {
            for plane in [canvas.u, canvas.v] {
                let line = plane + row * canvas.strideC
                for column in 0..<canvas.size.width / 2 {
                    line[column] = UInt8(truncatingIfNeeded: (UInt32(line[column]) &* 224 &+ 127) / 255 &+ 16)
                }
            }
        }
    }

    public func mirror(_ frame: I420Frame, to canvas: I420Buffer) {
        precondition(frame.size == canvas.size, "\(frame.size) is not \(canvas.size)")
        I420Mirror(
            frame.y, Int32(frame.strideY), frame.u, Int32(frame.strideC), frame.v, Int32(frame.strideC),
            canvas.y, Int32(canvas.strideY), canvas.u, Int32(canvas.strideC), canvas.v, Int32(canvas.strideC),
            Int32(frame.size.width), Int32(frame.size.height))
    }
}
