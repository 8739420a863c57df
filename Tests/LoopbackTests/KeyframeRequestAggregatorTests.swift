import EventLoop
import LinuxRuntime
import MediaCore
import Testing
import WaitSupport

@testable import Relay

/// Many viewers of a relay ask for key frames, and the publisher gets few requests.
@Suite(.timeLimit(.minutes(1))) struct KeyframeRequestAggregatorTests {
    private func with(
        _ body: (LoopBound<KeyframeRequestAggregator>, Monitor<[MediaInstant]>) async throws -> Void
    ) async rethrows {
        let loop = EventLoop(name: "net-0")
        let sent = Monitor<[MediaInstant]>([])
        let requests = LoopBound(
            loop,
            making: { KeyframeRequestAggregator(loop) { sent.change { $0.append(MonotonicClock.now) } } })
        try await body(requests, sent)
        await requests.ifRunning { $0.close() }
        await loop.stop()
    }

    @Test func requestsOfOneSecondAreOne() async {
        await with { requests, sent in
            for _ in 0..<100 { await requests.ifRunning { $0.request() } }
            #expect(sent.with { $0.count } == 1)
            await requests.ifRunning { $0.noteKeyframe() }
            for _ in 0..<100 { await requests.ifRunning { $0.request() } }
            let both = await waiting(sent) { $0.count >= 2 ? $0 : nil }
            #expect(both.map { $0[1] - $0[0] >= .milliseconds(999) } == true)
        }
    }

    @Test func aRequestIsRepeatedUntilAKeyFrameComes() async {
        await with { requests, sent in
            await requests.ifRunning { $0.request() }
            let repeated = await waiting(sent) { $0.count >= 3 ? $0 : nil }
            #expect(repeated.map { $0[2] - $0[0] >= .milliseconds(1_999) } == true)
        }
    }
}
