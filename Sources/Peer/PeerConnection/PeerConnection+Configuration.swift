package import EventLoop
package import ICETransport
package import Identity
package import MediaCore

/// Which side of the offer/answer exchange a peer is (RFC 3264). The offerer is ICE's controlling agent. It is the DTLS
/// client unless the other side's description says otherwise; see `DTLSSetup.counterpart`.
package enum NegotiationRole: Sendable { case offerer, answerer }

extension PeerConnection {
    /// How a connection to one peer is made.
    package struct Configuration: Sendable {
        package var role: NegotiationRole
        /// This side's certificate.
        package var identity: Identity
        /// SHA-256 of the other side's certificate; empty: the one that its description names.
        package var fingerprint: [UInt8]
        /// That of the other side, by its address in signalling.
        package var place: CandidatePolicy.Place
        package var servers = ICEServerPreparation.Addresses()
        /// The UDP port that all peers share, or that is this offerer's own; nil: an ICE agent of its own.
        package var socket: LoopBound<ICELiteSocket>?
        /// Of that agent. The role says which side is controlling.
        package var agent = ICEAgent.Configuration(isControlling: false)
        /// The receiver of later candidates may see only the last report of them, such as one that opens its event
        /// stream late.
        package var repeatsCandidates: Bool
        /// The silence that is an interruption. Both sides send a report at least each second.
        package var interruptionThreshold: MediaDuration

        package init(
            _ role: NegotiationRole, identity: Identity, fingerprint: [UInt8], place: CandidatePolicy.Place,
            repeatsCandidates: Bool, interruptionThreshold: MediaDuration
        ) {
            (self.role, self.identity, self.fingerprint, self.place) = (role, identity, fingerprint, place)
            (self.repeatsCandidates, self.interruptionThreshold) = (repeatsCandidates, interruptionThreshold)
        }

        func openPath(
            _ loop: EventLoop, _ pool: ICEAgentPool?, _ allowance: (any TransportAllowance)?
        ) throws(ICEFailure) -> any NegotiatedPath {
            if let socket {
                return try ICELitePath(
                    socket, isControlling: role == .offerer, place: place, allowance: allowance)
            }
            var agent = agent
            agent.isControlling = role == .offerer
            return try ICEPath(
                loop: loop, configuration: agent, servers: servers,
                limits: .init(pool: pool, allowance: allowance, policy: CandidatePolicy(place)))
        }
    }
}
