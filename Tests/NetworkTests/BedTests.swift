import Foundation
import NetworkBed
import Testing

/// Tests of the emulated network itself.
@Suite struct BedTests {
    @Test func nothingIsLeftWhenTheBedIsClosed() throws {
        let bed = try NetworkBed()
        let node = try bed.node()
        #expect(FileManager.default.fileExists(atPath: node.path))
        bed.close()
        bed.close()
        #expect(!FileManager.default.fileExists(atPath: node.path))
        #expect(throws: BedFailure.self) { try bed.node() }
    }

    @Test func aCommandThatFailsSaysWhy() throws {
        let node = try NetworkBed().node()
        let failure = #expect(throws: BedFailure.self) { try node.run("ip addr add 10.0.0.1/24 dev nowhere") }
        #expect(failure?.description.contains("nowhere") == true)
    }

    @Test func plannedChangesComeInTheirOrder() throws {
        let bed = try NetworkBed()
        let (first, second) = (try bed.node(), try bed.node())
        let link = try bed.link(first, "10.9.0.1/24", second, "10.9.0.2/24")
        try link.set(LinkConditions(isDown: true), afterMilliseconds: 0)
        try link.set(LinkConditions(), afterMilliseconds: 0)
        try first.run("ip route get 10.9.0.2")
        // The kernel answers a datagram to a port where no process listens.
        try first.run("bash -c echo>/dev/udp/10.9.0.2/9")
        #expect(try link.figures(.forward).packetsIn >= 1)
        #expect(try link.figures(.forward).lost == 0)
    }
}
