import BusSupport
import LinuxRuntime
import MediaCore
import Testing

@testable import SessionBus

/// Waits for what is told on another thread.
final class Told<Value: Sendable & Equatable>: Sendable {
    private let values = Monitor<[Value]>([])

    func add(_ value: Value) { values.change { $0.append(value) } }

    var all: [Value] { values.with { $0 } }

    /// Waits until so many values were told, for 20 s at most.
    func first(_ count: Int) -> [Value] {
        values.wait(until: MonotonicClock.now + .seconds(20)) { $0.count >= count ? Array($0.prefix(count)) : nil }
            ?? all
    }

    /// Waits until the last value is this one, for 20 s at most.
    func ends(with value: Value) -> Bool {
        values.wait(until: MonotonicClock.now + .seconds(20)) { $0.last == value ? true : nil } ?? false
    }
}

/// The system broadcast, as other programs find it on the session bus.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BroadcastObserverTests {
    private let bus = Result { try TestBus() }
    private let told = Told<BroadcastObject.State?>()
    /// How often somebody had the name who did not answer yet, or not as a broadcast does.
    private let unknown = Told<Bool>()

    private func observer(_ bus: TestBus) throws -> BroadcastObserver {
        let observer = BroadcastObserver(address: bus.address) { [told, unknown] sighting in
            if sighting == .unknown { unknown.add(true) } else { told.add(sighting.state) }
        }
        return try #require(observer)
    }

    private var live: BroadcastObject.State {
        var state = BroadcastObject.State()
        state.isBroadcasting = true
        state.isCaptured = true
        state.service = "com.example.conference Conference"
        return state
    }

    @Test func aBroadcastIsSeenFromItsBeginToItsEnd() throws {
        let bus = try bus.get()
        let observer = try observer(bus)
        #expect(told.first(1) == [nil])
        let object = try BroadcastObject(address: bus.address, .init()) { _ in .done }
        #expect(told.first(2) == [nil, .init()])
        object.update(live)
        #expect(told.first(3).last == live)
        var paused = live
        (paused.holds, paused.isCaptured, paused.viewers) = ([.pause, .blank], false, 2)
        paused.controller = "Ann"
        object.update(paused)
        #expect(told.first(4).last == paused)
        object.close()
        #expect(told.first(5).last == .some(nil))
        #expect(observer.isConnected)
        observer.close()
        #expect(!observer.isConnected)
    }

    @Test func aRunningBroadcastIsFoundAndStopped() throws {
        let bus = try bus.get()
        let commands = Told<BroadcastObject.Command>()
        let object = try BroadcastObject(address: bus.address, live) { command in
            commands.add(command)
            return .done
        }
        let observer = try observer(bus)
        #expect(told.first(1) == [live])
        observer.stop()
        #expect(commands.first(1) == [.stop])
        object.close()
        #expect(told.ends(with: nil))
    }

    @Test func onlyTheOwnerOfTheNameIsBelieved() throws {
        let bus = try bus.get()
        let object = try BroadcastObject(address: bus.address, live) { _ in .done }
        let observer = try observer(bus)
        #expect(told.first(1) == [live])
        let stranger = try bus.service()
        stranger.connection.signal(
            BroadcastObject.path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.text(BroadcastObject.name), .dictionary(["Captured": .boolean(false)]), .array(of: "s", [])])
        stranger.connection.signal(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
            [.text(BroadcastObject.name), .text(":1.0"), .text("")])
        stranger.settle()
        var last = live
        last.viewers = 7
        object.update(last)
        #expect(told.first(2) == [live, last])
        observer.close()
        object.close()
    }

    @Test(arguments: [
        [BusValue.dictionary([:])], [.text("nonsense")], [.dictionary(["Broadcasting": .text("yes")])], nil,
    ])
    func aProgramThatIsNoBroadcastIsNone(_ answer: [BusValue]?) throws {
        let bus = try bus.get()
        let squatter = try bus.service(BroadcastObject.name) { _ in answer }
        let observer = try observer(bus)
        if answer?.first?["Broadcasting"] == nil { #expect(unknown.first(1) == [true]) } else { _ = told.first(1) }
        #expect(told.all.allSatisfy { $0?.isBroadcasting != true && $0?.isCaptured != true }, "\(told.all)")
        _ = squatter
        observer.close()
    }

    @Test func aBusThatGoesAwayAndAMissingOneAreNoError() throws {
        let bus = try bus.get()
        let observer = try observer(bus)
        _ = told.first(1)
        bus.kill()
        observer.stop()
        observer.close()
        observer.close()
        for address in ["unix:path=/nonexistent/bus", "nonsense", "", "autolaunch:"] {
            let observer = BroadcastObserver(address: address) { _ in }
            #expect(observer == nil)
        }
    }
}
