import Identifiers
import MediaCore
import PeerEngine
import Testing

/// What a viewer's session does at each step, in virtual time.
@Suite struct ViewerSessionStateTests {
    private typealias Session = SimulatedViewerSession
    private typealias State = Session.State

    private let relay = Session.link(2)
    private let other = Session.link(3)

    private func live() -> Session {
        var session = Session()
        session.handle(.start)
        session.connect()
        return session
    }

    private func openLink(_ session: Session) -> Link? {
        if case .open(let link, _) = session.last { link } else { nil }
    }

    private func finishReason(_ session: Session) -> (TestFailure, closesMedia: Bool)? {
        if case .finish(let reason, let closesMedia) = session.last { (reason, closesMedia) } else { nil }
    }

    private func isWithdrawing(_ session: Session) -> Bool { if case .withdraw = session.last { true } else { false } }

    // MARK: One server

    @Test func aSessionKnocksConnectsAndEndsWithTheHost() {
        var session = live()
        #expect(session.listening == [session.present])
        session.handle(.told(session.present, .ended(TestFailure(.hostEnded))))
        #expect(finishReason(session)?.closesMedia == true)
        session.finish()
        #expect(session.end?.kind == .hostEnded)
        #expect(session.violations.isEmpty)
    }

    @Test func theHostsReasonIsWaitedForAfterTheEndOfTheMedia() {
        var session = live()
        session.handle(.ended(session.present, TestFailure(.mediaClosed)))
        #expect(session.last == nil)
        session.wait(.milliseconds(499))
        session.handle(.told(session.present, .ended(TestFailure(.removed))))
        session.finish()
        #expect(session.end?.kind == .removed)

        session = live()
        session.handle(.ended(session.present, TestFailure(.mediaClosed)))
        session.wait(.milliseconds(500))
        session.finish()
        #expect(session.end?.kind == .mediaClosed)
    }

    @Test func aFullQueueIsAskedAgainForAMinute() {
        var session = Session()
        session.handle(.start)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        while finishReason(session) == nil {
            session.answer(
                { if case .knock = $0 { true } else { false } }, .failed(TestFailure(.refused, isQueueFull: true)))
            session.wait(.milliseconds(100))
        }
        #expect((17...21).contains(session.knocks.count))
        for (one, next) in zip(session.knocks, session.knocks.dropFirst()) {
            #expect(next.at - one.at >= .seconds(3) && next.at - one.at <= .seconds(4))
        }
        #expect(session.reports.count { if case .queueFull = $0 { true } else { false } } == 1)
        session.finish()
        #expect(session.end?.isQueueFull == true && session.violations.isEmpty)
    }

    @Test(arguments: [-1, 31, Int.max, Int.min]) func aServerThatNamesAnotherTimeIsNotAskedAgain(_ seconds: Int) {
        var session = Session()
        session.handle(.start)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        session.answer(
            { if case .knock = $0 { true } else { false } },
            .failed(TestFailure(.refused, retryAfter: seconds, isRateLimited: true)))
        #expect(finishReason(session) != nil)
    }

    @Test func aBusyServerGetsFiveOffers() {
        var session = Session()
        session.handle(.start)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        session.answer({ if case .knock = $0 { true } else { false } }, .knocked(words: ""))
        session.answer({ if case .waitForAnswer = $0 { true } else { false } }, .admitted(pass: nil, redirect: nil))
        var offers = 0
        while session.answer(
            { request in
                switch request {
                case .connect, .offer: true
                default: false
                }
            }, .failed(TestFailure(.refused, retryAfter: 10)))
        {
            offers += 1
            session.wait(.seconds(10))
        }
        #expect(offers == 5 && finishReason(session) != nil)
        #expect(session.reports.count { if case .serverBusy = $0 { true } else { false } } == 1)
    }

    @Test func aViewerThatLeavesBeforeItsConnectionIsMadeEndsIt() {
        var session = Session()
        session.handle(.leave(TestFailure(.stopped)))
        session.handle(.start)
        #expect(finishReason(session) == nil)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        #expect(finishReason(session)?.closesMedia == true)
        session.finish()
        #expect(session.end?.kind == .stopped && session.knocks.isEmpty)
    }

    @Test func onlyChangesOfTheBroadcastAreTold() {
        var session = live()
        let told = session.reports.count
        for hold in [nil, .pause, .pause, .blank, nil] as [BroadcastHold?] {
            session.handle(.told(session.present, .held(hold)))
        }
        #expect(session.reports.count == told + 3)
    }

