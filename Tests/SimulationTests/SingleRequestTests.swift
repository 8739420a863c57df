import MediaCore
import MediaEngine
import TestSupport
import Testing

/// A receiver of another make that asks for a key frame once after a loss, as Pion's players do, and then waits.
@Suite struct SingleRequestTests {
    private static let request: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0x44, 0x44, 0, 0, 0x11, 0x11]

    /// A still screen whose key frame takes 100 ms. The receiver requests only what the test sends.
    private func call(loses lost: ClosedRange<Int>? = nil) -> SimulatedCall {
        let path = SimulatedLink.Conditions(delay: .milliseconds(10), rate: .kilobits(6_000))
        var down = path
        down.isDown = true
        let call = SimulatedCall(
            seed: 3, path, back: .init(delay: .milliseconds(10)),
            changes: lost.map {
                [(.milliseconds($0.lowerBound), down), (.milliseconds($0.upperBound), path)]
            } ?? [], plan: .still)
        call.tamper = { datagram, _ in
            let kept = withoutRequests(datagram)
            return kept.isEmpty ? [] : [kept]
        }
        return call
    }

    /// Requests that come before packets of the key frame are lost, while they wait or have just left, and when it may have
    /// arrived.
    @Test(arguments: [10, 30, 60, 90, 110, 130, 200])
    func aRequestDuringALostKeyframeIsAnsweredLater(at milliseconds: Int) {
        let call = call(loses: 20...25)
        call.after(.milliseconds(milliseconds)) { $0.deliver([Self.request]) }
        call.run(for: .seconds(3))
        #expect(call.keyframesMade == 2 && call.shown.count == 1, "\(call.summary)")
        #expect(call.shown.first.map { $0.shown < SimulatedCall.start + .milliseconds(1_800) } == true)
    }

    @Test(arguments: [30, 60, 90, 110])
    func aRequestForWhatArrivesNeedsNoOther(at milliseconds: Int) {
        let call = call()
        call.after(.milliseconds(milliseconds)) { $0.deliver([Self.request]) }
        call.run(for: .seconds(3))
        #expect(call.keyframesMade == 1 && call.shown.count == 1, "\(call.summary)")
    }

    /// Others pay for each key frame, so that the second must wait.
    @Test func aRefusedRequestIsAnsweredOnceOthersMayPayForIt() {
        let call = call(loses: 20...1_200)
        call.isShared = true
        for milliseconds in [400, 900, 1_190] { call.after(.milliseconds(milliseconds)) { $0.deliver([Self.request]) } }
        call.run(for: .seconds(6))
        #expect(call.shown.count == 1, "\(call.summary)")
    }
}

/// Without the receiver's own NACKs and PLIs.
private func withoutRequests(_ datagram: [UInt8]) -> [UInt8] {
    var rest = datagram[...]
    var kept: [UInt8] = []
    while rest.count >= 4 {
        let start = rest.startIndex
        let length = min((Int(rest[start + 2]) << 8 + Int(rest[start + 3]) + 1) * 4, rest.count)
        let (format, type) = (rest[start] & 0x1F, rest[start + 1])
        if !(type == 205 || type == 206) || format != 1 { kept += rest.prefix(length) }
        rest = rest.dropFirst(length)
    }
    return kept
}
