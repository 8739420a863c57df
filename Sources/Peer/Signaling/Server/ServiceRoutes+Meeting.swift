import Admission
import HTTPTypes
import HummingbirdCore
import MediaCore
import NIOCore

/// Meetings: `GET meeting/ID` is the stream of events on which a host gets its viewers' requests, or a service those of
/// its hosts; `POST meeting/ID/NUMBER` takes a part of the response, and `DELETE meeting/ID` ends the meeting.
extension ServiceRoutes {
    func meeting(_ call: RouteRequest, _ name: Substring?, _ number: Substring?) async -> RouteResponse {
        guard let id = name.flatMap({ MeetingID($0) }) else { return .notFound }
        let (owner, admission): (TokenHash, PairingRegister.Admission)
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        guard case .paired(let request, let token) = admission else { return .notFound }
        if let number {
            guard call.method == .post else { return .methodNotAllowed("POST") }
            return respond(call, id, owner, number)
        }
        if call.method == .delete { return await leave(id, owner) }
        guard call.method == .get else { return .methodNotAllowed("GET, DELETE") }
        if let meeting = server.meetings[id] {
            if meeting.owner == owner { return stream(meeting, call.connection) }
            return server.meetings.isOwner(request.fingerprint, of: id) ? exists : taken
        }
        guard !isServedHere(id) else { return exists }
        return await open(call, id, owner, request, token)
    }

    /// Whether this server itself has a broadcast or a service with the identifier, or can get it.
    private func isServedHere(_ id: MeetingID) -> Bool {
        switch id {
        case .broadcast(let id):
            server.broadcasts[id] != nil || server.configuration.finder?.knows(id) == true
        case .service(let id): server.services[id] != nil
        }
    }

    /// Handles that the owner ends the meeting.
    private func leave(_ id: MeetingID, _ owner: TokenHash) async -> RouteResponse {
        guard let meeting = server.meetings[id], meeting.owner == owner else { return .notFound }
        service.pairings.remove(meeting.session)
        await service.delegate.closeSession(meeting.session)
        return RouteResponse(.ok)
    }

    private var exists: RouteResponse {
        RouteResponse(problem: .sessionExists, .conflict, "this identifier is in use")
    }

    private var taken: RouteResponse {
        RouteResponse(problem: .identifierTaken, .forbidden, "this identifier is another certificate's")
    }

    private func open(
        _ call: RouteRequest, _ id: MeetingID, _ owner: TokenHash, _ request: PairingRequest, _ token: String
    ) async -> RouteResponse {
        let place = SessionTable.Owner(
            token: owner, isFixed: false, identity: nil, fingerprint: request.fingerprint, address: call.address.key)
        let reservation: PairingRegister.Reservation
        switch service.pairings.reserve(place, token: token) {
        case .reserved(let found): reservation = found
        case .taken: return exists
        case .otherCertificate, .ended, .full: return ended(nil)
        }
        let session = SessionID.random()
        let publisher = Publisher(
            pairing: request.id, application: request.application, setup: request.setup,
            kind: UntrustedText.kind(userAgent: call.headers[.userAgent]), address: call.address.text,
            fingerprint: request.fingerprint)
        let meeting = Meeting(id, owner: owner, session: session)
        switch server.meetings.add(meeting, of: request.fingerprint, at: call.address.key) {
        case .added: break
        case .exists, .isAnothers:
            service.pairings.release(reservation)
            return server.meetings.isOwner(request.fingerprint, of: id) ? exists : taken
        }
        guard await service.delegate.openMeeting(session, of: id, publisher: publisher) else {
            service.pairings.release(reservation)
            server.meetings.end(session, reason: "no meeting")
            return .notFound
        }
        let isAdded = service.pairings.add(OpenedSession(id: session, answer: "", etag: ""), reservation)
        // The host may have left meanwhile.
        guard isAdded, server.meetings[id] === meeting else {
            if isAdded { service.pairings.remove(session) }
            server.meetings.end(session, reason: "no meeting")
            await service.delegate.closeSession(session)
            return ended(nil)
        }
        return stream(meeting, call.connection)
    }

    private func stream(_ meeting: Meeting, _ connection: RouteConnection) -> RouteResponse {
        var reply = RouteResponse(.ok, [.contentType: "text/event-stream"])
        let beat = TimeAmount(server.configuration.heartbeat)
        let pairings = service.pairings
        server.count { $0.eventStreams += 1 }
        // Requests are forwarded from now on.
        let (number, events) = meeting.open()
        connection.closed.whenComplete { _ in meeting.closed(number) }
        reply.body = ResponseBody { writer in
            let heart = connection.eventLoop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in
                meeting.beat(number)
            }
            // The session is alive as long as its host is connected, and for a while after that.
            let life = connection.eventLoop.scheduleRepeatedTask(
                initialDelay: .zero, delay: TimeAmount(Self.livenessInterval)
            ) { _ in pairings.keep(meeting, for: Self.absenceLimit) }
            defer {
                heart.cancel()
                life.cancel()
                meeting.closed(number)
            }
            for await event in events {
                guard let text = meeting.take(event, on: number) else { continue }
                try await writer.write(ByteBuffer(string: text))
            }
            try await writer.finish(nil)
        }
        return reply
    }

    private static var livenessInterval: Duration { .seconds(5) }
    /// How long a host may take to connect again, for example in another network.
    private static var absenceLimit: Duration { .seconds(60) }

    private func respond(
        _ call: RouteRequest, _ id: MeetingID, _ owner: TokenHash, _ number: Substring
    ) -> RouteResponse {
        guard let meeting = server.meetings[id], meeting.owner == owner, let number = Int(number),
            meeting.isPending(number)
        else { return .notFound }
        guard let part = server.document(ForwardedResponse.self, of: call, limit: server.configuration.bodyLimit) else {
            return server.malformed("a response is JSON with status, headers, body and continues")
        }
        return meeting.take(part, for: number) ? RouteResponse(.noContent) : .notFound
    }
}
