import MediaCore
import Testing

@testable import ExtensionChannel

/// The life of a program in virtual time.
@Suite struct ExtensionLifecycleTests {
    private let start = MediaInstant(nanoseconds: 0)
    private var life: ExtensionLifecycle

    init() { life = ExtensionLifecycle(limits: .init(), isSetup: false, now: start) }

    private let ready = ExtensionMessage.ready(ExtensionReadiness(media: .raw))

    private mutating func at(_ seconds: Double, _ event: ExtensionLifecycle.Event) -> [ExtensionLifecycle.Action] {
        life.handle(event, now: start + .milliseconds(Int(seconds * 1_000)))
    }

    @Test mutating func aProgramIsStartedAndEndsWhenItIsAsked() {
        #expect(at(0.1, .message(ready)) == [.begin(ExtensionReadiness(media: .raw))])
        #expect(life.nextDeadline == nil)
        #expect(at(1, .message(.broadcastURL("https://a"))) == [.deliver(.broadcastURL("https://a"))])
        #expect(at(2, .finish) == [.send(.finish)])
        #expect(at(2.1, .finish) == [])
        #expect(at(2.5, .exited(.exited(code: 0))) == [.end(.finished)])
        #expect(at(3, .message(ready)) == [])
    }

    @Test mutating func aProgramThatDoesNotAnswerIsEnded() {
        #expect(at(4.9, .time) == [])
        #expect(at(5, .time) == [.terminate])
        #expect(at(5.9, .time) == [])
        #expect(at(6, .time) == [.kill])
        #expect(at(6, .time) == [])
        #expect(at(6.1, .exited(.crashed(signal: 9))) == [.end(.noAnswer)])
    }

    @Test mutating func aProgramThatDoesNotEndIsKilledWithinFiveSeconds() {
        _ = at(0, .message(ready))
        #expect(at(10, .finish) == [.send(.finish)])
        #expect(at(13, .time) == [.terminate])
        #expect(at(14, .time) == [.kill])
        #expect(at(14, .exited(.crashed(signal: 9))) == [.end(.finished)])
    }

    @Test mutating func theFirstReasonStays() {
        _ = at(0, .message(ready))
        #expect(at(1, .memory(50_000_001)) == [.terminate])
        #expect(at(1.1, .message(.failed(reason: "late", nextStep: nil))) == [])
        #expect(at(1.2, .malformedMessage) == [])
        #expect(
            at(1.3, .exited(.exited(code: 0))) == [.end(.overMemoryBudget(used: 50_000_001, budget: 50_000_000))])
    }

    @Test mutating func aProgramMaySayWhyItEnds() {
        _ = at(0, .message(ready))
        #expect(at(1, .message(.failed(reason: "closed", nextStep: "sign in"))) == [.send(.finish)])
        #expect(at(1, .exited(.exited(code: 1))) == [.end(.reported(reason: "closed", nextStep: "sign in"))])
    }

    @Test mutating func theHostsEndIsNoReasonAgainstTheProgramsOwn() {
        _ = at(0, .message(ready))
        _ = at(1, .finish)
        #expect(at(1.1, .message(.failed(reason: "upload failed", nextStep: nil))) == [])
        #expect(at(1.2, .exited(.exited(code: 1))) == [.end(.reported(reason: "upload failed", nextStep: nil))])
    }

    @Test(arguments: [
        ExtensionMessage.release(memory: 1, slot: 0), .setup([:]), .cancelled, .keyframe, .broadcastURL("https://a"),
        .ready(ExtensionReadiness(media: .none)),
    ])
    mutating func whatComesBeforeItsTimeIsNoMessage(_ message: ExtensionMessage) {
        #expect(at(0, .message(message)) == [.terminate])
        #expect(at(0, .exited(.exited(code: 0))) == [.end(.malformed)])
    }

    @Test mutating func anotherVersionIsNamed() {
        var readiness = ExtensionReadiness(media: .raw)
        readiness.version = 9
        #expect(at(0, .message(.ready(readiness))) == [.terminate])
        #expect(at(0, .exited(.exited(code: 0))) == [.end(.otherVersion(9))])
    }

    @Test mutating func feedbackIsLimitedAndReleasesAreNot() {
        _ = at(0, .message(ready))
        for _ in 0..<10_000 {
            #expect(at(1, .message(.release(memory: 1, slot: 0))) == [.deliver(.release(memory: 1, slot: 0))])
        }
        var delivered = 0
        while at(1, .message(.keyframe)) == [.deliver(.keyframe)] { delivered += 1 }
        #expect((90...101).contains(delivered))
        #expect(at(1, .exited(.exited(code: 0))) == [.end(.flooding)])
    }

    @Test mutating func aStallOfFiveSecondsEndsIt() {
        _ = at(0, .message(ready))
        #expect(at(4, .stalled(.milliseconds(4_999))) == [])
        #expect(at(5, .stalled(.seconds(5))) == [.terminate])
        #expect(at(5, .exited(.crashed(signal: 15))) == [.end(.unresponsive)])
    }

    @Test mutating func aClosedConnectionEndsTheProcess() {
        _ = at(0, .message(ready))
        #expect(at(1, .connectionClosed) == [.terminate])
        #expect(at(1, .exited(.exited(code: 0))) == [.end(.exited(code: 0))])
    }

    @Test mutating func aProgramThatClosesItsConnectionAndStaysIsNamed() {
        _ = at(0, .message(ready))
        _ = at(1, .connectionClosed)
        #expect(at(2, .time) == [.kill])
        #expect(at(2, .exited(.crashed(signal: 9))) == [.end(.disconnected)])
    }

    @Test mutating func aProgramMayCloseItsConnectionBeforeItEnds() {
        _ = at(0, .message(ready))
        _ = at(1, .finish)
        #expect(at(1.5, .connectionClosed) == [])
        #expect(at(2, .exited(.exited(code: 0))) == [.end(.finished)])
    }

    @Test func aSetupProgramEndsByItsAnswer() {
        var life = ExtensionLifecycle(limits: .init(), isSetup: true, now: start)
        _ = life.handle(.message(.ready(ExtensionReadiness(media: .none))), now: start)
        // The user may take as long as it takes.
        #expect(life.nextDeadline == nil)
        let later = start + .seconds(600)
        #expect(
            life.handle(.message(.setup(["title": "A"])), now: later)
                == [.deliver(.setup(["title": "A"])), .send(.finish)])
        #expect(life.handle(.exited(.exited(code: 0)), now: later) == [.end(.finished)])
    }
}
