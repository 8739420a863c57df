import CGIO
import LinuxRuntime

/// Why the local network cannot be told, or asked.
package struct LocalNetworkFailure: Error, Equatable, Sendable {
    /// A sentence without a full stop.
    package let message: String
}

/// The multicast DNS responder of this machine: Avahi, over the system bus (org.freedesktop.Avahi.Server). The services
/// are of the type `_share-screen._tcp` (RFC 6763).
enum Avahi {
    static let name = "org.freedesktop.Avahi"
    static let server = name + ".Server"
    static let group = name + ".EntryGroup"
    static let browser = name + ".ServiceBrowser"
    static let serviceType = "_share-screen._tcp"
    /// All interfaces, and both versions of IP.
    static let any = BusValue.int32(-1)

    /// - Parameter environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    static func connect(_ environment: [String: String]) throws(LocalNetworkFailure) -> BusConnection {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
        guard !address.isEmpty, let bus = BusConnection(address: address) else {
            throw LocalNetworkFailure(message: "there is no system bus")
        }
        return bus
    }
}

extension BusConnection {
    /// Calls a method of Avahi, and waits for its reply, for 5 s at most.
    func askAvahi(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) throws(LocalNetworkFailure) -> [BusValue] {
        let reply = ask(Avahi.name, path, interface, member, arguments, milliseconds: 5_000)
        guard let reply else { throw LocalNetworkFailure(message: "Avahi does not answer, or refuses \(member)") }
        return reply
    }
}
