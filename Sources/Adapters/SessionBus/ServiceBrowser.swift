import LinuxRuntime
import MediaCore

/// A service that was found on the local network. All of it is what somebody there says.
package struct DiscoveredService: Equatable, Sendable {
    package let name: String
    /// An IP address; a link-local one of IPv6 with the number of its interface.
    package let address: String
    package let port: Int
    /// `key=value`.
    package let txtRecord: [String]
}

/// Looks for services of this program on the local network.
package enum ServiceBrowser {
    /// Of the services that are found at most. Who floods the network with names can hide others.
    private static let limit = 256

    private struct Found {
        /// Of the browser; signals may come before it is known.
        var path: String?
        /// The first arguments of ResolveService: interface, protocol, name, type, domain.
        var items: [(path: String, item: [BusValue])] = []
        var ends: Set<String> = []
        /// The answers to ResolveService, by the serials of the calls.
        var answers: [UInt32: [BusValue]?] = [:]
    }

    /// Blocks until no more services are known for now and all have answered, and for twice `seconds` at most.
    /// - Parameter environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    package static func find(
        seconds: Double = 3, environment: [String: String]
    ) throws(LocalNetworkFailure) -> [DiscoveredService] {
        let avahi = try Avahi(environment)
        defer { avahi.bus.close() }
        let found = Monitor(Found())
        let patience = MediaDuration.milliseconds(Int(seconds * 1_000))
        avahi.bus.match("type='signal',sender='\(Avahi.name)',interface='\(Avahi.browser)'")
        avahi.bus.listen { [owner = avahi.owner] message in
            if message.sender == owner { take(message, found) }
            return false
        }
        let made = try avahi.need(
            "/", Avahi.server, "ServiceBrowserNew",
            [Avahi.any, Avahi.any, .text(Avahi.serviceType), .text(""), .uint32(0)])
        guard let path = made.first?.text else { throw LocalNetworkFailure(message: "avahi-daemon's answer is wrong") }
        _ = found.wait(until: MonotonicClock.now + patience) { $0.ends.contains(path) ? () : nil }
        let items = found.with { $0.items.filter { $0.path == path }.map(\.item) }
        // All at once, as each one that does not answer takes five seconds. Each with an address of the protocol by
        // which it was found: a responder tells no others there.
        let serials = items.map { item in
            avahi.bus.call(
                avahi.owner, "/", Avahi.server, "ResolveService", item + [item[1], .uint32(0)])
        }
        _ = found.wait(until: MonotonicClock.now + patience) { found in
            serials.allSatisfy { found.answers[$0] != nil } ? () : nil
        }
        let answers = found.with { found in serials.compactMap { found.answers[$0] ?? nil } }
        // IPv4 first, as its addresses need no interface.
        let services = answers.compactMap { DiscoveredService($0) }
        var chosen: [DiscoveredService] = []
        for service in services.filter({ !$0.address.contains(":") }) + services.filter({ $0.address.contains(":") })
        where !chosen.contains(where: { $0.name == service.name }) {
            chosen.append(service)
        }
        return chosen
    }

    /// On GIO's thread.
    private static func take(_ message: BusMessage, _ found: Monitor<Found>) {
        found.change { found in
            switch (message.kind, message.member) {
            case (.reply, _) where found.answers.count < 2 * limit:
                found.answers[message.replySerial] = .some(message.arguments)
            case (.error, _) where found.answers.count < 2 * limit: found.answers[message.replySerial] = .some(nil)
            case (.signal, "ItemNew")
            where message.interface == Avahi.browser && message.arguments.count >= 5 && found.items.count < limit:
                found.items.append((message.path, Array(message.arguments.prefix(5))))
            case (.signal, "AllForNow") where message.interface == Avahi.browser,
                (.signal, "Failure") where message.interface == Avahi.browser:
                if found.ends.count < limit { found.ends.insert(message.path) }
            default: break
            }
        }
    }
}

extension DiscoveredService {
    /// - Parameter answer: of ResolveService: interface, protocol, name, type, domain, host, protocol of the address,
    ///   address, port, TXT record, flags. Nil if it makes no sense.
    fileprivate init?(_ answer: [BusValue]) {
        guard answer.count >= 10, let interface = answer[0].number, let name = answer[2].text,
            let address = answer[7].text, let port = answer[8].number, (1...65_535).contains(port)
        else { return nil }
        txtRecord = (answer[9].list ?? []).compactMap { value -> String? in
            if case .bytes(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
        let isLinkLocal = address.lowercased().hasPrefix("fe80:")
        (self.name, self.port) = (name, port)
        self.address = isLinkLocal ? "\(address)%\(interface)" : address
    }
}
