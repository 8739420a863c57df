package import Identifiers

/// The shares of addresses in a table with limited places, counted by address and by the networks around it.
///
/// A /56 may hold four times and a /48 sixteen times the share of an address. Networks count only while more than half
/// of the places are taken, as carriers and campuses have many users in a /48.
package struct AddressShares: Sendable {
    /// Of addresses and networks.
    private var counts: [AddressKey: Int] = [:]
    package private(set) var total = 0

    package init() {}

    package init(_ addresses: some Sequence<AddressKey>) {
        for address in addresses { add(address) }
    }

    package mutating func add(_ address: AddressKey) {
        total += 1
        for key in [address] + address.networks { counts[key, default: 0] += 1 }
    }

    package mutating func remove(_ address: AddressKey) {
        guard let own = counts[address], own > 0 else { return }
        total -= 1
        for key in [address] + address.networks {
            let rest = (counts[key] ?? 1) - 1
            counts[key] = rest > 0 ? rest : nil
        }
    }

    /// Of an address or a network.
    package func count(of key: AddressKey) -> Int { counts[key] ?? 0 }

    /// Returns whether an address may hold one more.
    /// - Parameters:
    ///   - share: of an address.
    ///   - places: of the table.
    package func hasRoom(for address: AddressKey, share: Int, of places: Int) -> Bool {
        guard count(of: address) < share else { return false }
        return total <= places / 2 || address.networks.allSatisfy { count(of: $0) < share * $0.shares }
    }

    /// Returns whether an address, or a network around it, holds more than its share.
    /// - Parameter share: of an address.
    package func exceeds(_ address: AddressKey, share: Int) -> Bool {
        count(of: address) > share || address.networks.contains { count(of: $0) > share * $0.shares }
    }

    /// The addresses that hold something.
    package var addresses: [AddressKey] { counts.keys.filter { $0.shares == 1 } }

    /// The part of its shares that an address holds, in sixteenths of a place. A network of both addresses does not
    /// count.
    /// - Parameter addition: what the address would hold besides.
    private func load(of address: AddressKey, beside other: AddressKey, adding addition: Int = 0) -> Int {
        var most = (count(of: address) + addition) * 16
        // IPv4 addresses have none, so that nothing is allocated for each of hundreds of them.
        for network in address.networks where !network.contains(other) {
            most = max(most, (count(of: network) + addition) * (16 / network.shares))
        }
        return most
    }

    /// Returns those of `addresses` that hold most, if they hold more than `newcomer` would with one place more.
    /// - Parameter always: also if they do not.
    package func displaceable(
        _ addresses: some Sequence<AddressKey>, by newcomer: AddressKey, always: Bool = false
    ) -> Set<AddressKey> {
        var most = 0
        var result: Set<AddressKey> = []
        for address in addresses {
            let load = load(of: address, beside: newcomer)
            guard load >= most, always || load > self.load(of: newcomer, beside: address, adding: 1) else { continue }
            if load > most { result = [] }
            most = load
            result.insert(address)
        }
        return result
    }
}
