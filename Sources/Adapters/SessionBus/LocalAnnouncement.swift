import Glibc
import LinuxRuntime

/// Tells the local network of a service until it is closed (DNS-based service discovery, RFC 6763, over multicast DNS).
package final class LocalAnnouncement: Sendable {
    /// Of an instance's name, in bytes (RFC 6763 section 4.1.1).
    private static let nameLength = 63
    private static let established: Int32 = 2
    private static let (collision, failure): (Int32, Int32) = (3, 4)

    private let bus: BusConnection

    /// Blocks until Avahi has taken the service.
    /// - Parameters:
    ///   - name: of the instance; a number is added if another one has it.
    ///   - texts: `key=value`, 255 bytes at most each.
    ///   - environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    ///   - ended: called if Avahi gives the service up; a sentence without a full stop.
    package init(
        _ name: String, port: Int, texts: [String], environment: [String: String],
        ended: @escaping @Sendable (String) -> Void
    ) throws(LocalNetworkFailure) {
        bus = try Avahi.connect(environment)
        let bus = bus
        do throws(LocalNetworkFailure) {
            let made = try bus.askAvahi("/", Avahi.server, "EntryGroupNew")
            guard let group = made.first?.text else {
                throw LocalNetworkFailure(message: "Avahi's answer makes no sense")
            }
            bus.match("type='signal',interface='\(Avahi.group)',path='\(group)'")
            bus.match(
                "type='signal',sender='\(BusConnection.bus)',member='NameOwnerChanged',arg0='\(Avahi.name)'")
            bus.listen { message in
                if message.newOwner(of: Avahi.name) == "" { ended("avahi-daemon has ended") }
                if message.path == group, message.isSignal(Avahi.group, "StateChanged"),
                    let state = message.arguments.first?.number, [Self.collision, Self.failure].contains(Int32(state))
                {
                    ended("another service has its name")
                }
                return false
            }
            try Self.add(name, port, texts, group, bus)
            _ = try bus.askAvahi(group, Avahi.group, "Commit")
        } catch {
            bus.close()
            throw error
        }
    }

    /// Adds the service under a name that no other one has.
    private static func add(
        _ name: String, _ port: Int, _ texts: [String], _ group: String, _ bus: BusConnection
    ) throws(LocalNetworkFailure) {
        var last: LocalNetworkFailure?
        for number in 1...9 {
            let suffix = number == 1 ? "" : " \(number)"
            let full = shortened(name, to: nameLength - suffix.utf8.count) + suffix
            do throws(LocalNetworkFailure) {
                _ = try bus.askAvahi(
                    group, Avahi.group, "AddService",
                    [
                        Avahi.any, Avahi.any, .uint32(0), .text(full), .text(Avahi.serviceType), .text(""), .text(""),
                        .uint16(UInt16(clamping: port)), .array(of: "ay", texts.map { .bytes(Array($0.utf8)) }),
                    ])
                return
            } catch {
                last = error
            }
        }
        if let last { throw last }
    }

    private static func shortened(_ text: String, to limit: Int) -> String {
        var text = text
        while text.utf8.count > limit { text.removeLast() }
        return text
    }

    deinit { bus.close() }

    /// Takes the service back.
    package func close() { bus.close() }
}
