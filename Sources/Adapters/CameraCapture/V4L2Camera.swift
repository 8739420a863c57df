internal import CV4L2
internal import Glibc
internal import MediaCore

/// A camera of the kernel, for systems without PipeWire.
final class V4L2Camera: CameraStream {
    private var camera: UnsafeMutablePointer<cv4l_camera>?
    private let format: CameraImage.Format
    private(set) var failure: String?
    var hasFormat: Bool { true }

    /// The accepted formats, best first.
    private static let formats: [(UInt32, CameraImage.Format)] = [
        (fourCC("YU12"), .i420), (fourCC("NV12"), .nv12), (fourCC("YUYV"), .yuyv), (fourCC("UYVY"), .uyvy),
        (fourCC("XR24"), .bgrx), (fourCC("RGB3"), .rgb), (fourCC("BGR3"), .bgr), (fourCC("MJPG"), .jpeg),
        (fourCC("JPEG"), .jpeg), (fourCC("GREY"), .gray),
    ]

    /// V4L2_PIX_FMT_... of videodev2.h: four characters, the first in the lowest byte.
    static func fourCC(_ text: StaticString) -> UInt32 {
        text.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// - Parameter size: the camera is asked for a size of about that, at 30 frames a second.
    init(_ path: String, about size: PixelSize) throws(SourceFailure) {
        let camera = Self.formats.map(\.0).withUnsafeBufferPointer { formats in
            formats.baseAddress.flatMap {
                cv4l_start(path, $0, UInt32(formats.count), UInt32(size.width), UInt32(size.height))
            }
        }
        guard let camera else { throw Self.failure(errno) }
        self.camera = camera
        guard let format = Self.formats.first(where: { $0.0 == camera.pointee.format })?.1 else {
            cv4l_close(camera)
            throw Self.failure(ENOTSUP)
        }
        self.format = format
    }

    deinit { close() }

    /// The end of a sentence about a camera.
    static func failure(_ code: Int32) -> SourceFailure {
        switch code {
        case EBUSY: SourceFailure(.unsupported, "another program uses it")
        case EACCES, EPERM:
            SourceFailure(.notPermitted, "you may not use it: add your user to the group video and log in again")
        case ENOENT, ENODEV, ENXIO, EIO: SourceFailure(.deviceGone, "it was unplugged")
        case ENOTSUP: SourceFailure(.unsupported, "it has no format that share takes (YUV, RGB or MJPEG)")
        default: SourceFailure(.unsupported, "the kernel refuses it (errno \(code))")
        }
    }

    var descriptor: Int32 { camera?.pointee.file ?? -1 }

    func receive(_ body: (CameraImage) -> Void) {
        guard let camera, failure == nil else { return }
        var newest: (index: UInt32, used: Int)?
        while true {
            var used = 0
            let index = cv4l_take(camera, &used)
            if index == -2 { failure = Self.failure(errno).message }
            guard index >= 0 else { break }
            if let newest { _ = cv4l_queue(camera, newest.index) }
            newest = (UInt32(index), used)
        }
        guard let (index, used) = newest else { return }
        defer { _ = cv4l_queue(camera, index) }
        let values = camera.pointee
        let count = min(used, cv4l_length_of(camera, index))
        guard let start = cv4l_start_of(camera, index),
            let layout = CameraImage.Layout(
                format, PixelSize(width: Int(values.width), height: Int(values.height)),
                stride: Int(values.stride), count: count)
        else { return }
        body(CameraImage(layout, UnsafeRawBufferPointer(start: start, count: count)))
    }

    func close() {
        guard let camera else { return }
        self.camera = nil
        cv4l_close(camera)
    }

    // MARK: The list

    /// The kernel's cameras, in the order of their numbers. Devices that capture no video, or that this user may not
    /// open, are left out; a camera that another program uses is listed.
    /// - Parameter folder: that has video0, video1...
    static func devices(in folder: String) -> [CameraDevice] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var numbers: [Int] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("video"), let number = Int(name.dropFirst(5)), number >= 0 else { continue }
            numbers.append(number)
        }
        return numbers.sorted().compactMap { number in
            let path = "\(folder)/video\(number)"
            var bytes = [CChar](repeating: 0, count: 64)
            let file = cv4l_open_device(path, &bytes, bytes.count)
            guard file >= 0 else { return nil }
            Glibc.close(file)
            let text = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return CameraDevice(
                number: 0, name: UntrustedText.clean(text, limit: 80, fallback: "camera"), id: path, place: .path(path),
                path: path)
        }
    }
}
