import BusSupport
import MediaCore
import Testing

@testable import SessionBus

/// Locks of the session, from screen savers and from logind.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ScreenLockObserverTests {
    private let told = Told<Bool>()

    private func observer(session: TestBus? = nil, system: TestBus? = nil) -> ScreenLockObserver {
        ScreenLockObserver(sessionBus: session?.address, systemBus: system?.address, user: 1000) { [told] in
            told.add($0)
        }
    }

    @Test func aScreenSaverThatBecomesActiveIsALock() throws {
        let bus = try TestBus()
        let saver = try FakeScreenSaver(bus)
        let observer = observer(session: bus)
        #expect(saver.isObserved())
        for isActive in [true, true, false, true] { saver.setActive(isActive) }
        #expect(told.first(3) == [true, false, true])
        observer.close()
    }

    @Test func aScreenSaverThatIsActiveAlreadyIsALock() throws {
        let bus = try TestBus()
        let saver = try FakeScreenSaver(bus, isActive: true)
        let observer = observer(session: bus)
        #expect(told.first(1) == [true])
        saver.setActive(false)
        #expect(told.first(2) == [true, false])
        observer.close()
    }

    @Test(arguments: [true, false])
    func logindLocksItsSession(_ hasDisplay: Bool) throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus, hasDisplay: hasDisplay)
        let observer = observer(system: bus)
        #expect(login.isObserved())
        login.setLockedHint(true)
        login.setLockedHint(false)
        login.send("Lock")
        // The desktop's answer to the signal is no second lock.
        login.setLockedHint(true)
        login.send("Unlock")
        #expect(told.first(4) == [true, false, true, false])
        observer.close()
    }

    /// Another user's session is in front. Where the user has no graphical session, that says nothing.
    @Test(arguments: [true, false])
    func aSessionBehindAnotherOneIsALock(_ hasDisplay: Bool) throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus, hasDisplay: hasDisplay)
        let observer = observer(system: bus)
        #expect(login.isObserved())
        login.setActive(false)
        if !hasDisplay { login.setLockedHint(true) }
        #expect(told.first(1) == [true])
        login.setLockedHint(true)
        login.setActive(true)
        login.setLockedHint(false)
        #expect(told.first(2) == [true, false])
        #expect(told.all.count == 2)
        observer.close()
    }

    @Test func aSessionThatIsLockedAlreadyIsALock() throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus, isLocked: true)
        let observer = observer(system: bus)
        #expect(told.first(1) == [true])
        login.setLockedHint(false)
        #expect(told.first(2) == [true, false])
        observer.close()
    }

    @Test func whatOthersClaimOfTheSessionIsIgnored() throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus)
        let observer = observer(system: bus)
        #expect(login.isObserved())
        let stranger = try bus.service()
        FakeLogin.setLockedHint(true, from: stranger)
        stranger.connection.signal(FakeLogin.session, "org.freedesktop.login1.Session", "Lock")
        stranger.settle()
        login.send("Unlock")
        login.send("Lock")
        #expect(told.first(1) == [true])
        login.send("Unlock")
        #expect(told.first(2) == [true, false])
        #expect(told.all.count == 2)
        observer.close()
    }

    @Test func aLogindThatRestartsIsFollowed() throws {
        let bus = try TestBus()
        var login: FakeLogin? = try FakeLogin(bus)
        let observer = observer(system: bus)
        #expect(login?.isObserved() == true)
        login = nil
        let next = try FakeLogin(bus)
        #expect(next.isObserved())
        next.send("Lock")
        #expect(told.first(1) == [true])
        observer.close()
    }

    @Test func theLastToSpeakIsBelieved() throws {
        let (session, system) = (try TestBus(), try TestBus())
        let saver = try FakeScreenSaver(session)
        let login = try FakeLogin(system)
        let observer = observer(session: session, system: system)
        #expect(saver.isObserved() && login.isObserved())
        login.send("Lock")
        #expect(told.first(1) == [true])
        saver.setActive(false)
        #expect(told.first(2) == [true, false])
        observer.close()
    }

    @Test func missingBusesAndServicesAreNoError() throws {
        ScreenLockObserver(sessionBus: nil, systemBus: nil, user: 0) { _ in }.close()
        ScreenLockObserver(sessionBus: "nonsense", systemBus: "unix:path=/nonexistent/bus", user: 0) { _ in }.close()
        let bus = try TestBus()
        let observer = observer(session: bus, system: bus)
        bus.kill()
        observer.close()
        observer.close()
        #expect(told.all.isEmpty)
    }
}
