import LinuxRuntime
import MediaCore

/// A service that was found on the local network. All of it is what its host says.
package struct LocalService: Equatable, Sendable {
    package let name: String
    /// An IP address; a link-local one of IPv6 with its interface.
    package let address: String
    package let port: Int
    /// `key=value`.
    package let texts: [String]
}

/// Looks for services of this program on the local network.
package enum LocalServices {
    /// Of the services that are found at most.
    private static let limit = 256

    /// Blocks until Avahi says that no more are known for now, and for `seconds` at most.
    /// - Parameter environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    package static func find(
        seconds: Double = 3, environment: [String: String]
    ) throws(LocalNetworkFailure) -> [LocalService] {
        let bus = try Avahi.connect(environment)
        defer { bus.close() }
        struct Found {
            /// The arguments of ItemNew, with which ResolveService begins.
            var items: [[BusValue]] = []
            var isComplete = false
        }
        let found = Monitor(Found())
        // Avahi may tell of services before it has returned the browser's path.
        bus.match("type='signal',sender='\(Avahi.name)',interface='\(Avahi.browser)'")
        bus.listen { message in
            guard message.kind == .signal, message.interface == Avahi.browser else { return false }
            found.change { found in
                switch message.member {
                case "ItemNew" where message.arguments.count >= 5 && found.items.count < limit:
                    found.items.append(Array(message.arguments.prefix(5)))
                case "AllForNow", "Failure": found.isComplete = true
                default: break
                }
            }
            return false
        }
        _ = try bus.askAvahi(
            "/", Avahi.server, "ServiceBrowserNew",
            [Avahi.any, Avahi.any, .text(Avahi.serviceType), .text(""), .uint32(0)])
        _ = found.wait(until: MonotonicClock.now + .milliseconds(Int(seconds * 1_000))) { $0.isComplete ? () : nil }
        var services: [LocalService] = []
        for item in found.with({ $0.items }) {
            guard let service = resolve(item, bus), !services.contains(where: { $0.name == service.name }) else {
                continue
            }
            services.append(service)
        }
        return services
    }

    /// - Returns: nil if the service does not answer any more, or its answer makes no sense.
    private static func resolve(_ item: [BusValue], _ bus: BusConnection) -> LocalService? {
        // Interface, protocol, name, type, domain, host, protocol of the address, address, port, texts, flags.
        guard
            let answer = try? bus.askAvahi(
                "/", Avahi.server, "ResolveService", item + [.int32(0), .uint32(0)]), answer.count >= 10,
            let interface = answer[0].number, let name = answer[2].text, let address = answer[7].text,
            let port = answer[8].number, (1...65_535).contains(port)
        else { return nil }
        let texts = (answer[9].list ?? []).compactMap { value -> String? in
            if case .bytes(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
        let isLinkLocal = address.lowercased().hasPrefix("fe80:")
        return LocalService(
            name: name, address: isLinkLocal ? "\(address)%\(interface)" : address, port: port, texts: texts)
    }
}
