import Admission
import HTTPTypes
import HummingbirdCore
import NIOCore

extension BroadcastRoutes {
    private static let eventMethods = "GET, HEAD, POST, OPTIONS"

    /// Handles /ID/events. GET opens the stream of server-sent events; POST (WHEP's extension) returns its location.
    func events(_ call: RouteRequest) async -> RouteResponse {
        if call.method == .options {
            return crossOrigin(
                RouteResponse(.ok, [.allow: Self.eventMethods, .accessControlAllowMethods: Self.eventMethods]))
        }
        let owner: AdmissionRegister.TokenHash
        switch await authorize(call) {
        case .failure(let refusal): return crossOrigin(refusal.reply)
        case .success(let (key, _)): owner = key
        }
        switch call.method {
        case .post:
            return crossOrigin(RouteResponse(.created, [.location: "/\(configuration.id.text)/events"]))
        case .get: break
        case .head: return crossOrigin(RouteResponse(.ok, [.contentType: "text/event-stream"]))
        default: return crossOrigin(.methodNotAllowed(Self.eventMethods))
        }
        guard broadcast.eventStreams.hasRoom(for: owner) else {
            return crossOrigin(.limited("too many event streams are open", 5))
        }
        var reply = RouteResponse(.ok, [.contentType: "text/event-stream"])
        reply.body = stream(owner, call.channel)
        return crossOrigin(reply)
    }

    private func stream(_ owner: AdmissionRegister.TokenHash, _ channel: any Channel) -> ResponseBody {
        let (eventStreams, delegate) = (broadcast.eventStreams, broadcast.delegate)
        let admissions = broadcast.admissions
        let beat = TimeAmount(server.configuration.heartbeat)
        server.count { $0.eventStreams += 1 }
        return ResponseBody { writer in
            let stream = eventStreams.open(owner)
            for fragment in admissions.late(of: owner) {
                _ = eventStreams.send(.candidates(fragment: fragment), to: owner)
            }
            await delegate.eventStreamChanged(isOpen: true, sessions: admissions.sessions(of: owner))
            channel.closeFuture.whenComplete { _ in
                let isHungUp = eventStreams.isLast(stream.id)
                stream.finish()
                guard isHungUp else { return }
                Task { await delegate.eventStreamChanged(isOpen: false, sessions: admissions.sessions(of: owner)) }
            }
            let heart = channel.eventLoop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in stream.beat() }
            defer {
                heart.cancel()
                eventStreams.close(stream.id)
            }
            for await text in stream.events { try await writer.write(ByteBuffer(string: text)) }
            try await writer.finish(nil)
        }
    }
}
