import MediaCore
import MediaEngine
import Testing

/// Ten minutes of video on lossy paths. Small frames are harder, as a loss shows only by the next packet, and few
/// follow.
@Suite struct LongLossTests {
    struct Case: CustomTestStringConvertible {
        /// 1 to 3 packets a frame, with pauses; else 5 packets a frame.
        var isSmall: Bool
        var percent: Double
        /// Mean number of packets lost in a row, in both directions.
        var run: Double
        var roundTrip: Int
        /// The longest freeze of three seeds allowed, and the least to be expected on such a path; in milliseconds.
        var freeze: ClosedRange<Double>
        /// The number of freezes over 150 ms, of about 45,000 frames.
        var over150: ClosedRange<Int>

        var testDescription: String {
            "\(isSmall ? "small" : "steady"), \(percent) % in runs of \(run), \(roundTrip) ms"
        }
    }

    static let cases = [
        Case(isSmall: true, percent: 5, run: 1, roundTrip: 50, freeze: 80...200, over150: 0...10),
        Case(isSmall: true, percent: 5, run: 4, roundTrip: 50, freeze: 120...400, over150: 3...80),
        Case(isSmall: true, percent: 10, run: 1, roundTrip: 50, freeze: 80...250, over150: 0...15),
        Case(isSmall: true, percent: 10, run: 4, roundTrip: 50, freeze: 120...450, over150: 5...120),
        Case(isSmall: true, percent: 10, run: 4, roundTrip: 20, freeze: 100...400, over150: 2...80),
        Case(isSmall: false, percent: 5, run: 1, roundTrip: 50, freeze: 80...300, over150: 0...30),
        Case(isSmall: false, percent: 5, run: 4, roundTrip: 50, freeze: 150...400, over150: 20...350),
        Case(isSmall: false, percent: 10, run: 1, roundTrip: 50, freeze: 80...300, over150: 3...120),
        Case(isSmall: false, percent: 10, run: 4, roundTrip: 50, freeze: 150...600, over150: 100...900),
    ]

    @Test(arguments: cases)
    func tenMinutesWithoutALongFreeze(one: Case) {
        var longest = 0.0
        var counts = [0, 0, 0, 0]
        var carried = 0
        for seed in [1, 2, 3] as [UInt64] {
            var options = SimulatedCall.Options()
            options.hasReferences = true
            options.maximumBitrate = .kilobits(10_000)
            var conditions = SimulatedLink.Conditions(
                delay: .milliseconds(one.roundTrip / 2), rate: .kilobits(10_000), lossPercent: one.percent)
            conditions.run = one.run
            let call = SimulatedCall(
                seed: seed, conditions, back: conditions,
                plan: one.isSmall ? .small : .steady(perSecond: 30, bytes: 6_000), options: options)
            let trace = PathTrace()
            trace.attach(to: call)
            call.run(for: .seconds(600))
            let freezes = call.freezes(over: .milliseconds(100))
            for (index, limit) in [100, 150, 250, 400].enumerated() {
                counts[index] += freezes.filter { $0.time > .milliseconds(limit) }.count
            }
            longest = max(longest, freezes.map(\.time).max()?.inMilliseconds ?? 0)
            carried = max(carried, call.forward.carriedBytes * 8 / 600_000)
            for freeze in freezes where freeze.time > .milliseconds(250) {
                let begin = freeze.end - freeze.time - .milliseconds(one.roundTrip / 2 + 25)
                print(
                    "  seed \(seed), \(Int(freeze.time.inMilliseconds)) ms, lost:",
                    trace.losses(from: begin, to: freeze.end))
            }
            #expect(call.damaged == 0 && call.outOfOrder == 0, "\(call.summary)")
            #expect(call.shown.count >= call.made.count * 98 / 100, "\(call.summary)")
            #expect(call.keyframesMade <= 3, "\(call.summary)")
        }
        print(
            "ROW", one.testDescription, "longest", Int(longest), "over 100, 150, 250, 400 ms", counts, "kbit/s",
            carried)
        #expect(one.freeze.contains(longest))
        #expect(one.over150.contains(counts[1]))
        // Unrequested duplicates take little of the path's 10 Mbit/s.
        #expect(carried <= (one.isSmall ? 1_700 : 2_900))
    }

    struct AudioCase: CustomTestStringConvertible {
        var percent: Double
        /// Mean duration of the bad state, in milliseconds; 0: independent losses.
        var burst: Int
        /// The number of times over 60 ms in half an hour without audio, and with concealed audio only.
        var gaps: ClosedRange<Int>
        var madeUp: ClosedRange<Int>

        var testDescription: String { "\(percent) % in bursts of \(burst) ms" }
    }

    @Test(arguments: [
        AudioCase(percent: 5, burst: 0, gaps: 0...0, madeUp: 0...0),
        AudioCase(percent: 5, burst: 20, gaps: 0...6, madeUp: 1...20),
        AudioCase(percent: 10, burst: 0, gaps: 0...0, madeUp: 0...0),
        AudioCase(percent: 10, burst: 20, gaps: 0...6, madeUp: 1...20),
    ])
    func halfAnHourOfAudio(one: AudioCase) {
        var gaps = 0
        var madeUp = 0
        var delay = 0.0
        var longest = (gap: 0.0, madeUp: 0.0)
        for seed in [1, 2, 3] as [UInt64] {
            var options = SimulatedCall.Options()
            options.audioTracks = 1
            options.hasReferences = true
            options.hasRED = true
            var conditions = SimulatedLink.Conditions(
                delay: .milliseconds(25), rate: .kilobits(10_000), lossPercent: one.percent)
            conditions.burst = .milliseconds(one.burst)
            let call = SimulatedCall(seed: seed, conditions, back: conditions, plan: .small, options: options)
            call.run(for: .seconds(600))
            let audio = PlayedAudio(call.audio)
            gaps += audio.gaps
            madeUp += audio.stretches
            longest = (max(longest.gap, audio.longestGap), max(longest.madeUp, audio.longestConcealed))
            delay = max(delay, call.receiver.statistics.audioDelay.inMilliseconds)
            #expect(audio.lost * 100 <= call.audio.count, "\(call.summary)")
        }
        print("SOUND", one, "gaps", gaps, longest.gap, "made up", madeUp, longest.madeUp, "delay", delay)
        #expect(one.gaps.contains(gaps) && one.madeUp.contains(madeUp))
    }
}
