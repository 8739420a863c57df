import MediaCore
import Testing

struct AudioRingBufferTests {
    private func take(_ count: Int, from ring: inout AudioRingBuffer) -> [Int16] {
        [Int16](unsafeUninitializedCapacity: count) { buffer, filled in filled = ring.take(buffer) }
    }

    @Test func samplesComeOutInOrderAcrossTheWrap() {
        var ring = AudioRingBuffer(prefill: 0)
        var next = Int16(0)
        var expected = Int16(0)
        for _ in 0..<100 {
            let packet = (0..<960).map { Int16(truncatingIfNeeded: Int(next) + $0) }
            next = packet[959] &+ 1
            packet.withUnsafeBufferPointer { ring.append($0) }
            for sample in take(960, from: &ring) {
                #expect(sample == expected)
                expected &+= 1
            }
        }
        #expect(ring.count == 0)
        #expect(ring.dropped == 0)
    }

    @Test func oldestIsPushedOut() {
        var ring = AudioRingBuffer(prefill: 0)
        for value in Int16(0)..<30 {
            [Int16](repeating: value, count: 960).withUnsafeBufferPointer { ring.append($0) }
        }
        #expect(ring.count == AudioRingBuffer.capacity)
        #expect(take(1, from: &ring) == [10])
        #expect(ring.dropped == 10 * 960)
    }

    @Test func nothingComesOutBeforeThePrefillIsThere() {
        var ring = AudioRingBuffer(prefill: 1_920)
        let packet = [Int16](repeating: 1, count: 960)
        packet.withUnsafeBufferPointer { ring.append($0) }
        #expect(take(960, from: &ring).isEmpty)
        packet.withUnsafeBufferPointer { ring.append($0) }
        #expect(take(960, from: &ring).count == 960)
        #expect(take(960, from: &ring).count == 960)
        packet.withUnsafeBufferPointer { ring.append($0) }
        #expect(take(960, from: &ring).isEmpty)
    }

    @Test func unreadSamplesAreSkipped() {
        var ring = AudioRingBuffer(prefill: 0)
        let packet = [Int16](repeating: 1, count: 960)
        for _ in 0..<20 { packet.withUnsafeBufferPointer { ring.append($0) } }
        for _ in 0..<110 {
            packet.withUnsafeBufferPointer { ring.append($0) }
            #expect(take(960, from: &ring).count == 960)
        }
        #expect(ring.count <= 2 * 960)
    }
}
