internal import CPipeWire
internal import MediaCore

/// The conversion of PipeWire's pixels to those that the canvas takes.
enum PixelOrder {
    /// Copies pixels with the first and the third byte exchanged.
    static func exchange(_ source: UnsafeRawPointer, to target: UnsafeMutablePointer<UInt32>, count: Int) {
        cpw_swap(target, source.assumingMemoryBound(to: UInt32.self), count)
    }

    /// Copies a picture and undoes its transformation.
    static func undo(_ layout: FrameLayout, _ source: UnsafeRawPointer, to target: UnsafeMutablePointer<UInt32>) {
        cpw_upright(
            target, source, layout.stride, Int32(layout.area.width), Int32(layout.area.height), layout.transform)
    }
}
