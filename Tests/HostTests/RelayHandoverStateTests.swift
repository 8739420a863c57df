import Admission
import Identifiers
import Identity
import MediaCore
import MediaEngine
import PeerConnection
import Signaling
import TestSupport
import Testing

@testable import Host

/// When a tunnelled broadcast is published to its relay, and whom it sends there, in virtual time.
@Suite struct RelayHandoverStateTests {
    /// A host with its viewers. It checks what always holds.
    private struct Stage {
        var state: RelayHandoverState
        var random: SeededGenerator
        private(set) var now = MediaInstant(nanoseconds: 1_000_000_000)
        var snapshot = RelayHandoverState.Snapshot()
        /// The number of the publication that runs.
        private(set) var running: Int?
        private(set) var ended: MediaInstant?
        private(set) var redirected: [SessionID] = []
        private(set) var closed: [String] = []
        private(set) var events: [BroadcastEvent] = []
        private(set) var calls = 0
        private(set) var returns: [Int] = []
        /// Whether viewers are let in, if the relay alone sends.
        private(set) var admissions: [Bool] = []
        private let retryInterval: MediaDuration
        private(set) var violations: [String] = []
        var flows: [SharedBottleneckDetector.Flow] = []

        init(limit: Int, isRelayOnly: Bool = false, seed: UInt64 = 1) {
            random = SeededGenerator(seed: seed)
            retryInterval =
                isRelayOnly ? RelayHandoverState.soleRetryInterval : RelayHandoverState.retryInterval
            state = RelayHandoverState(
                relay: RelayHandoverStateTests.relay, name: "relay",
                policy: HandoverPolicy(limit: limit, isRelayOnly: isRelayOnly, calmTime: .seconds(60)))
            handle(.start)
            handle(.tunnelOpened)
        }

        mutating func handle(_ input: RelayHandoverState.Input) {
            let wasOver = state.isOver
            take(state.handle(input, now: now, using: &random), wasOver: wasOver)
        }

        mutating func wait(_ time: MediaDuration) {
            let end = now + time
            while let deadline = state.deadline, deadline <= end {
                now = max(now, deadline)
                take(state.advance(now: now, using: &random), wasOver: state.isOver)
                if let next = state.deadline, next <= now { return violations.append("the deadline stays") }
            }
            now = end
        }

        private mutating func take(_ actions: [RelayHandoverState.Action], wasOver: Bool) {
            if wasOver, !actions.isEmpty { violations.append("something is done after the end") }
            for action in actions {
                switch action {
                case .publish(let number):
                    if running != nil { violations.append("two publications") }
                    if let ended, now - ended < retryInterval { violations.append("too early") }
                    running = number
                case .close(let reason): closed.append(reason.sentence)
                case .look(let purpose): handle(.seen(snapshot, for: purpose))
                case .measureFlows: handle(.flows(flows))
                case .returnViewers(let number): returns.append(number)
                case .redirect(let session, _, _): redirected.append(session)
                case .callBack: calls += 1
                case .admit(let isOpen): admissions.append(isOpen)
                case .report(let event): events.append(event)
                case .moveHome, .tellAudience, .clearAudience: break
                }
            }
        }

        @discardableResult
        mutating func join(isConnected: Bool = true) -> SessionID {
            let (session, viewer) = (SessionID.random(), RelayHandoverStateTests.viewer(snapshot.viewers.count))
            snapshot.viewers[session] = viewer
            snapshot.count += 1
            if !isConnected { snapshot.unconnected.insert(session) }
            handle(.joined(viewers: snapshot.count))
            handle(.opened(session, viewer))
            return session
        }

        mutating func leave(_ session: SessionID) {
            guard snapshot.viewers.removeValue(forKey: session) != nil else { return }
            snapshot.unconnected.remove(session)
            snapshot.count -= 1
            handle(.ended(session, viewers: snapshot.count))
        }

        mutating func endPublication() {
            guard let number = running else { return }
            (running, ended) = (nil, now)
            handle(.publicationEnded(EndReason(.connectionLost, "gone"), of: number))
        }
    }

    private static let fingerprint = [UInt8](repeating: 9, count: 32)
    private static let relay = ServiceLink(
        host: "192.0.2.9", port: 443, id: ServiceID("io.sharekit.relay")!, fingerprint: fingerprint)

