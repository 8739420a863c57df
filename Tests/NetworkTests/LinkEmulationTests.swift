import LinkEmulation
import Testing

/// Tests of the emulated link alone, in virtual time.
@Suite struct LinkEmulationTests {
    /// One direction of a link; times are in ms.
    private final class Wire {
        private var way = Way()

        init(seed: UInt64 = 1, _ conditions: [String: Double]) {
            way_seed(&way, seed)
            #expect(way_set(&way, "burst", 1))
            #expect(way_set(&way, "queue", 200))
            for (key, value) in conditions { #expect(way_set(&way, key, value)) }
        }

        deinit { _ = arrived(until: .infinity) }

        var figures: Figures { way.figures }

        func send(_ number: UInt8, bytes: Int = 1_000, at time: Double) {
            var packet = [UInt8](repeating: number, count: bytes)
            way_accept(&way, &packet, packet.count, Int64(time * 1e6))
        }

        /// Returns the numbers of the packets that have arrived by then, in their order.
        func arrived(until time: Double) -> [UInt8] {
            var numbers: [UInt8] = []
            let now = time == .infinity ? Int64.max : Int64(time * 1e6)
            while let packet = way_take(&way, now) {
                numbers.append(packet_bytes(packet).pointee)
                packet_free(packet)
            }
            return numbers
        }
    }

    @Test func aPacketComesAfterTheDelayAndTheTimeOnTheWire() {
        let wire = Wire(["delay": 25, "rate": 1_000])
        wire.send(1, at: 0)
        #expect(wire.arrived(until: 32.9) == [])
        #expect(wire.arrived(until: 33) == [1])
    }

    @Test func packetsWaitForTheRateAndTheLastOnesFallOffTheQueue() {
        let wire = Wire(["rate": 1_000, "queue": 20])
        for number in 0..<10 { wire.send(UInt8(number), at: 0) }
        // Each packet takes 8 ms: the fourth finds a queue of 24 ms.
        #expect(wire.arrived(until: 24) == [0, 1, 2])
        #expect(wire.arrived(until: 1_000) == [])
        #expect(wire.figures.overflowed == 7)
        #expect(wire.figures.longest_queue == 16)
    }

    @Test(arguments: [1, 2, 3]) func lossIsAsOftenAsAskedFor(seed: UInt64) {
        let wire = Wire(seed: seed, ["loss": 5])
        for number in 0..<20_000 { wire.send(UInt8(number & 0xFF), at: Double(number)) }
        #expect((850...1_150).contains(wire.figures.lost))
    }

    @Test(arguments: [1, 2, 3]) func burstsAreAsLongAsAskedFor(seed: UInt64) {
        let wire = Wire(seed: seed, ["loss": 5, "burst": 4])
        var bursts = 0
        var isInBurst = false
        for number in 0..<40_000 {
            let lost = wire.figures.lost
            wire.send(UInt8(number & 0xFF), at: Double(number))
            if wire.figures.lost > lost, !isInBurst { bursts += 1 }
            isInBurst = wire.figures.lost > lost
        }
        #expect((1_500...2_500).contains(wire.figures.lost))
        #expect((3.4...4.6).contains(Double(wire.figures.lost) / Double(bursts)))
    }

    @Test func theSameSeedLosesTheSamePackets() {
        func received(_ seed: UInt64) -> [UInt8] {
            let wire = Wire(seed: seed, ["loss": 20, "jitter": 5])
            for number in 0..<200 { wire.send(UInt8(number), at: Double(number)) }
            return wire.arrived(until: 1_000)
        }
        #expect(received(7) == received(7))
        #expect(received(7) != received(8))
    }

    @Test func jitterKeepsTheOrderUnlessAskedNotTo() {
        for reorders in [false, true] {
            let wire = Wire(["jitter": 20, "reorder": reorders ? 1 : 0])
            for number in 0..<200 { wire.send(UInt8(number), at: Double(number)) }
            let numbers = wire.arrived(until: 1_000)
            #expect(numbers.sorted() == Array(0..<200))
            #expect((numbers == numbers.sorted()) == !reorders)
        }
    }

    @Test func nothingPassesALinkThatIsDown() {
        let wire = Wire(["down": 1])
        wire.send(1, at: 0)
        #expect(wire.arrived(until: 1_000) == [])
        #expect(wire.figures.lost == 1)
    }

    @Test(arguments: [("loss", 101), ("loss", -1), ("burst", 0.5), ("rate", Double.nan), ("speed", 1)])
    func conditionsThatMakeNoSenseAreRefused(key: String, value: Double) {
        var way = Way()
        #expect(!way_set(&way, key, value))
    }
}
