internal import CPNG
internal import Glibc
public import MediaCore

/// An error of reading or writing an image file. `message` is a sentence for the user.
public struct ImageFileFailure: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable { case cannotWrite, cannotRead, notPNG }
    public var code: Code
    /// The `errno` of the failed call; 0 if no system call failed.
    public var underlying: Int32
    public var message: String
}

/// An image of 8-bit RGBA pixels, in rows without padding.
public struct RGBAImage: Equatable, Sendable {
    public var size: PixelSize
    /// `width * height * 4` bytes.
    public var bytes: [UInt8]

    public init(size: PixelSize, bytes: [UInt8]) {
        precondition(bytes.count == size.width * size.height * 4, "\(bytes.count) bytes for \(size)")
        self.size = size
        self.bytes = bytes
    }

    /// 0xAARRGGBB, row by row.
    public var pixels: [UInt32] {
        stride(from: 0, to: bytes.count, by: 4).map { index in
            [3, 0, 1, 2].reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[index + $1]) }
        }
    }

    /// - Precondition: `x` and `y` are inside the image.
    public subscript(x: Int, y: Int) -> (red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8) {
        let index = (y * size.width + x) * 4
        return (bytes[index], bytes[index + 1], bytes[index + 2], bytes[index + 3])
    }
}

/// Reads and writes PNG files. Calls block on the disk; any thread.
public enum ImageFile {
    /// Writes the frame as 24-bit RGB to a temporary file, syncs it and renames it, so a reader of `path` sees the old
    /// or the new file, never a part.
    /// - Throws: `.cannotWrite`; the file at `path` is then unchanged.
    public static func write(
        _ frame: I420Frame, to path: String, converter: any PixelConverter
    ) throws(ImageFileFailure) {
        let count = frame.size.width * frame.size.height
        var pixels = [UInt8](repeating: 0, count: count * 4)
        pixels.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            converter.convert(
                frame, rect: PixelRect(frame.size), toBGRA: base, stride: frame.size.width * 4)
            // The pixels are packed to three bytes, as a frame has no alpha channel.
            for pixel in 0..<count {
                bytes[pixel * 3] = bytes[pixel * 4]
                bytes[pixel * 3 + 1] = bytes[pixel * 4 + 1]
                bytes[pixel * 3 + 2] = bytes[pixel * 4 + 2]
            }
        }
        let part = "\(path).\(getpid()).part"
        guard let file = fopen(part, "wbxe") else { throw .cannotWrite(path, errno) }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(frame.size.width)
        image.height = png_uint_32(frame.size.height)
        image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_BGR)
        let isWritten = png_image_write_to_stdio(&image, file, 0, pixels, 0, nil) != 0
        var code = isWritten ? 0 : errno
        if isWritten && (fflush(file) != 0 || fsync(fileno(file)) != 0) { code = errno }
        if fclose(file) != 0 && code == 0 { code = errno }
        if code == 0 && isWritten && rename(part, path) == 0 { return }
        if code == 0 { code = errno }
        unlink(part)
        throw .cannotWrite(path, code)
    }

    /// Reads an image of at most 32,768 pixels a side.
    /// - Throws: `.cannotRead`, `.notPNG`.
    public static func read(_ path: String) throws(ImageFileFailure) -> RGBAImage {
        guard let file = fopen(path, "rbe") else {
            let code = errno
            throw ImageFileFailure(code: .cannotRead, underlying: code, message: "cannot read \(path): \(text(code))")
        }
        defer { fclose(file) }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        guard png_image_begin_read_from_stdio(&image, file) != 0 else { throw .notPNG(path, image) }
        image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA)
        let size = PixelSize(width: Int(image.width), height: Int(image.height))
        guard size.width <= 32_768, size.height <= 32_768 else { throw .notPNG(path, image) }
        var bytes = [UInt8](repeating: 0, count: size.width * size.height * 4)
        guard png_image_finish_read(&image, nil, &bytes, 0, nil) != 0 else { throw .notPNG(path, image) }
        return RGBAImage(size: size, bytes: bytes)
    }
}

private func text(_ code: Int32) -> String { String(cString: strerror(code)) }

extension ImageFileFailure {
    fileprivate static func cannotWrite(_ path: String, _ code: Int32) -> Self {
        Self(code: .cannotWrite, underlying: code, message: "cannot write \(path): \(text(code))")
    }

    fileprivate static func notPNG(_ path: String, _ image: png_image) -> Self {
        let why = withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return Self(code: .notPNG, underlying: 0, message: "\(path) is no PNG picture that can be read: \(why)")
    }
}
