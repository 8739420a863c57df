import MediaCore
import Testing

@Suite struct PrefetchListTests {
    private final class Thing {
        var number = 7
    }

    @Test func regionsBeyondTheCapacityAreLeftOut() {
        var list = PrefetchList()
        let thing = Thing()
        for number in 1...PrefetchList.capacity + 5 { list.add(thing, bytes: number) }
        #expect(list.count == PrefetchList.capacity)
        let address = UnsafeRawPointer(Unmanaged.passUnretained(thing).toOpaque())
        for index in 0..<list.count {
            #expect(list[index].start == address && list[index].bytes == index + 1)
        }
        list.removeAll()
        #expect(list.count == 0)
        list.add(nil, bytes: 8)
        list.add(address, bytes: 0)
        #expect(list.count == 0)
    }

    @Test func anArraysElementsEndWithTheArray() {
        var list = PrefetchList()
        let numbers = [Int64](0..<10)
        list.add(numbers, from: 7, count: 8)
        #expect(list.count == 2)
        numbers.withUnsafeBytes { bytes in
            #expect(list[0].start.map { $0 + list[0].bytes } == bytes.baseAddress)
            #expect(list[1].start == bytes.baseAddress.map { $0 + 56 } && list[1].bytes == 24)
        }
        list.add([Int64](), from: 0, count: 1)
        // The header of the empty array at the most.
        #expect(list.count <= 3)
    }
}
