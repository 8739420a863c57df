import MediaCore
import Testing

@testable import PulseAudio

struct AudioMixerTests {
    /// A mixer with what it has delivered: the first sample and the time in ms of each packet.
    private struct Desk {
        var mixer = AudioMixer()
        var delivered: [(sample: Int16, milliseconds: Double)] = []

        mutating func take(_ value: Int16, at milliseconds: Double, from id: Int) {
            let instant = MediaInstant(nanoseconds: Int64(milliseconds * 1e6))
            var got: [(Int16, Double)] = []
            [Int16](repeating: value, count: 960).withUnsafeBufferPointer {
                mixer.take($0, instant, from: id) { got.append(($0[959], Double($1.nanoseconds) / 1e6)) }
            }
            delivered += got.map { (sample: $0.0, milliseconds: $0.1) }
        }
    }

    @Test func oneStreamPassesAtOnce() {
        var desk = Desk()
        desk.mixer.add(1)
        for index in 0..<3 { desk.take(100, at: Double(index) * 10, from: 1) }
        #expect(desk.delivered.map(\.sample) == [100, 100, 100])
        #expect(desk.delivered.map(\.milliseconds) == [0, 10, 20])
    }

    @Test func twoStreamsAreAddedAndClipped() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        desk.take(0, at: 3, from: 2)
        desk.take(20_000, at: 10, from: 1)
        #expect(desk.delivered.isEmpty)
        desk.take(300, at: 13, from: 2)
        desk.take(20_000, at: 20, from: 1)
        desk.take(20_000, at: 23, from: 2)
        desk.take(-20_000, at: 30, from: 1)
        desk.take(-20_000, at: 33, from: 2)
        #expect(desk.delivered.map(\.sample) == [20_300, 32_767, -32_768])
        // The silent packet was at 3 ms.
        #expect(desk.delivered.map(\.milliseconds) == [13, 23, 33])
    }

    @Test func aStreamThatDeliversNothingIsNotWaitedFor() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        for index in 0..<5 { desk.take(100, at: Double(index) * 10, from: 1) }
        #expect(desk.delivered.map(\.sample) == [100, 100, 100, 100, 100])
    }

    @Test func aStreamThatStopsDelaysTheOtherForFourPackets() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        desk.take(1, at: 0, from: 2)
        for index in 0..<5 { desk.take(100, at: Double(index) * 10, from: 1) }
        #expect(desk.delivered.map(\.sample) == [1, 100])
        desk.take(100, at: 50, from: 1)
        #expect(desk.delivered.map(\.sample) == [1, 100, 100])
        // Later it is not waited for any more.
        for index in 6..<20 { desk.take(100, at: Double(index) * 10, from: 1) }
        #expect(desk.delivered.count == 21)
    }

    @Test func aRemovedStreamHoldsNothingBack() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        desk.take(5, at: 0, from: 1)
        desk.mixer.remove(2)
        desk.take(6, at: 10, from: 1)
        #expect(desk.delivered.map(\.sample) == [5, 6])
        #expect(!desk.mixer.hasSeveralInputs)
    }

    @Test func timesNeverGoBack() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        desk.take(1, at: 100, from: 1)
        desk.take(1, at: 30, from: 2)
        for index in 1..<20 {
            desk.take(1, at: 100 + Double(index) * 10, from: 1)
            desk.take(1, at: 30 + Double(index) * 10, from: 2)
        }
        let times = desk.delivered.map(\.milliseconds)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 10 })
    }

    @Test func silenceTogetherIsNotDelivered() {
        var desk = Desk()
        desk.mixer.add(1)
        desk.mixer.add(2)
        desk.take(0, at: 0, from: 1)
        desk.take(0, at: 0, from: 2)
        #expect(desk.delivered.isEmpty)
    }
}
