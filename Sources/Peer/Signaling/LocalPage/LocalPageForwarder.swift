import HTTP
import HTTPTypes
import Identifiers
import NIOCore
import NIOHTTP1

/// Passes requests of the page on to the servers of ``LocalPagePlaces``, and the responses back.
struct LocalPageForwarder: Sendable {
    enum Reply: Sendable {
        case whole(LocalPageAnswer)
        /// The head, and a body without end.
        case stream(LocalPageAnswer, AsyncThrowingStream<ByteBuffer, any Error>)
    }

    private static let valueLimit = 2_048

    let places: LocalPagePlaces

    /// - Parameters:
    ///   - path: at the server of the place.
    ///   - base: what its paths begin with here.
    /// - Throws: if the server is not reached, is another one, or says what cannot be passed on.
    func forward(
        _ head: HTTPRequestHead, body: ByteBuffer, place number: Int, path: String, base: String
    ) async throws(SignalingError) -> Reply {
        guard let place = places[number] else { return .whole(.refusal(.notFound)) }
        let fields = Self.fields(head.headers)
        let id = TunnelID.broadcast(place.link.id)
        if path == "/\(place.link.id.text)/events" {
            let stream = try await place.client.stream(path, extra: fields)
            let (status, headers) = (Int(stream.head.status.code), stream.head.headers)
            guard let answer = LocalPageAnswer.forwarded(status, headers, hasBody: true, of: id, base: base) else {
                throw .notAShareHost(place.client.server, "its response to a request for events makes no sense")
            }
            return .stream(answer, stream.pieces)
        }
        let takesBody = [.POST, .PUT, .PATCH].contains(head.method)
        let reply = try await place.client.ask(
            head.method, path, body: takesBody ? body : nil, extra: fields,
            timeout: head.method == .GET ? place.client.configuration.pollTimeout : nil)
        let content = reply.body
        guard
            var answer = LocalPageAnswer.forwarded(
                reply.status, reply.headers, hasBody: content.readableBytes > 0, of: id, base: base)
        else { throw .notAShareHost(place.client.server, "its response to a request of the page makes no sense") }
        answer.body = content
        places.note(
            head.method, path, reply.status, location: reply.headers.first(name: "Location"), place: number,
            bearer: fields.first { $0.0 == "Authorization" }?.1)
        return .whole(answer)
    }

    /// The fields of the page's requests that a host may need, as through a relay.
    private static func fields(_ headers: HTTPHeaders) -> [(String, String)] {
        ForwardedRequest.forwardedFields.compactMap { name in
            guard let value = headers.first(name: name.canonicalName), value.utf8.count <= valueLimit else {
                return nil
            }
            // A password is not for hosts.
            if name == .authorization, !value.lowercased().hasPrefix("bearer ") { return nil }
            return (name == .authorization ? "Authorization" : name.rawName, value)
        }
    }
}
