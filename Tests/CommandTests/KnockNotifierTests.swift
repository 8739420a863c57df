import Foundation
import Signaling
import TestSupport
import Testing

@testable import share

/// The address of the session bus for notifications of knocks.
@Suite struct KnockNotifierTests {
    @Test func sessionBusIsTheEnvironmentsOrTheLoginsAndNoneIsStarted() throws {
        let folder = try TemporaryFolder()
        #expect(KnockNotifier.busAddress(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"]) == "unix:path=/x")
        #expect(KnockNotifier.busAddress(["XDG_RUNTIME_DIR": folder.path]) == nil)
        try Data().write(to: URL(fileURLWithPath: folder.file("bus")))
        #expect(KnockNotifier.busAddress(["XDG_RUNTIME_DIR": folder.path]) == "unix:path=\(folder.file("bus"))")
        #expect(KnockNotifier.busAddress(["DISPLAY": ":0"]) == nil)
    }
}
