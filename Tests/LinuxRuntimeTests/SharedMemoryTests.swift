import Foundation
import Glibc
import LinuxRuntime
import Testing

@Suite struct SharedMemoryTests {
    @Test func anotherMappingSeesWhatIsWritten() throws {
        let memory = try SharedMemory(byteCount: 10_000)
        memory.base.storeBytes(of: 0x1234, toByteOffset: 9_000, as: UInt16.self)
        let view = try SharedMemory(reading: dup(memory.descriptor), byteCount: 10_000)
        #expect(view.base.load(fromByteOffset: 9_000, as: UInt16.self) == 0x1234)
    }

    @Test func nobodyElseWritesOrResizes() throws {
        let memory = try SharedMemory(byteCount: 10_000)
        #expect(ftruncate(memory.descriptor, 5) != 0)
        #expect(ftruncate(memory.descriptor, 50_000) != 0)
        #expect(mmap(nil, 10_000, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor, 0) == MAP_FAILED)
    }

    @Test func whatCouldShrinkIsNotRead() throws {
        let memory = try SharedMemory(byteCount: 4_096)
        #expect(throws: SharedMemory.Failure.unsafe) {
            try SharedMemory(reading: dup(memory.descriptor), byteCount: 4_097)
        }
        var name = Array((FileManager.default.temporaryDirectory.path + "/share-test-XXXXXX").utf8CString)
        let file = mkstemp(&name)
        unlink(name)
        #expect(ftruncate(file, 4_096) == 0)
        #expect(throws: SharedMemory.Failure.unsafe) { try SharedMemory(reading: file, byteCount: 4_096) }
        #expect(throws: SharedMemory.Failure.unsafe) { try SharedMemory(reading: -1, byteCount: 4_096) }
    }
}