    @Test func anAttemptToReconnectIsNoted() {
        var session = live()
        session.handle(.recovery(source: session.present, .attempt(.iceRestart, timeout: .seconds(2))))
        session.answer({ if case .attempt = $0 { true } else { false } }, .attempted(.gone, TestFailure(.lost)))
        #expect(session.noted == [.gone])
        // What comes after the end is nobody's.
        session.handle(.recovery(source: session.present, .attempt(.newSession, timeout: .seconds(2))))
        session.handle(.leave(TestFailure(.stopped)))
        session.answer({ if case .attempt = $0 { true } else { false } }, .attempted(.answered, TestFailure(.lost)))
        #expect(session.noted == [.gone] && session.violations.isEmpty)
    }

    // MARK: Other relays

    @Test func aViewerGoesOnAtAnotherRelayOfTheCluster() {
        var session = live()
        session.handle(.told(session.present, .alternates([relay])))
        session.handle(.told(session.present, .stopping))
        #expect(finishReason(session)?.closesMedia == false)
        session.finish()
        #expect(openLink(session) == relay)
        session.connect()
        session.handle(.media(source: 1, .connected(path: "direct"), "connected"))
        #expect(session.passed == ["connected"] && session.violations.isEmpty)
    }

    @Test func relaysAreTriedForThirtySecondsInRounds() {
        var session = live()
        session.handle(.told(session.present, .alternates([relay, other])))
        session.handle(.ended(session.present, TestFailure(.lost)))
        let begin = session.now
        while session.end == nil, session.now - begin < .seconds(60) {
            session.finish()
            session.wait(.milliseconds(500))
            session.answer({ if case .open = $0 { true } else { false } }, .opened)
            session.wait(.milliseconds(500))
            session.answer({ if case .knock = $0 { true } else { false } }, .failed(TestFailure(.lost)))
        }
        let elsewhere = session.knocks.dropFirst().map(\.link)
        #expect(Set(elsewhere) == [relay, other, Session.home])
        // The home is tried again after the time, too, as the viewer is elsewhere.
        #expect(session.end?.kind == .lost)
        #expect(session.now - begin < .seconds(35) && session.violations.isEmpty)
    }

    @Test func aSilentRelayIsLeftAfterFourSecondsIfThereAreOthers() {
        var session = live()
        session.handle(.media(source: 1, .waiting(.seconds(5)), "waiting"))
        #expect(session.last == nil)
        session.handle(.told(session.present, .alternates([relay])))
        session.handle(.media(source: 1, .waiting(.seconds(3)), "waiting"))
        #expect(session.last == nil)
        session.handle(.media(source: 1, .waiting(.seconds(4)), "waiting"))
        #expect(finishReason(session) != nil && session.passed.count == 3)
    }

    // MARK: Redirects

    @Test func theFormerConnectionGoesOnUntilTheNextHasAFrame() {
        var session = live()
        let first = session.present
        session.handle(.told(first, .redirect(.init(link: relay, age: 5))))
        #expect(openLink(session) == relay)
        session.connect(pass: "pass")
        #expect(session.present == first && session.connections.count == 2)
        let next = session.connections.keys.max()!
        session.handle(.media(source: next, .connected(path: "there"), "not shown"))
        session.handle(.media(source: first, .other, "shown"))
        session.handle(.firstFrame(next))
        #expect(session.present == next && session.connections.count == 1 && session.passed == ["shown"])
        #expect(session.listening == [first, next])
        #expect(session.reports.contains { if case .connected("there") = $0 { true } else { false } })
        #expect(session.violations.isEmpty)
    }

    @Test func anOrderToTheHostItselfIsNotFollowed() {
        var session = live()
        session.handle(.told(session.present, .redirect(.init(link: Session.home, age: 5))))
        #expect(session.last == nil)
    }

