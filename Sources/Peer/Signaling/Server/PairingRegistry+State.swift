import Admission
import HTTP
import Identifiers

extension PairingApprovalHandler {
    static var finalsLimit: Int { 64 }

    struct State: ApprovalState {
        var table: PairingTable
        var sessions: SessionTable
        /// The sessions of hosts that have a tunnel and publish, too. They end with the tunnel, and the tunnel not with
        /// them.
        var publications: Set<SessionID> = []
        /// Sessions whose places are reserved for others, which replace them.
        var replaced: Set<SessionID> = []
        /// The granted tokens that have not ended.
        var grants: [TokenHash: Grant] = [:]
        /// The final events of tokens that have ended, for streams that open later.
        var finals: [(owner: TokenHash, event: ServiceEvent)] = []
        /// The service's fixed token.
        let fixed: TokenHash?

        mutating func setFinal(_ event: ServiceEvent, of owner: TokenHash) {
            guard !finals.contains(where: { $0.owner == owner }) else { return }
            if finals.count >= PairingApprovalHandler.finalsLimit { finals.removeFirst() }
            finals.append((owner, event))
        }
    }

    struct Grant: Sendable {
        let token: String
        let request: PairingRequest
        /// It has the link's secret, or was accepted, or has sent media. Others get credentials for a short time.
        var isTrusted: Bool
    }
}
