import FoundationEssentials
import Identity
import NIOCore
import NIOHTTP1

extension PinnedHTTPClient {
    /// Opens a WebSocket on a connection of its own, which is closed with it.
    /// - Parameter protocols: the subprotocols that are offered. The server has to choose one of them.
    /// - Returns: nil if the token is not valid (any more).
    /// - Throws: the server's refusal, or why it was not reached.
    package func webSocket(
        _ path: String, protocols: [String], limits: MessageSocket.Limits = .init()
    ) async throws(SignalingError) -> MessageSocket? {
        guard !isClosed else { throw .lost(server) }
        let channel = try await connect(timeout: nil)
        do {
            guard let socket = try await open(path, protocols, limits, on: channel) else {
                channel.close(promise: nil)
                return nil
            }
            streams = streams.filter(\.isActive) + [channel]
            // Closed while it was opened.
            if isClosed { channel.close(promise: nil) }
            return socket
        } catch {
            channel.close(promise: nil)
            throw connector.explain(error)
        }
    }

    private func open(
        _ path: String, _ protocols: [String], _ limits: MessageSocket.Limits, on channel: any Channel
    ) async throws -> MessageSocket? {
        let key = Data(randomBytes(16)).base64EncodedString()
        let head = requestHead(
            .GET, path, nil, nil,
            [
                ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Protocol", protocols.joined(separator: ", ")),
            ])
        let end = NIODeadline.now() + TimeAmount(configuration.answerTimeout)
        let answer = try await HTTPExchange.answer(to: head, nil, on: channel, until: end)
        if answer.status == 401 { return nil }
        guard answer.status == 101 else { throw failure(answer) }
        // With these two fields as they are, NIO's decoder has stopped behind the response.
        guard answer.headers["Connection"].map({ $0.lowercased() }) == ["upgrade"],
            answer.headers["Upgrade"].map({ $0.lowercased() }) == ["websocket"],
            answer.headers.first(name: "Sec-WebSocket-Accept") == WebSocketHandshake.accept(key),
            let chosen = answer.headers.first(name: "Sec-WebSocket-Protocol"), protocols.contains(chosen)
        else { throw SignalingError.notAShareHost(server, "its WebSocket is none") }
        let socket = MessageSocket(.client, limits: limits)
        try await channel.eventLoop.submit { try socket.take(channel) }.get()
        return socket
    }
}