    private static func link(_ port: Int = 443) -> Link {
        Link(
            host: "192.0.2.9", port: port, id: BroadcastID(7), secret: [UInt8](repeating: 1, count: 16),
            fingerprint: fingerprint)
    }

    private static func viewer(_ number: Int) -> Viewer {
        let fingerprint = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
        return Viewer(
            knock: nil, name: "viewer", kind: "share", address: "192.0.2.1", fingerprint: fingerprint,
            identity: ViewerIdentity(fingerprint: fingerprint))
    }

    @Test func allGoToTheRelayWhenItHasToldItsLink() {
        var stage = Stage(limit: 1)
        let first = stage.join()
        #expect(stage.running == nil)
        let second = stage.join()
        #expect(stage.running != nil && stage.redirected.isEmpty)
        // Of another server.
        stage.handle(
            .published(
                Link(
                    host: "192.0.2.9", port: 443, id: BroadcastID(7), secret: [UInt8](repeating: 1, count: 16),
                    fingerprint: [UInt8](repeating: 8, count: 32))))
        #expect(stage.redirected.isEmpty)
        stage.handle(.published(Self.link()))
        #expect(Set(stage.redirected) == [first, second] && stage.state.commonLink == Self.link())
        let third = stage.join()
        #expect(stage.redirected.last == third && stage.violations.isEmpty)
    }

    /// Also viewers that came in between.
    @Test func allAreSentToTheNextPublicationTenSecondsAfterOneHasEnded() {
        var stage = Stage(limit: 0)
        let first = stage.join()
        stage.handle(.published(Self.link()))
        #expect(stage.redirected == [first])
        stage.endPublication()
        let second = stage.join()
        stage.wait(.milliseconds(9_900))
        #expect(stage.running == nil)
        stage.wait(.milliseconds(200))
        #expect(stage.running != nil)
        stage.handle(.published(Self.link()))
        #expect(Set(stage.redirected.dropFirst()) == [first, second] && stage.violations.isEmpty)
    }

    @Test func viewersAreSentToAnotherLinkEachFiveSeconds() {
        var stage = Stage(limit: 0)
        stage.join()
        for port in 1...19 {
            stage.handle(.published(Self.link(port)))
            stage.wait(.milliseconds(500))
        }
        #expect(stage.redirected.count == 2)
        stage.wait(.seconds(5))
        #expect(stage.redirected.count == 3 && stage.violations.isEmpty)
    }

    @Test func aPublicationThatFailsIsTriedAgainLessAndLessOften() {
        var stage = Stage(limit: 0)
        stage.join()
        for _ in 0..<8 {
            stage.endPublication()
            stage.wait(.seconds(170))
        }
        #expect(stage.events.count == 1 && stage.calls == 0)
        var next = Stage(limit: 0)
        next.join()
        var times: [MediaDuration] = []
        for _ in 0..<6 {
            let end = next.now
            next.endPublication()
            while next.running == nil { next.wait(.milliseconds(100)) }
            times.append(next.now - end)
        }
        #expect(times == [10, 20, 40, 80, 160, 160].map { .seconds($0) })
    }

    @Test func viewersAreCalledBackWhenTheRelayHasGone() {
        var stage = Stage(limit: 0)
        stage.join()
        stage.handle(.published(Self.link()))
        stage.endPublication()
        #expect(stage.calls == 1 && stage.state.commonLink == nil && stage.events.count == 3)
        stage.wait(.milliseconds(9_900))
        #expect(stage.running == nil)
        stage.wait(.milliseconds(100))
        #expect(stage.running == 2 && stage.violations.isEmpty)
    }

    /// `--route relay`: nobody has to come first, nobody comes back, and newcomers wait while the relay does not send.
    @Test func aRelayThatSendsAloneIsPublishedToFromTheStartOn() {
        var stage = Stage(limit: 0, isRelayOnly: true)
        #expect(stage.running == 1 && stage.admissions.isEmpty && stage.state.commonLink == nil)
        stage.handle(.published(Self.link()))
        #expect(stage.admissions == [true] && stage.state.commonLink == Self.link() && stage.events.count == 1)
        // It moves with its relay, and nobody is called back when few are left.
        stage.handle(.published(Self.link(444)))
        stage.handle(.relayViewers(3))
        stage.handle(.relayViewers(0))
        stage.wait(.seconds(300))
        #expect(stage.admissions == [true] && stage.state.commonLink == Self.link(444) && stage.returns.isEmpty)
        stage.endPublication()
        #expect(stage.admissions == [true, false] && stage.state.commonLink == nil && stage.calls == 0)
        var times: [MediaDuration] = []
        for _ in 0..<6 {
            let end = stage.now
            while stage.running == nil { stage.wait(.milliseconds(100)) }
            times.append(stage.now - end)
            stage.endPublication()
        }
        #expect(times == [2, 2, 4, 8, 16, 32].map { .seconds($0) })
        while stage.running == nil { stage.wait(.milliseconds(100)) }
        stage.handle(.published(Self.link()))
        #expect(stage.admissions.last == true && stage.violations.isEmpty)
    }

