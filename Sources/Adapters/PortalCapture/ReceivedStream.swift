internal import CPipeWire
internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// A PipeWire video stream that is received. Frames lie in its buffers, of which the newest is held.
///
/// One thread at a time. PipeWire's own thread only wakes it, through `descriptor`.
final class ReceivedStream {
    struct Failure: Equatable {
        var why: String
        /// The whole connection is lost, as PipeWire has ended.
        var isConnection: Bool
    }

    /// A frame in the buffer that is held.
    struct Frame {
        var layout: FrameLayout
        var memory: FrameMemory
        var arrived: MediaInstant
    }

    /// The state of PipeWire's callbacks, which run in `iterate`. It outlives the stream, which calls it while it is
    /// closed.
    private final class State {
        var format: StreamFormat?
        var isFormatNew = false
        var hasStarted = false
        var failure: Failure?
        var memories: [UnsafeMutablePointer<pw_buffer>: FrameMemory] = [:]
        var held: (buffer: UnsafeMutablePointer<pw_buffer>, frame: Frame)?

        static func of(_ owner: UnsafeMutableRawPointer?) -> State? {
            owner.map { Unmanaged<State>.fromOpaque($0).takeUnretainedValue() }
        }

        func add(_ buffer: UnsafeMutablePointer<pw_buffer>) {
            guard let inner = buffer.pointee.buffer, inner.pointee.n_datas > 0, let data = inner.pointee.datas else {
                return
            }
            guard let format else { return }
            if let memory = FrameMemory(data[0], format) {
                memories[buffer] = memory
            } else if data[0].type == SPA_DATA_DmaBuf.rawValue {
                // The sender has had the choice of ordinary memory.
                failure =
                    failure
                    ?? Failure(why: "its frames are in graphics memory that cannot be mapped", isConnection: false)
            }
        }

        func remove(_ buffer: UnsafeMutablePointer<pw_buffer>) {
            if held?.buffer == buffer { held = nil }
            memories[buffer] = nil
        }
    }

    private let state = State()
    /// When a sender that has begun has to have sent a frame. PipeWire may lose the first frame after a start or of a
    /// new format, which is sent while the other side gets its buffers, and a screen that does not change is not sent
    /// again.
    private(set) var frameDue: MediaInstant?
    private static let framePatience = MediaDuration.milliseconds(400)
    /// How often the sender was made to begin again since the last frame or format. A sender that has nothing to send
    /// is left alone.
    private var restarts = 0
    private static let mostRestarts = 4
    private var stream: UnsafeMutablePointer<cpw_stream>?

    /// - Parameter descriptor: a connection to PipeWire; closed in any case.
    /// - Throws: an errno if the connection cannot be used.
    init(descriptor: Int32, node: UInt32) throws(SourceFailure) {
        Self.initialize
        var handler = cpw_handler(
            owner: Unmanaged.passUnretained(state).toOpaque(),
            format: { owner, format, width, height, _ in
                guard let state = State.of(owner) else { return }
                let isBGR = format == SPA_VIDEO_FORMAT_BGRx.rawValue || format == SPA_VIDEO_FORMAT_BGRA.rawValue
                state.format = StreamFormat(
                    size: PixelSize(width: Int(width), height: Int(height)), order: isBGR ? .bgrx : .rgbx)
                state.isFormatNew = true
            },
            add: { owner, buffer in State.of(owner)?.add(buffer) },
            remove: { owner, buffer in State.of(owner)?.remove(buffer) },
            started: { owner in State.of(owner)?.hasStarted = true },
            failed: { owner, why, isConnection in
                guard let state = State.of(owner) else { return }
                let words = why.map { UntrustedText.clean(String(cString: $0), fallback: "no reason") } ?? "it ended"
                if state.failure == nil || isConnection {
                    state.failure = Failure(why: words, isConnection: isConnection)
                }
            })
        guard let stream = cpw_open(descriptor, node, &handler) else {
            throw SourceFailure(
                .unsupported, "PipeWire cannot be used (errno \(errno))",
                remedy: "Start the services pipewire and wireplumber of your user.")
        }
        self.stream = stream
    }

    deinit { close() }

    private static let initialize: Void = cpw_init()

    /// Readable when `iterate` has something to do.
    var descriptor: Int32 { stream.map { cpw_descriptor($0) } ?? -1 }

    var failure: Failure? { state.failure }
    /// nil until it is negotiated.
    var format: StreamFormat? { state.format }
    var held: Frame? { state.held?.frame }

