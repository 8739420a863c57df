import Foundation
import SessionBus
import TestSupport
import Testing

@Suite struct SessionBusAddressTests {
    @Test func sessionBusIsTheEnvironmentsOrTheLoginsAndNoneIsStarted() throws {
        let folder = try TemporaryFolder()
        #expect(SessionBusAddress.running(in: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"]) == "unix:path=/x")
        #expect(SessionBusAddress.running(in: ["XDG_RUNTIME_DIR": folder.path]) == nil)
        try Data().write(to: URL(fileURLWithPath: folder.file("bus")))
        let address = "unix:path=\(folder.file("bus"))"
        #expect(SessionBusAddress.running(in: ["XDG_RUNTIME_DIR": folder.path]) == address)
        #expect(
            SessionBusAddress.running(in: ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": folder.path]) == address)
        #expect(SessionBusAddress.running(in: ["DISPLAY": ":0"]) == nil)
    }
}
