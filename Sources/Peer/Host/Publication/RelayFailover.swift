import Admission
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling

/// Goes on at another relay of a cluster when the one that a broadcast is published to has gone, or is about to stop.
struct RelayFailover: Sendable {
    /// Makes the publication to a relay.
    let make: @Sendable (PairedService) -> ServicePublication
    /// Takes note of the publication that has begun; false if none is wanted any more.
    let take: @Sendable (ServicePublication, PairedService) -> Bool
    /// Whether the broadcast goes on.
    let isWanted: @Sendable () -> Bool
    let emit: @Sendable (BroadcastEvent) -> Void

    /// How long other relays are tried.
    private static let moveTime = Duration.seconds(30)

    /// Runs a publication, and those that follow it at other relays, until the broadcast is over there.
    func run(_ first: ServicePublication, of paired: PairedService) async -> EndReason {
        var (publication, service) = (first, paired)
        while true {
            let reason = await publication.run()
            guard let place = publication.otherPlaces, isWanted() else { return reason }
            emit(.notice(.relay(.publicationLost(reason))))
            // A relay that is about to stop goes on until another one has the broadcast.
            let isGone = !place.isAlive
            if isGone { await publication.abandon(reason) }
            guard let (next, another) = await publish(service, at: place) else { return reason }
            if !isGone { await publication.abandon(reason) }
            (publication, service) = (next, another)
        }
    }

    /// Publishes the broadcast under the same identifier.
    /// - Returns: nil if no relay takes it.
    private func publish(
        _ service: PairedService, at place: ServicePublication.OtherPlaces
    ) async -> (ServicePublication, PairedService)? {
        let deadline = ContinuousClock.now + Self.moveTime
        while ContinuousClock.now < deadline {
            for link in place.relays {
                guard isWanted() else { return nil }
                guard let paired = try? await service.pairing(at: link, resuming: place.broadcast) else { continue }
                let publication = make(paired)
                do throws(EndReason) {
                    try await publication.open()
                } catch {
                    await publication.abandon(error)
                    continue
                }
                guard take(publication, paired) else {
                    await publication.close(.hostStopped)
                    return nil
                }
                emit(.notice(.relay(.publicationMoved(relay: link.authority))))
                return (publication, paired)
            }
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return nil }
        }
        return nil
    }
}
