import Glibc
import LinuxRuntime
import MediaCore
import Testing

@Suite struct FrameQueueTests {
    private func push(_ queue: FrameQueue<Int>, _ bytes: [UInt8], _ info: Int) -> Bool {
        bytes.withUnsafeBytes { queue.push($0, info) }
    }

    @Test func framesComeOutInOrderWithWhatBelongsToThem() {
        let queue = FrameQueue<Int>(capacity: 3, bytes: 2)
        for number in 1...3 { #expect(push(queue, [UInt8](repeating: UInt8(number), count: number), number)) }
        #expect(queue.oldest == 1)
        for number in 1...3 {
            let isThere = queue.pop { bytes, info in
                #expect(info == number)
                #expect(Array(bytes) == [UInt8](repeating: UInt8(number), count: number))
            }
            #expect(isThere)
        }
        #expect(!queue.pop { _, _ in })
        #expect(queue.oldest == nil)
    }

    @Test func aFullOneRefuses() {
        let queue = FrameQueue<Int>(capacity: 2, bytes: 16)
        #expect(push(queue, [1], 1))
        #expect(push(queue, [2], 2))
        #expect(!push(queue, [3], 3))
        // The buffer that is being read is still in use.
        queue.pop { _, _ in #expect(!push(queue, [3], 3)) }
        #expect(push(queue, [3], 3))
    }

    @Test func aFrameIsWrittenWhereItGoesAndOnlyIfItIsTaken() {
        let queue = FrameQueue<Int>(capacity: 1, bytes: 2)
        let isTaken = queue.push(byteCount: 5, 1) { buffer in
            #expect(buffer.count == 5)
            for index in buffer.indices { buffer[index] = UInt8(index) }
        }
        #expect(isTaken)
        #expect(!queue.push(byteCount: 1, 2) { _ in Issue.record("a refused frame was written") })
        queue.pop { bytes, _ in #expect(Array(bytes) == [0, 1, 2, 3, 4]) }
    }

    @Test func aClosedOneRefusesAndWakesWhoWaits() {
        let queue = FrameQueue<Int>(capacity: 2, bytes: 16)
        let waiting = NamedThread("consumer") { while queue.waitAndPop({ _, _ in }) {} }
        queue.close()
        waiting.join()
        #expect(!push(queue, [1], 1))
    }

    /// Frames of growing and shrinking size, so that buffers are replaced while the other side reads its own.
    @Test(arguments: [1, 2, 3, 64]) func producerAndConsumerRunAgainstEachOther(capacity: Int) {
        let count = 20_000
        let queue = FrameQueue<Int>(capacity: capacity, bytes: 1)
        let producer = NamedThread("producer") {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 5_000, alignment: 16)
            defer { bytes.deallocate() }
            for number in 0..<count {
                let length = number * 7_919 % 5_000
                if let base = bytes.baseAddress { memset(base, Int32(number & 0xFF), length) }
                while !queue.push(UnsafeRawBufferPointer(rebasing: bytes[..<length]), number) { sched_yield() }
            }
        }
        var wrong = 0
        for number in 0..<count {
            let isOpen = queue.waitAndPop { bytes, info in
                if info != number || bytes.count != number * 7_919 % 5_000 { wrong += 1 }
                guard let base = bytes.baseAddress, bytes.count > 0 else { return }
                if bytes[0] != UInt8(number & 0xFF) || memcmp(base, base + 1, bytes.count - 1) != 0 { wrong += 1 }
            }
            if !isOpen { wrong += 1 }
        }
        producer.join()
        #expect(wrong == 0)
    }
}
