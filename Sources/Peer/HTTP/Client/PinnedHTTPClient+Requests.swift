import FoundationEssentials
import MediaCore
package import NIOCore
package import NIOHTTP1

extension PinnedHTTPClient {
    /// Sends one request, on an idle connection if there is one. If the server has closed that connection meanwhile,
    /// the request is repeated once on a new one.
    package func ask(
        _ method: HTTPMethod, _ path: String, type: String? = nil, body: ByteBuffer? = nil,
        extra: [(String, String)] = [], timeout: Duration? = nil, isFresh: Bool = false
    ) async throws(SignalingError) -> HTTPAnswer {
        guard !isClosed else { throw .lost(server) }
        let head = requestHead(method, path, type, body?.readableBytes, extra)
        if !isFresh, let channel = takeIdle() {
            do {
                return try await exchange(head, body, on: channel, timeout)
            } catch {
                // The request is repeated only if the server has closed the idle connection meanwhile.
                guard error is HTTPExchange.Unanswered, !Task.isCancelled else { throw connector.explain(error) }
            }
        }
        let channel = try await connect(timeout: timeout.map { min($0, connector.timeout) })
        do {
            return try await exchange(head, body, on: channel, timeout)
        } catch {
            channel.close(promise: nil)
            throw connector.explain(error)
        }
    }

    /// Removes an idle connection that is open, for another use.
    func takeIdle() -> (any Channel)? {
        while let channel = idle.popLast() {
            if channel.isActive { return channel }
        }
        return nil
    }

    private func exchange(
        _ head: HTTPRequestHead, _ body: ByteBuffer?, on channel: any Channel, _ timeout: Duration?
    ) async throws -> HTTPAnswer {
        let end = NIODeadline.now() + TimeAmount(timeout ?? configuration.answerTimeout)
        let answer = try await HTTPExchange.answer(to: head, body, on: channel, until: end)
        // A channel whose TLS is closing stays active for a while, so the header is checked, too.
        let isKept = !answer.headers[canonicalForm: "Connection"].contains("close")
        if isKept, channel.isActive, !isClosed { idle.append(channel) } else { channel.close(promise: nil) }
        return answer
    }

    func requestHead(
        _ method: HTTPMethod, _ path: String, _ type: String?, _ length: Int?, _ extra: [(String, String)]
    ) -> HTTPRequestHead {
        var headers = HTTPHeaders([("Host", server.authority)] + extra)
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "share/1") }
        if let type { headers.add(name: "Content-Type", value: type) }
        if let length, length > 0 || method == .POST { headers.add(name: "Content-Length", value: String(length)) }
        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
        return HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
    }

    /// Converts an unexpected response to an error with a sentence for people.
    package nonisolated func failure(_ answer: HTTPAnswer) -> SignalingError {
        guard let document = answer.problem else {
            return .notAShareHost(server, "it answered with status \(answer.status)")
        }
        let detail = UntrustedText.clean(document.detail, limit: 256, fallback: "no reason given")
        let code: SignalingError.Code =
            switch Problem(rawValue: document.type) {
            case .wrongProof: .wrongSecret
            case .refused, .replaced, .wrongSignature: .refused
            case .unanswered: .unanswered
            case .ended, .notFound: .gone
            case .limited: .tooMany
            case .queueFull: .queueFull
            case .busy: .busy
            case .codec: .unsupportedCodec
            default: .offerRefused
            }
        return SignalingError(code, detail, retryAfter: answer.retryAfter)
    }
}
