import HTTPTypes
import HummingbirdCore
import NIOCore

extension SignalingService {
    private static let eventMethods = "GET, HEAD, POST, OPTIONS"

    /// Handles /ID/events. GET opens the stream of server-sent events; POST (WHEP's extension) returns its location.
    func events(_ call: Call) async -> Reply {
        if call.method == .options {
            return crossOrigin(
                Reply(.ok, [.allow: Self.eventMethods, .accessControlAllowMethods: Self.eventMethods]))
        }
        let owner: AdmissionBook.TokenHash
        switch await authorize(call) {
        case .failure(let refusal): return crossOrigin(refusal.reply)
        case .success(let (key, _)): owner = key
        }
        switch call.method {
        case .post:
            return crossOrigin(Reply(.created, [.location: "/\(configuration.id.text)/events"]))
        case .get: break
        case .head: return crossOrigin(Reply(.ok, [.contentType: "text/event-stream"]))
        default: return crossOrigin(methodNotAllowed(Self.eventMethods))
        }
        guard hub.hasRoom(for: owner) else { return crossOrigin(limited("too many event streams are open", 5)) }
        var reply = Reply(.ok, [.contentType: "text/event-stream"])
        reply.body = stream(owner, call.channel)
        return crossOrigin(reply)
    }

    private func stream(_ owner: AdmissionBook.TokenHash, _ channel: any Channel) -> ResponseBody {
        let (hub, desk, admissions) = (hub, desk, admissions)
        let beat = TimeAmount(configuration.heartbeat)
        count { $0.eventStreams += 1 }
        return ResponseBody { writer in
            let stream = hub.open(owner)
            for fragment in admissions.late(of: owner) { _ = hub.send(.candidates(fragment: fragment), to: owner) }
            await desk.listening(true, admissions.sessions(of: owner))
            channel.closeFuture.whenComplete { _ in
                let isHungUp = hub.isLast(stream.id)
                stream.finish()
                guard isHungUp else { return }
                Task { await desk.listening(false, admissions.sessions(of: owner)) }
            }
            let heart = channel.eventLoop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in stream.beat() }
            defer {
                heart.cancel()
                hub.close(stream.id)
            }
            for await text in stream.events { try await writer.write(ByteBuffer(string: text)) }
            try await writer.finish(nil)
        }
    }
}
