internal import CPipeWire
internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// A camera of PipeWire. PipeWire's own thread only wakes the one that reads, through `descriptor`.
final class PipeWireCamera: CameraStream {
    /// The state of PipeWire's callbacks, which run in `receive`. It outlives the stream, which calls it while it is
    /// closed.
    private final class State {
        var format: (CameraImage.Format, PixelSize)?
        var failure: String?
        var memories: [UnsafeMutablePointer<pw_buffer>: LentMemory] = [:]

        static func of(_ owner: UnsafeMutableRawPointer?) -> State? {
            owner.map { Unmanaged<State>.fromOpaque($0).takeUnretainedValue() }
        }

        func add(_ buffer: UnsafeMutablePointer<pw_buffer>) {
            guard let inner = buffer.pointee.buffer, inner.pointee.n_datas > 0, let data = inner.pointee.datas else {
                return
            }
            let isDMABuf = data[0].type == SPA_DATA_DmaBuf.rawValue
            guard isDMABuf || data[0].type == SPA_DATA_MemFd.rawValue, let file = Int32(exactly: data[0].fd),
                let memory = LentMemory(
                    isDMABuf ? .dmaBuf : .file, descriptor: file, offset: Int(data[0].mapoffset),
                    byteCount: Int(data[0].maxsize))
            else {
                failure = failure ?? "its pictures are in memory that cannot be mapped"
                return
            }
            memories[buffer] = memory
        }
    }

    private let state = State()
    private var stream: UnsafeMutablePointer<cpw_stream>?

    /// - Parameters:
    ///   - serial: of the camera's node.
    ///   - size: the camera is asked for a size of about that, at 30 frames a second.
    /// - Throws: if PipeWire does not run.
    init(_ serial: String, socket: String?, about size: PixelSize) throws(SourceFailure) {
        PipeWireConnection.initialize
        var handler = cpw_handler(
            owner: Unmanaged.passUnretained(state).toOpaque(),
            format: { owner, format, width, height, _ in
                guard let state = State.of(owner) else { return }
                state.format = CameraImage.Format(spa: format).map {
                    ($0, PixelSize(width: Int(width), height: Int(height)))
                }
            },
            add: { owner, buffer in State.of(owner)?.add(buffer) },
            remove: { owner, buffer in State.of(owner)?.memories[buffer] = nil },
            started: { _ in },
            failed: { owner, why, isConnection in
                guard let state = State.of(owner) else { return }
                let words = why.map { UntrustedText.clean(String(cString: $0), fallback: "") } ?? ""
                state.failure =
                    state.failure
                    ?? (isConnection ? "PipeWire has ended" : words.isEmpty ? "PipeWire has disconnected it" : words)
            })
        guard let descriptor = PipeWireConnection.open(socket) else {
            throw SourceFailure(.unsupported, "PipeWire does not run")
        }
        guard
            let stream = cpw_open_camera(
                descriptor, serial, UInt32(size.width), UInt32(size.height), &handler)
        else { throw SourceFailure(.unsupported, "PipeWire cannot be used (errno \(errno))") }
        self.stream = stream
    }

    deinit { close() }

    var descriptor: Int32 { stream.map { cpw_descriptor($0) } ?? -1 }

    var hasFormat: Bool { state.format != nil }

    var failure: String? { state.failure }

    func receive(_ body: (CameraImage) -> Void) {
        guard let stream else { return }
        cpw_enter(stream)
        defer { cpw_leave(stream) }
        cpw_iterate(stream)
        var newest: UnsafeMutablePointer<pw_buffer>?
        guard let pipe = stream.pointee.stream else { return }
        while let buffer = pw_stream_dequeue_buffer(pipe) {
            if let newest { pw_stream_queue_buffer(pipe, newest) }
            newest = buffer
        }
        guard let newest else { return }
        defer { pw_stream_queue_buffer(pipe, newest) }
        var (offset, size, stride): (UInt32, UInt32, Int32) = (0, 0, 0)
        guard let inner = newest.pointee.buffer, let memory = state.memories[newest],
            let (format, sides) = state.format,
            cpw_camera_chunk(inner, &offset, &size, &stride), stride >= 0, Int(offset) < memory.bytes.count
        else { return }
        let count = min(Int(size), memory.bytes.count - Int(offset))
        guard let layout = CameraImage.Layout(format, sides, stride: Int(stride), count: count) else { return }
        let part = Int(offset)..<Int(offset) + count
        defer { memory.unload() }
        guard memory.load(part) else { return }
        body(CameraImage(layout, UnsafeRawBufferPointer(rebasing: memory.bytes[part])))
    }

    func close() {
        guard let stream else { return }
        self.stream = nil
        cpw_close(stream)
    }
}

extension CameraImage.Format {
    /// - Returns: nil for a format that is not asked for.
    fileprivate init?(spa format: UInt32) {
        switch format {
        case SPA_VIDEO_FORMAT_YUY2.rawValue: self = .yuyv
        case SPA_VIDEO_FORMAT_UYVY.rawValue: self = .uyvy
        case SPA_VIDEO_FORMAT_NV12.rawValue: self = .nv12
        case SPA_VIDEO_FORMAT_I420.rawValue: self = .i420
        case SPA_VIDEO_FORMAT_BGRx.rawValue, SPA_VIDEO_FORMAT_BGRA.rawValue: self = .bgrx
        case SPA_VIDEO_FORMAT_RGBx.rawValue, SPA_VIDEO_FORMAT_RGBA.rawValue: self = .rgbx
        case SPA_VIDEO_FORMAT_RGB.rawValue: self = .rgb
        case SPA_VIDEO_FORMAT_BGR.rawValue: self = .bgr
        case SPA_VIDEO_FORMAT_GRAY8.rawValue: self = .gray
        case SPA_VIDEO_FORMAT_ENCODED.rawValue: self = .jpeg
        default: return nil
        }
    }
}
