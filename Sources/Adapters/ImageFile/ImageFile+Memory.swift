internal import CPNG

extension ImageFile {
    /// An image as a PNG file in memory.
    /// - Parameter pixels: row by row, 0xAARRGGBB, not premultiplied; `width * height` of them.
    /// - Returns: nil if that is none, or without memory.
    public static func png(width: Int, height: Int, pixels: [UInt32]) -> [UInt8]? {
        guard width > 0, height > 0, width <= 32_768, height <= 32_768, pixels.count == width * height else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pixels.count * 4)
        for pixel in pixels {
            for shift in [16, 8, 0, 24] { bytes.append(UInt8(truncatingIfNeeded: pixel >> UInt32(shift))) }
        }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(width)
        image.height = png_uint_32(height)
        image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA)
        var size = 0
        guard png_image_write_to_memory(&image, nil, &size, 0, bytes, 0, nil) != 0, size > 0 else { return nil }
        var file = [UInt8](repeating: 0, count: size)
        guard png_image_write_to_memory(&image, &file, &size, 0, bytes, 0, nil) != 0 else { return nil }
        return Array(file.prefix(size))
    }
}