    @Test func anotherServerIsTriedFiveTimesForTenSecondsEach() {
        var session = live()
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 5))))
        var attempts = 0
        let begin = session.now
        while session.answer({ if case .open = $0 { true } else { false } }, .opened) {
            attempts += 1
            session.wait(.milliseconds(9_980))
            #expect(!isWithdrawing(session))
            session.wait(.milliseconds(20))
            #expect(isWithdrawing(session))
            session.answer({ if case .withdraw = $0 { true } else { false } }, .withdrawn(true))
            let end = session.now + .seconds(8)
            while openLink(session) == nil, session.now < end { session.wait(.milliseconds(10)) }
        }
        #expect(attempts == 5 && session.now - begin < .seconds(100))
        #expect(session.connections.count == 1)
        #expect(session.reports.count { if case .redirectFailed = $0 { true } else { false } } == 1)
        // An order that is not newer is not followed.
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 5))))
        #expect(session.last == nil)
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 6))))
        #expect(openLink(session) == relay && session.violations.isEmpty)
    }

    @Test func anAdmissionNamesAServerThatIsTriedOnce() {
        var session = Session()
        session.handle(.start)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        session.answer({ if case .knock = $0 { true } else { false } }, .knocked(words: ""))
        session.answer(
            { if case .waitForAnswer = $0 { true } else { false } },
            .admitted(pass: nil, redirect: .init(link: relay, age: 0)))
        #expect(openLink(session) == relay)
        session.answer({ if case .open = $0 { true } else { false } }, .failed(TestFailure(.lost)))
        session.answer({ if case .withdraw = $0 { true } else { false } }, .withdrawn(true))
        session.answer({ if case .connect = $0 { true } else { false } }, .connected)
        #expect(session.listening == [session.present] && session.violations.isEmpty)
    }

    /// A session whose host has admitted it and sent it to the only server that sends.
    private func sentElsewhere() -> Session {
        var session = Session()
        session.handle(.start)
        session.connect(redirect: .init(link: relay, age: 0, isOnly: true))
        return session
    }

    /// The host sends nothing: there is no session with it, and the only server is tried as after an order.
    @Test func theOnlyServerThatSendsIsTriedFiveTimes() {
        var session = sentElsewhere()
        var attempts = 0
        while openLink(session) == relay {
            attempts += 1
            session.answer({ if case .open = $0 { true } else { false } }, .failed(TestFailure(.lost)))
            session.answer({ if case .withdraw = $0 { true } else { false } }, .withdrawn(true))
            session.wait(.seconds(8))
        }
        #expect(attempts == 5 && finishReason(session)?.0.kind == .lost)
        session.finish()
        #expect(session.end?.kind == .lost && session.listening.isEmpty && session.violations.isEmpty)
    }

    /// It comes back to the host for the way there, three times in a row.
    @Test(arguments: [false, true]) func aViewerGoesBackToTheOnlyServerThatSends(stays: Bool) {
        var session = sentElsewhere()
        var returns = 0
        while openLink(session) == relay, returns < 6 {
            session.connect()
            session.handle(.firstFrame(session.connections.keys.max()!))
            #expect(session.connections.count == 1)
            if stays { session.wait(.seconds(61)) }
            session.handle(.ended(session.present, TestFailure(.lost)))
            session.finish()
            #expect(openLink(session) == Session.home)
            returns += 1
            session.connect(redirect: .init(link: relay, age: 0, isOnly: true))
        }
        #expect(returns == (stays ? 6 : 3) && session.violations.isEmpty)
        guard !stays else { return }
        session.finish()
        #expect(session.end?.kind == .lost)
    }

    @Test func aFrameThatComesWithTheEndOfTheFormerConnectionCounts() {
        var session = live()
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 5))))
        session.connect()
        let next = session.connections.keys.max()!
        session.handle(.ended(session.present, TestFailure(.lost)))
        #expect(isWithdrawing(session))
        session.handle(.firstFrame(next))
        session.answer({ if case .withdraw = $0 { true } else { false } }, .withdrawn(false))
        #expect(session.present == next && session.end == nil && session.last == nil)
        #expect(session.violations.isEmpty)
    }

    @Test func aViewerComesBackToTheHostThatDoesNotAnswerAnyMore() {
        var session = live()
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 5))))
        session.connect()
        session.handle(.firstFrame(session.connections.keys.max()!))
        session.handle(.ended(session.present, TestFailure(.hostEnded)))
        session.finish()
        #expect(openLink(session) == Session.home)
        session.answer({ if case .open = $0 { true } else { false } }, .opened)
        session.answer({ if case .knock = $0 { true } else { false } }, .failed(TestFailure(.lost)))
        session.finish()
        // The host has ended the broadcast elsewhere first.
        #expect(session.end?.kind == .hostEnded && session.violations.isEmpty)
    }

    @Test func aRelayThatForwardsSendsItsOwnViewersBack() {
        var session = Session(handsSinkOver: false)
        session.handle(.start)
        session.connect()
        session.handle(.told(session.present, .returnToHost))
        session.handle(.told(session.present, .redirect(.init(link: relay, age: 5))))
        #expect(session.returnedViewers == 1 && session.last == nil)
    }
}
