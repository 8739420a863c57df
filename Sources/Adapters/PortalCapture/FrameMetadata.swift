internal import CPipeWire
internal import FrameDifference
internal import MediaCore

/// Reads the metadata of a buffer. They are in memory that the sender may change at any time, so each value is copied
/// before it is checked.
enum FrameMetadata {
    /// The bytes of one kind; nil if the buffer has none.
    static func bytes(_ buffer: UnsafePointer<spa_buffer>, _ kind: spa_meta_type) -> UnsafeRawBufferPointer? {
        guard let meta = spa_buffer_find_meta(buffer, kind.rawValue), let data = meta.pointee.data else { return nil }
        return UnsafeRawBufferPointer(start: data, count: Int(meta.pointee.size))
    }

    /// The rectangles of a list (spa_meta_region), up to the first that is empty; in pixels of the buffer. They may lie
    /// outside of it, but their edges do not overflow.
    static func forEachRegion(_ bytes: UnsafeRawBufferPointer, _ body: (PixelRect) -> Void) {
        let size = MemoryLayout<spa_meta_region>.size
        for offset in stride(from: 0, through: bytes.count - size, by: size) {
            let region = bytes.loadUnaligned(fromByteOffset: offset, as: spa_meta_region.self).region
            guard region.size.width > 0, region.size.height > 0 else { return }
            body(
                PixelRect(
                    x: Int(region.position.x), y: Int(region.position.y), width: Int(region.size.width),
                    height: Int(region.size.height)))
        }
    }

    /// The first rectangle of a list: the crop. nil if it is empty.
    static func region(_ bytes: UnsafeRawBufferPointer) -> PixelRect? {
        var first: PixelRect?
        forEachRegion(bytes) { first = first ?? $0 }
        return first
    }
}

/// The cursor of a frame (spa_meta_cursor).
struct CursorMetadata {
    struct Bitmap {
        var shape: CursorLayer.Shape
        /// Premultiplied ARGB, row by row.
        var pixels: [UInt32]
    }

    /// The largest side of a cursor's bitmap, in pixels.
    static let largestSide = 1_024

    var isVisible: Bool
    /// The pointer's position, in pixels of the buffer.
    var x: Int
    var y: Int
    /// nil if it is still the one before.
    var bitmap: Bitmap?

    /// - Returns: nil if the metadata contradict themselves.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= MemoryLayout<spa_meta_cursor>.size else { return nil }
        let cursor = bytes.loadUnaligned(as: spa_meta_cursor.self)
        isVisible = cursor.id != 0
        (x, y) = (Int(cursor.position.x), Int(cursor.position.y))
        guard isVisible, cursor.bitmap_offset != 0 else { return }
        let start = Int(cursor.bitmap_offset)
        let header = MemoryLayout<spa_meta_bitmap>.size
        guard start >= MemoryLayout<spa_meta_cursor>.size, start + header <= bytes.count else { return nil }
        let map = bytes.loadUnaligned(fromByteOffset: start, as: spa_meta_bitmap.self)
        // Format 0 is no news; an empty bitmap, or one without pixels, is an invisible cursor.
        guard map.format != 0 else { return }
        let (width, height) = (Int(map.size.width), Int(map.size.height))
        guard map.offset != 0, width > 0, height > 0 else {
            bitmap = Bitmap(shape: CursorLayer.Shape(), pixels: [])
            return
        }
        let (first, stride) = (start + Int(map.offset), Int(map.stride))
        guard width <= Self.largestSide, height <= Self.largestSide, Int(map.offset) >= header, stride >= width * 4,
            first + stride * (height - 1) + width * 4 <= bytes.count,
            let order = Order(map.format)
        else { return nil }
        var pixels: [UInt32] = []
        pixels.reserveCapacity(width * height)
        for row in 0..<height {
            for column in 0..<width {
                pixels.append(
                    order.argb(
                        bytes.loadUnaligned(fromByteOffset: first + row * stride + column * 4, as: UInt32.self)))
            }
        }
        let shape = CursorLayer.Shape(
            width: width, height: height, hotX: Int(cursor.hotspot.x), hotY: Int(cursor.hotspot.y))
        bitmap = Bitmap(shape: shape, pixels: pixels)
    }

    /// The order of a pixel's bytes in memory.
    private enum Order {
        case rgba
        case bgra
        case argb
        case abgr

        init?(_ format: UInt32) {
            switch format {
            case SPA_VIDEO_FORMAT_RGBA.rawValue: self = .rgba
            case SPA_VIDEO_FORMAT_BGRA.rawValue: self = .bgra
            case SPA_VIDEO_FORMAT_ARGB.rawValue: self = .argb
            case SPA_VIDEO_FORMAT_ABGR.rawValue: self = .abgr
            default: return nil
            }
        }

        /// - Parameter pixel: as it is in memory of a little-endian processor.
        func argb(_ pixel: UInt32) -> UInt32 {
            switch self {
            case .bgra: pixel
            case .rgba: pixel & 0xff00_ff00 | pixel >> 16 & 0xff | (pixel & 0xff) << 16
            case .argb: pixel.byteSwapped
            case .abgr: pixel >> 8 | pixel << 24
            }
        }
    }
}