    @Test func aViewerThatNoMediaReachesIsSentThereAlone() {
        var stage = Stage(limit: 5)
        let (near, far) = (stage.join(), stage.join(isConnected: false))
        stage.wait(.milliseconds(3_999))
        #expect(stage.running == nil)
        stage.wait(.milliseconds(1))
        #expect(stage.running != nil)
        stage.handle(.published(Self.link()))
        #expect(stage.redirected == [far] && stage.state.commonLink == nil)
        stage.handle(.streamOpened([near, far]))
        #expect(stage.redirected == [far, far] && stage.violations.isEmpty)
    }

    @Test func fewViewersComeBackBeforeThePublicationEnds() {
        var stage = Stage(limit: 2)
        let sessions = [stage.join(), stage.join(), stage.join()]
        stage.handle(.published(Self.link()))
        for session in sessions { stage.leave(session) }
        stage.handle(.relayViewers(3))
        stage.wait(.seconds(100))
        #expect(stage.returns.isEmpty)
        stage.handle(.relayViewers(1))
        stage.wait(.seconds(62))
        #expect(stage.returns == [1] && stage.closed.isEmpty && stage.state.commonLink == nil)
        // Of a former publication.
        stage.handle(.returning(false, of: 0))
        stage.handle(.returning(true, of: 1))
        stage.wait(.seconds(11))
        #expect(stage.closed.isEmpty)
        stage.handle(.relayViewers(0))
        #expect(stage.closed.count == 1)
        stage.wait(.seconds(30))
        stage.endPublication()
        #expect(stage.closed.count == 1 && stage.violations.isEmpty)
    }

    @Test func viewersThatDoNotComeBackAreWaitedForTwelveSeconds() {
        var stage = Stage(limit: 2)
        for session in [stage.join(), stage.join(), stage.join()] { stage.leave(session) }
        stage.handle(.published(Self.link()))
        stage.handle(.relayViewers(1))
        stage.wait(.seconds(62))
        stage.handle(.returning(true, of: 1))
        stage.wait(.milliseconds(11_900))
        #expect(stage.closed.isEmpty)
        stage.wait(.milliseconds(100))
        #expect(stage.closed.count == 1)
    }

    @Test(arguments: 0..<20) func whateverHappensOnePublicationRunsAtATime(_ group: UInt64) {
        for seed in group * 20..<(group + 1) * 20 {
            var random = SeededGenerator(seed: seed &+ 100)
            var stage = Stage(
                limit: Int.random(in: 0...4, using: &random), isRelayOnly: seed % 4 == 0, seed: seed)
            for _ in 0..<300 {
                stage.wait(.milliseconds(Int.random(in: 1...4_000, using: &random)))
                switch Int.random(in: 0..<14, using: &random) {
                case 0...2: stage.join(isConnected: Bool.random(using: &random))
                case 3, 4: if let session = stage.snapshot.viewers.keys.randomElement() { stage.leave(session) }
                case 5: stage.snapshot.unconnected = []
                case 6, 7: stage.handle(.published(Self.link(Int.random(in: 1...3, using: &random))))
                case 8, 9: stage.handle(.relayViewers(Int.random(in: -1...3, using: &random)))
                case 10:
                    stage.handle(.returning(Bool.random(using: &random), of: Int.random(in: 0...9, using: &random)))
                case 11: stage.handle(.publicationEnded(EndReason(.failed, "late"), of: 0))
                case 12: stage.endPublication()
                default: stage.handle(.streamOpened(Array(stage.snapshot.viewers.keys)))
                }
            }
            stage.handle(.stop)
            stage.endPublication()
            stage.join()
            stage.wait(.seconds(600))
            #expect(stage.violations.isEmpty, "seed \(seed): \(stage.violations)")
            #expect(stage.state.deadline == nil && stage.state.isOver)
        }
    }
}
