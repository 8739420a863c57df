import HTTP
import Identity
import Signaling

extension SignalingClient {
    /// Knocks, and is let in.
    /// - Returns: the token.
    func admissionToken(for identity: Identity, named name: String = "Ann") async throws -> String {
        let ticket = try await knock(name: name, identity: identity)
        guard case .accepted(let token, _) = try await waitForAnswer(ticket) else {
            throw SignalingError(.refused, "the test was not let in")
        }
        return token
    }
}
