import LinuxRuntime
import MediaCore
import Testing

@Suite struct PrefetchListFetchTests {
    /// Addresses may be those of memory that has been freed, and of pages that are not there.
    @Test func anyAddressMayBeFetched() {
        var list = PrefetchList()
        list.add(UnsafeRawPointer(bitPattern: 0x10), bytes: 100_000)
        list.add(UnsafeRawPointer(bitPattern: 0x7fff_ffff_f000), bytes: 8_192)
        let freed = UnsafeMutableRawPointer.allocate(byteCount: 1 << 22, alignment: 64)
        list.add(freed + 7, bytes: 1 << 22)
        freed.deallocate()
        list.fetch()
        #expect(list.count == 3)
    }
}
