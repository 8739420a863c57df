import Foundation
import MediaCore
import Testing

@testable import X11Capture

extension X11Tests {
    @Suite struct AllocationTests {
        /// Only xcb allocates, for its replies and events.
        ///
        /// Runs in a process of its own, because the hook for counting is not safe beside other threads that run Swift.
        @Test(arguments: [true, false])
        func readingAgainMakesNoObjects(hasSharedMemory: Bool) async {
            await #expect(processExitsWith: .success) { [hasSharedMemory] in
                let display = try XvfbDisplay(arguments: hasSharedMemory ? [] : ["-extension", "MIT-SHM"])
                let watcher = try Watcher(display)
                let counter = try #require(ObjectCounter())
                var objects = 0
                for step in 0..<24 {
                    // Tall areas far apart need many rectangles; some are under the cursor.
                    for place in 0..<4 {
                        display.fill(
                            x: place * 150, y: place * 40, width: 20, height: 300, UInt32(step * 0x080503 + place))
                    }
                    display.warpMouse(x: 100 + step * 10, y: 60)
                    display.setCursor(UInt32(0xff0000 >> (step % 3 * 8)))
                    let made = try counter.count {
                        repeat { try watcher.update() } while try watcher.changed.isEmpty && watcher.wait() == .damaged
                    }
                    #expect(!watcher.changed.isEmpty)
                    // After 12 steps all buffers have reached their final size.
                    if step >= 12 { objects += made }
                }
                #expect(objects == 0)
            }
        }
    }
}

/// Counts the Swift objects that are allocated on this thread, through the runtime's hook for Instruments.
private struct ObjectCounter {
    private let hook: UnsafeMutablePointer<Allocate>
    private let isHooked: UnsafeMutablePointer<Bool>

    /// - Returns: nil if the runtime has no such hook.
    init?() {
        guard let hook = dlsym(nil, "_swift_allocObject"),
            let isHooked = dlsym(nil, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly")
        else { return nil }
        self.hook = hook.assumingMemoryBound(to: Allocate.self)
        self.isHooked = isHooked.assumingMemoryBound(to: Bool.self)
    }

    func count(_ body: () throws -> Void) rethrows -> Int {
        made = 0
        counted = pthread_self()
        allocate = hook.pointee
        hook.pointee = { type, size, alignment in
            if pthread_equal(pthread_self(), counted) != 0 { made += 1 }
            return allocate?(type, size, alignment)
        }
        isHooked.pointee = true
        defer {
            isHooked.pointee = false
            if let allocate { hook.pointee = allocate }
        }
        try body()
        return made
    }
}

private typealias Allocate = @convention(c) (UnsafeRawPointer?, Int, Int) -> UnsafeMutableRawPointer?

// The hook has no context parameter; one test at a time uses these.
nonisolated(unsafe) private var allocate: Allocate?
nonisolated(unsafe) private var counted = pthread_t()
nonisolated(unsafe) private var made = 0
