internal import CPNG
internal import MediaCore

extension ImageFile {
    /// Reads a PNG file in memory, of anybody.
    /// - Parameter sideLimit: in pixels, each way; a larger image is not decoded.
    /// - Returns: nil if it is none, too large, or damaged.
    public static func read(png file: [UInt8], sideLimit: Int) -> RGBAImage? {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        // libpng reads the memory in both calls.
        return file.withUnsafeBytes { bytes -> RGBAImage? in
            guard let base = bytes.baseAddress,
                png_image_begin_read_from_memory(&image, base, bytes.count) != 0
            else { return nil }
            let size = PixelSize(width: Int(image.width), height: Int(image.height))
            guard (1...sideLimit).contains(size.width), (1...sideLimit).contains(size.height) else { return nil }
            image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA)
            var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
            guard png_image_finish_read(&image, nil, &pixels, 0, nil) != 0 else { return nil }
            return RGBAImage(size: size, bytes: pixels)
        }
    }

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
