package import Admission
import EventLoop
import ICETransport
package import Identifiers
import LinuxRuntime
package import MediaCore
package import PeerConnection
import PeerEngine
package import SessionDescription

/// Sessions that this host offers, to a service or another WHIP endpoint (RFC 9725 section 4.2). The other peer only
/// answers; from then on it is served like a viewer.
extension Broadcast {
    /// Offers the broadcast. Calls back on the loop when candidates are known.
    /// - Parameters:
    ///   - receiver: its `fingerprint` is the certificate that the answer must name; empty: the one that it names.
    ///   - isSealed: frames are encrypted for the receiver's viewers, by `Broadcast.encryption`.
    ///   - timeout: the longest time to wait for candidates.
    package func offer(
        to receiver: Viewer, isSealed: Bool = false, timeout: MediaDuration,
        done: @escaping @Sendable (Result<LocalOffer, OfferRefusal>) -> Void
    ) {
        let pending: PendingPeer
        do throws(OfferRefusal) {
            guard !isEnded else { throw OfferRefusal(.ended, "The broadcast has ended.") }
            guard viewers.count + offers.count < settings.viewers.maximum else {
                throw OfferRefusal(.busy, "The host has as many viewers as it can serve.")
            }
            var description = ViewerDescription(receiver, words: "")
            (description.isPublication, description.isSealed) = (true, isSealed)
            pending = try connections.open(to: receiver, description, as: .offerer)
        } catch {
            return done(.failure(error))
        }
        offers[pending.id] = pending
        pending.connection.localCandidates(within: timeout, wanted: servers.awaitedKind) { [weak self] found in
            guard let self, let own = connections.description(of: pending, found) else {
                return done(.failure(OfferRefusal(.ended, "The broadcast has ended.")))
            }
            done(.success(LocalOffer(id: pending.id, sdp: own.offer(.sending))))
        }
    }

    /// Applies the answer to an offer, which is over then, and starts the connection.
    /// - Throws: why the answer cannot be used. The offer is given up.
    package func begin(_ id: SessionID, answer text: String) throws(EndReason) {
        guard let pending = offers.removeValue(forKey: id) else {
            throw EndReason(.stopped, "the broadcast has ended")
        }
        let (name, expected) = (pending.viewer.name, pending.viewer.fingerprint)
        do throws(EndReason) {
            let answer: Answer
            do throws(AnswerError) {
                answer = try Answer(text, to: .sending)
            } catch {
                throw EndReason(.failed, "the answer of \(name) cannot be used (\(error))")
            }
            guard expected.isEmpty || answer.fingerprint.bytes == expected else {
                throw EndReason(.untrusted, "the answer of \(name) names another certificate")
            }
            trickle(begin(pending, answer, videoLine: nil))
        } catch {
            pending.connection.close()
            throw error
        }
    }

    /// Gives up an offer that was not answered.
    package func cancelOffer(_ id: SessionID) { offers.removeValue(forKey: id)?.connection.close() }

    /// Adds candidates that the other peer found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment, to id: SessionID) { viewers[id]?.connection.add(fragment) }

    /// Whether ICE has selected a pair for a session.
    package func hasPath(_ id: SessionID) -> Bool { viewers[id]?.connection.path.selectedPair != nil }

    // MARK: ICE restart

    /// Uses these STUN and TURN servers for sessions that begin from now on, and for restarts of this one.
    package func use(_ servers: ICEServerPreparation.Addresses, for id: SessionID) {
        self.servers = servers
        viewers[id]?.connection.path.use(servers)
    }

    /// Restarts ICE of a session that this host has offered (RFC 9725 section 4.3.2). Calls back on the loop with the
    /// fragment to send; nil if a restart is not possible now.
    package func restart(_ id: SessionID, done: @escaping @Sendable (String?) -> Void) {
        guard let connection = viewers[id]?.connection, connection.restart() else { return done(nil) }
        connection.localCandidates(within: .milliseconds(500), wanted: servers.awaitedKind) { found in
            done(found.credentials.map { found.batch.fragment($0, mid: "0").serialised })
        }
    }

    /// Applies the answer to an ICE restart.
    package func resume(_ id: SessionID, _ fragment: TrickleFragment) {
        guard let peer = viewers[id], let credentials = fragment.credentials else { return }
        peer.connection.begin(credentials, mid: "0", fragment.candidates, ended: fragment.endsCandidates)
        // Those that were found after the restart was sent.
        trickle(peer)
    }
}
