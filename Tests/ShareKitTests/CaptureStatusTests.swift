import BusSupport
import Foundation
import SessionBus
import TestSupport
import Testing

@testable import ShareKit

/// The system broadcast as an app sees it, on a bus of the test's own.
@Suite(.timeLimit(.minutes(2)))
struct CaptureStatusTests {
    private static func state(captured: Bool, paused: Bool = false) -> BroadcastObject.State {
        var state = BroadcastObject.State()
        (state.isBroadcasting, state.isCaptured, state.isPaused) = (true, captured, paused)
        return state
    }

    @Test func anAppSeesThatTheScreenIsCaptured() async throws {
        let bus = try TestBus()
        let monitor = SystemBroadcastMonitor(busAddress: bus.address)
        let status = CaptureStatus(monitor)
        #expect(!status.isCaptured)
        var changes = status.changes.makeAsyncIterator()
        var broadcasts = monitor.broadcasting().makeAsyncIterator()
        #expect(await changes.next() == false)
        #expect(await broadcasts.next() == false)
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in nil }
        #expect(await changes.next() == true)
        #expect(await broadcasts.next() == true)
        #expect(status.isCaptured && monitor.isBroadcasting)
        // A paused broadcast captures nothing, and is a broadcast still.
        object.update(Self.state(captured: false, paused: true))
        #expect(await changes.next() == false)
        #expect(!status.isCaptured && monitor.isBroadcasting)
        object.update(Self.state(captured: true))
        #expect(await changes.next() == true)
        object.close()
        #expect(await changes.next() == false)
        #expect(await broadcasts.next() == false)
    }

    @Test func aBroadcastThatRunsAlreadyIsSeenAtOnce() async throws {
        let bus = try TestBus()
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in nil }
        let monitor = SystemBroadcastMonitor(busAddress: bus.address)
        #expect(CaptureStatus(monitor).isCaptured)
        let (one, two) = (monitor.broadcasting(), monitor.broadcasting())
        for stream in [one, two] {
            var values = stream.makeAsyncIterator()
            #expect(await values.next() == true)
        }
        object.close()
    }

    @Test(arguments: [nil, "unix:path=/nonexistent/bus", "nonsense"])
    func withoutABusNothingIsCaptured(_ address: String?) async {
        let monitor = SystemBroadcastMonitor(busAddress: address)
        let status = CaptureStatus(monitor)
        #expect(!status.isCaptured && !monitor.hasBus)
        var changes = status.changes.makeAsyncIterator()
        #expect(await changes.next() == false)
    }

    @Test func aBusThatGoesAwayTakesTheCaptureWithIt() async throws {
        let bus = try TestBus()
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in nil }
        let monitor = SystemBroadcastMonitor(busAddress: bus.address)
        #expect(monitor.state.isCaptured)
        bus.kill()
        // GIO notes the end of the connection on a thread of its own.
        let deadline = ContinuousClock.now + .seconds(20)
        while monitor.hasBus, ContinuousClock.now < deadline { await Task.yield() }
        #expect(!monitor.state.isCaptured)
        object.close()
    }
}
