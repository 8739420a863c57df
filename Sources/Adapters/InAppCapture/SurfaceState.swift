internal import MediaCore

/// The pixels of a surface, in one of three forms.
enum SurfacePixels {
    /// BGRA in memory of the surface.
    case packed(PixelMemory)
    /// I420 in memory of the surface.
    case planar(I420Buffer)
    /// BGRA in memory of the app.
    case mapped(MappedFrame)

    var size: PixelSize {
        switch self {
        case .packed(let memory): memory.size
        case .planar(let buffer): buffer.size
        case .mapped(let frame): frame.size
        }
    }

    var isPlanar: Bool { if case .planar = self { true } else { false } }

    /// The first pixel of BGRA and the bytes of a row; nil for I420.
    var packed: (base: UnsafeRawPointer, stride: Int)? {
        switch self {
        case .packed(let memory): (UnsafeRawPointer(memory.base), memory.stride)
        case .mapped(let frame): (frame.base, frame.stride)
        case .planar: nil
        }
    }
}

/// The changes that one screen has not read yet.
struct SurfaceReader {
    enum Phase {
        /// Not captured yet.
        case new
        case captured
        case suspended
    }

    let id: Int
    var damaged: BlockMap
    var hasDamage = false
    var hasResized = false
    var isWoken = false
    var phase = Phase.new
}

/// The pixels of a surface and what each of its screens has not read of them.
struct SurfaceState {
    var pixels: SurfacePixels
    /// Whether the app has handed in a frame.
    var isDrawn = false
    private(set) var readers: [SurfaceReader] = []
    private var lastID = 0

    init(_ size: PixelSize) { pixels = .packed(PixelMemory(size)) }

    mutating func addReader() -> Int {
        lastID += 1
        var reader = SurfaceReader(id: lastID, damaged: BlockMap(pixels.size, filled: true))
        reader.hasDamage = isDrawn
        readers.append(reader)
        return lastID
    }

    mutating func removeReader(_ id: Int) { readers.removeAll { $0.id == id } }

    /// Nil once the reader has been removed.
    mutating func withReader<R>(_ id: Int, _ body: (inout SurfaceReader) -> R) -> R? {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return nil }
        return body(&readers[index])
    }

    /// Takes other pixels, whose size or form differs.
    mutating func replace(_ new: SurfacePixels) {
        let isResized = new.size != pixels.size
        pixels = new
        for index in readers.indices {
            readers[index].damaged = BlockMap(new.size, filled: true)
            readers[index].hasResized = readers[index].hasResized || isResized
        }
    }

    /// The surface's own BGRA memory.
    /// - Returns: whether it is new, and therefore black.
    mutating func ownPacked(_ size: PixelSize) -> (PixelMemory, isNew: Bool) {
        if case .packed(let memory) = pixels, memory.size == size { return (memory, false) }
        let memory = PixelMemory(size)
        replace(.packed(memory))
        return (memory, true)
    }

    /// The surface's own planes.
    mutating func ownPlanar(_ size: PixelSize) -> (I420Buffer, isNew: Bool) {
        if case .planar(let buffer) = pixels, buffer.size == size { return (buffer, false) }
        let buffer = I420Buffer(size)
        replace(.planar(buffer))
        return (buffer, true)
    }

    /// Reads frames where the app has them. BGRA frames of one size follow each other, wherever each of them lies.
    mutating func adopt(_ frame: MappedFrame) {
        if pixels.size == frame.size, !pixels.isPlanar {
            pixels = .mapped(frame)
        } else {
            replace(.mapped(frame))
        }
    }

    /// Notes what the app has changed. Screens that are suspended read everything when they continue.
    /// - Parameter damage: nil for everything.
    mutating func note(_ damage: [PixelRect]?) {
        isDrawn = true
        for index in readers.indices where readers[index].phase != .suspended {
            if let damage {
                for rect in damage { readers[index].damaged.insert(rect) }
                readers[index].hasDamage = readers[index].hasDamage || !damage.isEmpty
            } else {
                readers[index].damaged.fill()
                readers[index].hasDamage = true
            }
        }
    }
}
