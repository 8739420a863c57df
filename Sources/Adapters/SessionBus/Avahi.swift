import CGIO
import LinuxRuntime

/// Why the local network cannot be told, or asked.
package struct LocalNetworkFailure: Error, Equatable, Sendable {
    /// A sentence without a full stop.
    package let message: String
}

/// A connection to the multicast DNS responder of this machine: Avahi, over the system bus. The services are of the
/// type `_share-screen._tcp` (RFC 6763). Messages of anybody but the responder are ignored, as each user of the machine
/// can send them.
final class Avahi: Sendable {
    static let name = "org.freedesktop.Avahi"
    static let server = name + ".Server"
    static let group = name + ".EntryGroup"
    static let browser = name + ".ServiceBrowser"
    static let serviceType = "_share-screen._tcp"
    /// All interfaces, and both versions of IP.
    static let any = BusValue.int32(-1)
    private static let patience: Int32 = 5_000

    let bus: BusConnection
    /// The unique name of the responder's connection.
    let owner: String

    /// - Parameter environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    init(_ environment: [String: String]) throws(LocalNetworkFailure) {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
        guard !address.isEmpty, let bus = BusConnection(address: address) else {
            throw LocalNetworkFailure(message: "there is no system bus")
        }
        self.bus = bus
        let answer = bus.callAndWait(
            BusConnection.bus, BusConnection.busPath, BusConnection.bus, "GetNameOwner", [.text(Self.name)],
            milliseconds: Self.patience)
        guard case .values(let values) = answer, let owner = values.first?.text else {
            bus.close()
            throw LocalNetworkFailure(message: "avahi-daemon does not run")
        }
        self.owner = owner
    }

    /// Calls a method of the responder, and waits for its reply, for 5 s at most.
    func call(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) -> BusReply {
        bus.callAndWait(owner, path, interface, member, arguments, milliseconds: Self.patience)
    }

    /// Calls a method that has to succeed.
    @discardableResult
    func need(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) throws(LocalNetworkFailure) -> [BusValue] {
        switch call(path, interface, member, arguments) {
        case .values(let values): return values
        case .error(let name): throw LocalNetworkFailure(message: "avahi-daemon refuses \(member) (\(name))")
        case .none: throw LocalNetworkFailure(message: "avahi-daemon does not answer")
        }
    }
}