    /// Handles what has come, and gives every buffer that has come to `body`, the oldest first.
    func receive(_ body: (ReceivedBuffer) -> Void) {
        inLoop { stream in
            cpw_iterate(stream)
            if state.isFormatNew { restarts = 0 }
            if state.isFormatNew || state.hasStarted && frameDue == nil { expectFrame() }
            (state.isFormatNew, state.hasStarted) = (false, false)
            while let pipe = stream.pointee.stream, let buffer = pw_stream_dequeue_buffer(pipe) {
                guard let inner = buffer.pointee.buffer else { continue }
                let received = ReceivedBuffer(
                    buffer: inner, memory: state.memories[buffer], arrived: MonotonicClock.now)
                if received.content != .none { (frameDue, restarts) = (nil, 0) }
                body(received)
                if let frame = received.frame {
                    if let old = state.held { pw_stream_queue_buffer(pipe, old.buffer) }
                    state.held = (buffer, frame)
                } else {
                    pw_stream_queue_buffer(pipe, buffer)
                }
            }
        }
    }

    /// Gives the buffer that is held back to the sender.
    func release() {
        inLoop { stream in
            guard let held = state.held, let pipe = stream.pointee.stream else { return }
            state.held = nil
            pw_stream_queue_buffer(pipe, held.buffer)
        }
    }

    /// Has the sender begin again if its first frame is overdue.
    func begin(at now: MediaInstant) {
        guard let due = frameDue, now >= due else { return }
        restarts += 1
        setActive(false)
        setActive(true)
    }

    /// Each time with twice the patience of the time before, as a busy machine may lose several frames in a row.
    private func expectFrame() {
        frameDue =
            restarts < Self.mostRestarts
            ? MonotonicClock.now + Self.framePatience * (1 << restarts) : nil
    }

    /// Has the sender stop, or begin.
    func setActive(_ isActive: Bool) {
        if isActive { expectFrame() } else { frameDue = nil }
        inLoop { stream in
            guard let pipe = stream.pointee.stream else { return }
            pw_stream_set_active(pipe, isActive)
            // Sends it, as nobody waits for this stream while it is suspended.
            cpw_iterate(stream)
        }
    }

    /// Disconnects. A second call does nothing.
    func close() {
        guard let stream else { return }
        self.stream = nil
        state.held = nil
        cpw_close(stream)
    }

    private func inLoop(_ body: (UnsafeMutablePointer<cpw_stream>) -> Void) {
        guard let stream else { return }
        cpw_enter(stream)
        body(stream)
        cpw_leave(stream)
    }
}

/// A buffer that has come: metadata, and pixels unless it is for the metadata alone.
struct ReceivedBuffer {
    enum Content: Equatable {
        case picture(FrameLayout)
        /// No pixels, or pixels that the sender declares to be no good.
        case none
        /// The buffer's own data contradict each other.
        case impossible
    }

    let content: Content
    fileprivate let frame: ReceivedStream.Frame?
    private let buffer: UnsafePointer<spa_buffer>
    /// The part of the buffer that is the picture; nil for all of it.
    let crop: PixelRect?

    fileprivate init(
        buffer: UnsafePointer<spa_buffer>, memory: FrameMemory?, arrived: MediaInstant
    ) {
        self.buffer = buffer
        crop = FrameMetadata.bytes(buffer, SPA_META_VideoCrop).flatMap { FrameMetadata.region($0) }
        guard buffer.pointee.n_datas > 0, let data = buffer.pointee.datas, data[0].chunk != nil else {
            (content, frame) = (.none, nil)
            return
        }
        let chunk = cpw_chunk(data)
        if chunk.size == 0 || cpw_has_corrupted_chunk(chunk) || cpw_is_corrupted(buffer) {
            (content, frame) = (.none, nil)
            return
        }
        guard let memory,
            let layout = FrameLayout(
                memory.format, crop: crop, transform: cpw_transform(buffer), offset: chunk.offset,
                size: memory.isDMABuf ? .max : chunk.size,
                stride: chunk.stride, capacity: memory.bytes.count)
        else {
            (content, frame) = (.impossible, nil)
            return
        }
        content = .picture(layout)
        frame = ReceivedStream.Frame(layout: layout, memory: memory, arrived: arrived)
    }

    /// The cursor; nil if the buffer says nothing of it, or nonsense.
    var cursor: CursorMetadata? {
        FrameMetadata.bytes(buffer, SPA_META_Cursor).flatMap { CursorMetadata($0) }
    }

    /// Calls `body` with what has changed since the buffer before, in pixels of the buffer.
    /// - Returns: false if the sender does not tell.
    func forEachDamage(_ body: (PixelRect) -> Void) -> Bool {
        guard let bytes = FrameMetadata.bytes(buffer, SPA_META_VideoDamage) else { return false }
        var isTold = false
        FrameMetadata.forEachRegion(bytes) {
            isTold = true
            body($0)
        }
        return isTold
    }
}
