import Admission
import HTTP
import Identifiers
import NIOHTTP1

extension ServiceClient {
    /// Opens the stream on which a relay forwards the requests of a broadcast's viewers, or of a service's hosts. The
    /// pairing has to be granted.
    /// - Throws: `.gone` if the relay does not take it, or not any more; `.refused` if the identifier is another
    ///   certificate's; `.identifierInUse` if another pairing has it now.
    func tunnel(_ id: TunnelID) async throws(SignalingError) -> AsyncThrowingStream<TunnelEvent, any Error> {
        // A relay forwards half as many requests at a time, and sends a comment each 15 s.
        let events = try await http.events(
            TunnelEvent.self, tunnelPath(id), timeout: nil, capacity: 1_024, silence: .seconds(40))
        if let pairing { handle(.published, of: pairing.number) }
        return events
    }

    /// Sends a part of the response to a forwarded request.
    /// - Returns: false if nobody waits for it.
    func respond(
        _ part: ForwardedResponse, to number: Int, of id: TunnelID
    ) async throws(SignalingError) -> Bool {
        try await send(part, .POST, tunnelPath(id) + "/\(number)").status == 204
    }

    /// Ends a tunnel, and the pairing. Errors are ignored, because the relay may have gone.
    func leave(_ id: TunnelID) async {
        _ = try? await http.ask(.DELETE, tunnelPath(id), timeout: .seconds(1))
    }

    private nonisolated func tunnelPath(_ id: TunnelID) -> String { path("/meeting/\(id.text)") }
}
