import MediaCore
import MediaEngine
import Testing

/// Typical screen content over narrow paths with a one-way delay of 50 ms and a drop-tail queue of 300 ms, with audio.
/// The encoder is `SimulatedScreen`: a page is readable after 40 kB and sharp after 290 kB. Prints rows of
/// Benchmarks/Results/simulated-networks.md.
@Suite struct ScreenTests {
    static let readable = 40_000
    static let sharp = 290_000
    static let page = (least: 20_000, most: sharp)

    private func call(_ place: SimulatedBottleneck, _ screen: SimulatedScreen, seed: UInt64) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.audioTracks = 1
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(50)), plan: .screen(screen), options: options)
        call.forward.bottleneck = (place, 0)
        return call
    }

    /// Milliseconds from a change until so many bytes made after it are shown; nil: never.
    private func time(_ call: SimulatedCall, from change: MediaDuration, bytes: Int) -> Double? {
        let begin = SimulatedCall.start + change
        var sum = 0
        for frame in call.shown where frame.captured >= begin {
            sum += call.made[frame.number].bytes
            if sum >= bytes { return (frame.shown - begin).inMilliseconds }
        }
        return nil
    }

    private func queue(_ place: SimulatedBottleneck, from: Double, to: Double) -> (p95: Double, most: Double) {
        let waits = place.waits(from: from, to: to).sorted()
        return waits.isEmpty ? (0, 0) : (waits[waits.count * 95 / 100], waits[waits.count - 1])
    }

    @Test(arguments: [1_000, 3_000, 10_000])
    func aNewPageAfterAStillMinute(kilobits: Int) {
        var readable = 0.0
        var sharp = 0.0
        var most = 0.0
        for seed in SharedPathTests.seeds {
            let place = SimulatedBottleneck([(0, kilobits)])
            let screen = SimulatedScreen(least: Self.page.least, most: Self.page.most, seed: seed)
            let call = call(place, screen, seed: seed)
            call.after(.seconds(65)) { _ in screen.turn(least: Self.page.least, most: Self.page.most) }
            call.run(for: .seconds(72))
            print(kilobits, call.summary)
            readable = max(readable, time(call, from: .seconds(65), bytes: Self.readable) ?? 99_999)
            sharp = max(sharp, time(call, from: .seconds(65), bytes: Self.sharp) ?? 99_999)
            most = max(most, queue(place, from: 65, to: 72).most)
            #expect(call.damaged == 0 && call.outOfOrder == 0)
            #expect(call.keyframesMade == 1)
        }
        print(
            "| new page after 60 s at rest, \(kilobits / 1_000) Mbit/s | \(readable.text(0)) | \(sharp.text(0)) |",
            "\(most.text(0)) |")
        // The least time that the path needs for these bytes. The limits are 1.5 and 1.6 times that.
        let least = { (bytes: Int) in 50 + Double(bytes) * 8 / Double(kilobits) }
        #expect(readable <= max(500, 1.5 * least(Self.page.least) + 300))
        #expect(sharp <= max(2_000, 1.6 * least(Self.sharp)))
        #expect(most <= 300)
    }

    /// The path's bandwidth drops while the screen is still, which the sender cannot know before the first frame.
    /// Sometimes the loss cannot be repaired, and a key frame follows.
    @Test func aNewPageWhenThePathHasBecomeNarrow() {
        var all: [Double] = []
        for seed in SharedPathTests.seeds {
            let place = SimulatedBottleneck([(0, 3_000), (40, 1_000)])
            let screen = SimulatedScreen(least: Self.page.least, most: Self.page.most, seed: seed)
            let call = call(place, screen, seed: seed)
            call.after(.seconds(65)) { _ in screen.turn(least: Self.page.least, most: Self.page.most) }
            call.run(for: .seconds(75))
            let readable = time(call, from: .seconds(65), bytes: Self.readable) ?? 99_999
            let sharp = time(call, from: .seconds(65), bytes: Self.sharp) ?? 99_999
            print("narrow", readable, sharp, queue(place, from: 65, to: 75), call.summary)
            #expect(readable <= 3_000 && sharp <= 6_000)
            #expect(call.damaged == 0 && call.outOfOrder == 0)
            all.append(readable)
        }
        #expect(all.count { $0 > 1_500 } <= 1, "\(all)")
    }

    /// Audio waits briefly behind each page, which is not congestion.
    @Test func pagesTurnedOneAfterTheOtherCostNoRate() {
        for seed in SharedPathTests.seeds {
            let place = SimulatedBottleneck([(0, 3_000)])
            let screen = SimulatedScreen(least: Self.page.least, most: Self.page.most, seed: seed)
            let call = call(place, screen, seed: seed)
            for second in 10..<60 {
                call.after(.seconds(second)) { _ in screen.turn(least: 20_000, most: 80_000) }
            }
            call.run(for: .seconds(60))
            print("pages", call.summary)
            #expect(call.estimate(at: .seconds(59)) >= .kilobits(2_000))
            #expect(queue(place, from: 10, to: 60).p95 < 150)
            #expect(call.damaged == 0 && call.outOfOrder == 0 && call.keyframesMade == 1)
        }
    }

    /// - Parameter most: the size of a frame at full quality, in bytes.
    private func moving(
        _ name: String, least: Int, most: Int, kilobits: Int, seconds: Int
    ) -> (frames: Double, latency: Double, queue: (p95: Double, most: Double), freeze: Double) {
        var worst = (frames: 1_000.0, latency: 0.0, queue: (p95: 0.0, most: 0.0), freeze: 0.0)
        var used = 1.0
        for seed in SharedPathTests.seeds {
            let place = SimulatedBottleneck([(0, kilobits)])
            let screen = SimulatedScreen(least: Self.page.least, most: Self.page.most, seed: seed)
            let call = call(place, screen, seed: seed)
            let end = 15 + seconds
            call.after(.seconds(15)) { _ in screen.content = .moving(least: least, most: most) }
            call.after(.seconds(end)) { _ in screen.content = .still }
            call.run(for: .seconds(end + 5))
            print(name, kilobits, call.summary)
            let shown = call.since(.seconds(15)).filter {
                $0.captured >= SimulatedCall.start + .seconds(15) && $0.shown < SimulatedCall.start + .seconds(end)
            }
            let latencies = shown.map(\.latency.inMilliseconds).sorted()
            let delay = queue(place, from: 15, to: Double(end))
            worst.frames = min(worst.frames, Double(shown.count) / Double(seconds))
            worst.latency = max(worst.latency, latencies.isEmpty ? 99_999 : latencies[latencies.count * 95 / 100])
            worst.queue = (max(worst.queue.p95, delay.p95), max(worst.queue.most, delay.most))
            for (last, next) in zip(shown, shown.dropFirst()) {
                worst.freeze = max(worst.freeze, (next.shown - last.shown).inMilliseconds)
            }
            used = min(used, place.carried(from: 20, to: Double(end)) / Double(kilobits * 1_000))
            #expect(call.damaged == 0 && call.outOfOrder == 0)
            // The content is sharp soon after it has stopped.
            #expect(screen.missing == 0)
        }
        print(
            "| \(name), \(kilobits / 1_000) Mbit/s | \(worst.frames.text(1)) | \(worst.latency.text(0)) |",
            "\(worst.freeze.text(0)) | \(worst.queue.p95.text(0)) | \(worst.queue.most.text(0)) | \(used.percent) |")
        return worst
    }

    @Test(arguments: [(1_000, 9.0), (3_000, 20), (10_000, 25)])
    func scrolling(kilobits: Int, frames: Double) {
        let figures = moving(
            "scrolling for 10 s, 8 to 60 kB a frame", least: 8_000, most: 60_000, kilobits: kilobits, seconds: 10)
        #expect(figures.frames >= frames)
        #expect(figures.latency <= 400 && figures.freeze <= 500)
        #expect(figures.queue.p95 < 150 && figures.queue.most <= 300)
    }

    @Test(arguments: [(1_000, 25.0), (3_000, 27), (10_000, 29)])
    func aVideoWindow(kilobits: Int, frames: Double) {
        let figures = moving(
            "a video window for 20 s, 2 to 12 kB a frame", least: 2_000, most: 12_000, kilobits: kilobits, seconds: 20)
        #expect(figures.frames >= frames)
        #expect(figures.latency <= 250 && figures.freeze <= 300)
        #expect(figures.queue.p95 < 150 && figures.queue.most <= 300)
    }
}
