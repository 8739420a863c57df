import MediaCore
import MediaEngine
import Testing

/// Video and audio over lossy paths, between our own host and viewer. Prints the table in
/// Benchmarks/Results/simulated-networks.md.
@Suite struct BadNetworkTests {
    struct Case: CustomTestStringConvertible {
        var percent: Double
        /// Mean duration of the bad state, in milliseconds; 0: independent losses.
        var burst: Int
        var roundTrip: Int
        /// The longest freeze allowed, and the least to be expected on such a path; in milliseconds.
        var freeze: ClosedRange<Double>

        var testDescription: String { "\(percent) % in bursts of \(burst) ms, \(roundTrip) ms" }
    }

    static let cases = [
        Case(percent: 1, burst: 0, roundTrip: 20, freeze: 20...200),
        Case(percent: 1, burst: 0, roundTrip: 50, freeze: 50...250),
        Case(percent: 1, burst: 0, roundTrip: 200, freeze: 200...650),
        Case(percent: 1, burst: 20, roundTrip: 20, freeze: 20...200),
        Case(percent: 1, burst: 20, roundTrip: 50, freeze: 50...300),
        Case(percent: 1, burst: 20, roundTrip: 200, freeze: 200...650),
        Case(percent: 5, burst: 0, roundTrip: 20, freeze: 40...250),
        Case(percent: 5, burst: 0, roundTrip: 50, freeze: 80...250),
        Case(percent: 5, burst: 0, roundTrip: 200, freeze: 200...500),
        Case(percent: 5, burst: 20, roundTrip: 20, freeze: 40...400),
        Case(percent: 5, burst: 20, roundTrip: 50, freeze: 80...400),
        Case(percent: 5, burst: 20, roundTrip: 200, freeze: 300...1_000),
        Case(percent: 10, burst: 0, roundTrip: 20, freeze: 60...350),
        Case(percent: 10, burst: 0, roundTrip: 50, freeze: 100...350),
        Case(percent: 10, burst: 0, roundTrip: 200, freeze: 200...700),
        Case(percent: 10, burst: 20, roundTrip: 20, freeze: 80...450),
        Case(percent: 10, burst: 20, roundTrip: 50, freeze: 150...450),
        Case(percent: 10, burst: 20, roundTrip: 200, freeze: 300...1_300),
        Case(percent: 20, burst: 0, roundTrip: 50, freeze: 150...800),
        Case(percent: 20, burst: 20, roundTrip: 50, freeze: 200...1_200),
    ]

    static func call(_ one: Case, seed: UInt64, hasReferences: Bool = true) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.audioTracks = 1
        options.hasReferences = hasReferences
        options.hasRED = hasReferences
        var conditions = SimulatedLink.Conditions(delay: .milliseconds(one.roundTrip / 2), lossPercent: one.percent)
        conditions.burst = .milliseconds(one.burst)
        return SimulatedCall(seed: seed, conditions, plan: .steady(perSecond: 30, bytes: 6_000), options: options)
    }

    @Test(arguments: cases)
    func videoAndAudioContinue(one: Case) {
        var freeze = 0.0
        var gap = 0.0
        var concealed = 0.0
        var line = ""
        for seed in [1, 2] as [UInt64] {
            let call = Self.call(one, seed: seed)
            call.run(for: .seconds(20))
            let audio = PlayedAudio(call.audio)
            freeze = max(freeze, call.freeze(from: .seconds(2)).inMilliseconds)
            gap = max(gap, audio.longestGap)
            concealed = max(concealed, audio.longestConcealed)
            line +=
                " | p95 \(Int(call.latency(percentile: 0.95, from: .seconds(2)).inMilliseconds)) keys \(call.keyframesMade)"
            line +=
                " recoveries \(call.receiver.statistics.video.recoveries) lost sound \(audio.lost) of \(call.audio.count)"
            line += " delay \(Int(call.receiver.statistics.audioDelay.inMilliseconds))"
            #expect(call.damaged == 0 && call.outOfOrder == 0, "\(call.summary)")
            // The call is alive to its end.
            #expect(call.since(.seconds(19)).count >= 15, "\(call.summary)")
            #expect(call.shown.count >= call.made.count * (one.percent > 10 ? 7 : 8) / 10, "\(call.summary)")
        }
        print("ROW", one.testDescription, "freeze", Int(freeze), "gap", Int(gap), "concealed", Int(concealed), line)
        #expect(one.freeze.contains(freeze))
        #expect(gap <= 60 && concealed <= 60)
    }

    /// Requests of a viewer that shares an encoding are limited, as they cost the other viewers bitrate. Losses alone,
    /// however many, stay below the limit.
    @Test(
        arguments: cases.filter { $0.percent >= 10 } + [Case(percent: 25, burst: 150, roundTrip: 200, freeze: 0...0)],
        [true, false])
    func aViewerOfASharedEncodingRecoversLikeASingleViewer(one: Case, hasReferences: Bool) {
        for seed in [1, 2] as [UInt64] {
            let calls = [false, true].map { isShared in
                let call = Self.call(one, seed: seed, hasReferences: hasReferences)
                call.isShared = isShared
                call.run(for: .seconds(30))
                return call
            }
            print("shared", one, hasReferences, calls.map { $0.summary })
            // Within 1 %, as one request more or less shifts all later losses.
            #expect(calls[1].shown.count * 100 >= calls[0].shown.count * 99)
            #expect(calls[1].longestFreeze <= calls[0].longestFreeze)
        }
    }

    /// Compares recovery frames with key frames for the same losses. Recovery frames are far smaller, and keep the
    /// sharpness.
    @Test func recoveriesReplaceKeyFrames() {
        var keyframes = (with: 0, without: 0)
        var recoveries = 0
        for seed in [1, 2] as [UInt64] {
            let one = Case(percent: 25, burst: 150, roundTrip: 200, freeze: 0...0)
            for hasReferences in [true, false] {
                let call = Self.call(one, seed: seed, hasReferences: hasReferences)
                call.run(for: .seconds(20))
                print("references", hasReferences, call.summary)
                if hasReferences {
                    keyframes.with += call.keyframesMade
                } else {
                    keyframes.without += call.keyframesMade
                }
                recoveries += call.receiver.statistics.video.recoveries
            }
        }
        #expect(keyframes.without >= 6)
        #expect(keyframes.with * 2 <= keyframes.without)
        #expect(recoveries >= 3)
    }
}

/// Plays audio as a device without a buffer does: an early packet waits, a late one leaves a gap.
struct PlayedAudio {
    /// In milliseconds: the longest time without audio, and the longest with concealed audio only.
    private(set) var longestGap = 0.0
    private(set) var longestConcealed = 0.0
    private(set) var lost = 0
    /// How many of each exceeded 60 ms.
    private(set) var gaps = 0
    private(set) var stretches = 0

    init(_ audio: [(at: MediaInstant, isLost: Bool, useFEC: Bool)]) {
        var end: MediaInstant?
        var run = 0.0
        for packet in audio {
            if let end {
                longestGap = max(longestGap, (packet.at - end).inMilliseconds)
                gaps += packet.at - end > .milliseconds(60) ? 1 : 0
            }
            end = max(end ?? packet.at, packet.at) + .milliseconds(20)
            run = packet.isLost && !packet.useFEC ? run + 20 : 0
            stretches += run == 80 ? 1 : 0
            lost += packet.isLost ? 1 : 0
            longestConcealed = max(longestConcealed, run)
        }
    }
}
