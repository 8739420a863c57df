import BusSupport
import ControlSocket
import Foundation
import MediaCore
import SessionBus
import TestSupport
import Testing

@testable import ShareKit

/// The system broadcast as an app sees it, on a bus of the test's own.
@Suite(.timeLimit(.minutes(2)))
struct CaptureStatusTests {
    private static func state(captured: Bool, paused: Bool = false) -> BroadcastObject.State {
        var state = BroadcastObject.State()
        (state.isBroadcasting, state.isCaptured, state.holds) = (true, captured, paused ? [.pause] : [])
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
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in .done }
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

    @Test func anAppSeesWhoControlsTheScreen() async throws {
        let bus = try TestBus()
        var state = Self.state(captured: true)
        let object = try BroadcastObject(address: bus.address, state) { _ in .done }
        let status = CaptureStatus(SystemBroadcastMonitor(busAddress: bus.address))
        var controllers = status.controllers.makeAsyncIterator()
        #expect(await controllers.next() == .some(nil))
        state.controller = "Ann"
        object.update(state)
        #expect(await controllers.next() == "Ann")
        #expect(status.controller == "Ann")
        object.close()
        #expect(await controllers.next() == .some(nil))
    }

    @Test func aBroadcastThatRunsAlreadyIsSeenAtOnce() async throws {
        let bus = try TestBus()
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in .done }
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
    func withoutABusTheLockTells(_ address: String?) async throws {
        let folder = try TemporaryFolder()
        let sockets = ControlSocketFolder(paths: [folder.file("share")])
        let monitor = SystemBroadcastMonitor(busAddress: address, folder: sockets)
        let status = CaptureStatus(monitor)
        #expect(status.state == .notCaptured && !status.isCaptured && !monitor.hasBus)
        var changes = status.changes.makeAsyncIterator()
        #expect(await changes.next() == false)
        let lock = try SingleInstanceLock(.systemBroadcast, in: sockets)
        #expect(await changes.next() == true)
        #expect(status.state == .captured && monitor.isBroadcasting)
        lock.close()
        #expect(await changes.next() == false)
        // Without a folder nothing tells.
        let blind = SystemBroadcastMonitor(busAddress: address)
        #expect(CaptureStatus(blind).state == .unknown && CaptureStatus(blind).isCaptured && !blind.isBroadcasting)
    }

    /// Any program of the session can take a free name of the bus.
    @Test func aProgramThatHasTheNameHidesNoBroadcast() async throws {
        let bus = try TestBus()
        let squatter = try bus.service(BroadcastObject.name) { _ in [.dictionary([:])] }
        let folder = try TemporaryFolder()
        let sockets = ControlSocketFolder(paths: [folder.file("share")])
        let monitor = SystemBroadcastMonitor(busAddress: bus.address, folder: sockets)
        let status = CaptureStatus(monitor)
        #expect(status.state == .unknown && status.isCaptured)
        let lock = try SingleInstanceLock(.systemBroadcast, in: sockets)
        #expect(status.state == .captured && monitor.isBroadcasting)
        lock.close()
        #expect(status.state == .unknown && !monitor.isBroadcasting)
        _ = squatter
    }

    /// It says that nothing is captured, but the lock is another process's.
    @Test func aProgramThatLiesIsNotBelieved() async throws {
        let folder = try TemporaryFolder()
        let sockets = ControlSocketFolder(paths: [folder.file("share")])
        mkdir(folder.file("share"), 0o700)
        let host = try Program(
            "sh",
            [
                "-c",
                "exec 9<>\(folder.file("share/system-broadcast.lock")); flock -x -n 9 && echo $$ >&9 && echo ready && exec sleep 600",
            ])
        #expect(host.line(seconds: 20) { $0 } == "ready")
        let bus = try TestBus()
        let object = try BroadcastObject(address: bus.address, Self.state(captured: false, paused: true)) { _ in .done }
        let monitor = SystemBroadcastMonitor(busAddress: bus.address, folder: sockets)
        #expect(CaptureStatus(monitor).state == .captured && monitor.isBroadcasting)
        host.kill()
        #expect(host.exitCode(seconds: 20) != nil)
        #expect(CaptureStatus(monitor).state == .notCaptured)
        object.close()
    }

    @Test func aBusThatGoesAwayTakesTheCaptureWithIt() async throws {
        let bus = try TestBus()
        let object = try BroadcastObject(address: bus.address, Self.state(captured: true)) { _ in .done }
        let monitor = SystemBroadcastMonitor(busAddress: bus.address)
        #expect(monitor.state.isCaptured)
        bus.kill()
        // GIO notes the end of the connection on a thread of its own.
        let deadline = ContinuousClock.now + .seconds(20)
        while monitor.hasBus, ContinuousClock.now < deadline { await Task.yield() }
        #expect(!monitor.state.isCaptured && !monitor.state.isKnown)
        object.close()
    }
}
