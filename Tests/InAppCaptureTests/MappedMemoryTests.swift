import Glibc
import MediaCore
import PixelConversion
import Testing

@testable import InAppCapture

/// Frames in shared memory of an app.
@Suite struct MappedMemoryTests {
    private static let size = PixelSize(width: 32, height: 16)
    private static let frameBytes = 32 * 4 * 16

    private func surface() throws -> InAppSurface {
        try InAppSurface(name: "Budget", size: Self.size, converter: YUVConverter())
    }

    private func read(_ screen: InAppScreen, _ canvas: I420Buffer) -> Int {
        var changed = BlockMap(canvas.size)
        _ = screen.read(into: canvas, changed: &changed)
        return changed.count
    }

    private func submit(
        _ memory: MappedMemory, _ surface: InAppSurface, offset: Int = 0, damage: [PixelRect]? = nil
    ) throws {
        try surface.submit(memory, offset: offset, stride: 128, size: Self.size, damage: damage)
    }

    @Test(arguments: [true, false]) func framesInSharedMemoryAreRead(isSealed: Bool) throws {
        let file = try MemoryFile(byteCount: 2 * Self.frameBytes, isSealed: isSealed)
        let memory = try MappedMemory(descriptor: file.descriptor)
        #expect(memory.isMapped == isSealed)
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        try file.fill(255, offset: 0, count: Self.frameBytes)
        try submit(memory, surface)
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] > 230 && canvas.y[15 * canvas.strideY + 31] > 230)
        // The next frame lies behind the first one; nothing but its right half is named as damage.
        try submit(memory, surface, offset: Self.frameBytes, damage: [PixelRect(x: 16, y: 0, width: 16, height: 16)])
        #expect(read(screen, canvas) == 1)
        #expect(canvas.y[0] > 230 && canvas.y[16] < 20)
    }

    /// What the app draws after the hand-over is read from sealed memory, as that is not copied.
    @Test(arguments: [true, false]) func sealedMemoryIsReadWhereItIs(isSealed: Bool) throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: isSealed)
        let surface = try surface()
        let (screen, canvas) = (surface.makeScreen(), I420Buffer(Self.size))
        try submit(try MappedMemory(descriptor: file.descriptor), surface)
        try file.fill(255, offset: 0, count: Self.frameBytes)
        #expect(read(screen, canvas) == 2)
        #expect((canvas.y[0] > 230) == isSealed)
    }

    /// The memory stays mapped while it is the frame, although the app has forgotten it.
    @Test func memoryOutlivesTheAppsOwnHandles() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        do {
            let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: true)
            try file.fill(255, offset: 0, count: Self.frameBytes)
            try submit(try MappedMemory(descriptor: file.descriptor), surface)
        }
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] > 230)
    }

    @Test func memoryThatShrinksIsAnErrorAndNoCrash() throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: false)
        let memory = try MappedMemory(descriptor: file.descriptor)
        let surface = try surface()
        let (screen, canvas) = (surface.makeScreen(), I420Buffer(Self.size))
        try file.fill(255, offset: 0, count: Self.frameBytes)
        try submit(memory, surface)
        try file.resize(100)
        #expect(throws: InAppFrameFailure.outside(byteCount: 100)) { try submit(memory, surface) }
        #expect(!memory.copy(UnsafeMutableRawPointer(canvas.y), offset: 0, count: 200))
        // The frame before it stays.
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] > 230)
    }

    @Test func sealedMemoryCannotShrink() throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: true)
        #expect(throws: MemoryFile.Failure.self) { try file.resize(0) }
    }

    @Test(arguments: [
        (-1, 128), (1, 128), (0, 129), (0, Int.max), (Int.max, 128), (Int.max, Int.max), (Int.min, 128), (2_048, 128),
    ])
    func framesOutsideOfTheMemoryAreRefused(offset: Int, stride: Int) throws {
        for isSealed in [true, false] {
            let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: isSealed)
            let memory = try MappedMemory(descriptor: file.descriptor)
            let surface = try surface()
            #expect(throws: InAppFrameFailure.outside(byteCount: Self.frameBytes)) {
                try surface.submit(memory, offset: offset, stride: stride, size: Self.size)
            }
        }
    }

    @Test func impossibleSizesAndStridesAreRefused() throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: true)
        let memory = try MappedMemory(descriptor: file.descriptor)
        let surface = try surface()
        for stride in [127, 0, -128, Int.min] {
            #expect(throws: InAppFrameFailure.stride(stride)) {
                try surface.submit(memory, offset: 0, stride: stride, size: Self.size)
            }
        }
        let huge = PixelSize(width: Int.max, height: 2)
        #expect(throws: InAppFrameFailure.size(huge)) {
            try surface.submit(memory, offset: 0, stride: 128, size: huge)
        }
    }

    @Test func descriptorsOfOtherThingsAreRefused() throws {
        #expect(throws: InAppFrameFailure.descriptor(EBADF)) { try MappedMemory(descriptor: -1) }
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(throws: InAppFrameFailure.descriptor(EINVAL)) { try MappedMemory(descriptor: ends[0]) }
        let folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(folder) }
        #expect(throws: InAppFrameFailure.descriptor(EINVAL)) { try MappedMemory(descriptor: folder) }
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        #expect(throws: InAppFrameFailure.descriptor(EINVAL)) { try MappedMemory(descriptor: null) }
        let empty = try MemoryFile(byteCount: 0, isSealed: true)
        #expect(throws: InAppFrameFailure.descriptor(EINVAL)) { try MappedMemory(descriptor: empty.descriptor) }
        let file = try MemoryFile(byteCount: 100, isSealed: false)
        let writeOnly = open("/proc/self/fd/\(file.descriptor)", O_WRONLY | O_CLOEXEC)
        defer { close(writeOnly) }
        #expect(throws: InAppFrameFailure.descriptor(EACCES)) { try MappedMemory(descriptor: writeOnly) }
    }

    /// Shared memory, planes, the surface's own memory and shared memory again.
    @Test func allFormsMayFollowEachOther() throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: true)
        try file.fill(255, offset: 0, count: Self.frameBytes)
        let memory = try MappedMemory(descriptor: file.descriptor)
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        try submit(memory, surface)
        _ = read(screen, canvas)
        let planes = I420Buffer(Self.size)
        try surface.submit(planes.frame)
        withExtendedLifetime(planes) {}
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] == 16)
        try submit(memory, surface)
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] > 230)
        // Black memory, and white stays in none of it.
        try surface.draw(size: Self.size) { _, _ in [] }
        #expect(read(screen, canvas) == 2)
        #expect(canvas.y[0] == 16)
    }
}

/// A memfd, as an app makes it for its window.
final class MemoryFile {
    struct Failure: Error {
        let code: Int32
    }

    let descriptor: CInt

    init(byteCount: Int, isSealed: Bool) throws {
        // glibc declares it for _GNU_SOURCE only.
        typealias Create = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
        guard let symbol = dlsym(nil, "memfd_create") else { throw Failure(code: ENOSYS) }
        // MFD_CLOEXEC | MFD_ALLOW_SEALING
        descriptor = unsafeBitCast(symbol, to: Create.self)("window", 3)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        try resize(byteCount)
        // F_ADD_SEALS, F_SEAL_SHRINK
        if isSealed, fcntl(descriptor, 1_033, 2) != 0 { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }

    func resize(_ byteCount: Int) throws {
        guard ftruncate(descriptor, byteCount) == 0 else { throw Failure(code: errno) }
    }

    func fill(_ level: UInt8, offset: Int, count: Int) throws {
        let bytes = [UInt8](repeating: level, count: count)
        guard pwrite(descriptor, bytes, count, offset) == count else { throw Failure(code: errno) }
    }
}
