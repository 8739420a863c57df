import HTTP
import Identifiers

/// The places of viewers, of one broadcast or of several together. When all are taken, the address that holds most
/// loses its newest viewer to one that would hold less, but never one that a person has admitted. Confined to the
/// network loop.
package final class ViewerPlaces {
    private struct Place {
        let address: AddressKey
        /// Grows with each place.
        let number: Int
        /// Ends the viewer, which gives its place up before it returns; nil: a person has admitted the viewer.
        let end: (() -> Void)?
    }

    private let limit: Int
    private var places: [SessionID: Place] = [:]
    private var added = 0

    package init(_ limit: Int) { self.limit = limit }

    var isFull: Bool { places.count >= limit }

    func add(_ id: SessionID, at address: AddressKey, end: (() -> Void)?) {
        added &+= 1
        places[id] = Place(address: address, number: added, end: end)
    }

    func remove(_ id: SessionID) { places[id] = nil }

    /// Ends a viewer if all places are taken, so that one of this address gets a place.
    func makeRoom(for address: AddressKey) {
        guard isFull else { return }
        let shares = AddressShares(places.values.map(\.address))
        let candidates = places.values.filter { $0.end != nil }
        let losers = shares.displaceable(candidates.map(\.address), by: address)
        candidates.filter { losers.contains($0.address) }.max { $0.number < $1.number }?.end?()
    }
}
