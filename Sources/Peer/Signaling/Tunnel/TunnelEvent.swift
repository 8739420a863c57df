import FoundationEssentials
import HTTP
import HTTPTypes
import MediaCore

/// A viewer's request that a relay forwards to the host of a broadcast, or a host's to a service.
struct ForwardedRequest: Codable, Sendable, Equatable {
    /// Of this stream; the response names it.
    var number: Int
    var method: String
    /// From the first slash on, without a query.
    var path: String
    /// The fields that the host may need, by their names in lower case.
    var headers: [String: String]
    var body: String
    /// The viewer's address, as the relay says.
    var address: String

    /// The fields of a viewer's request that are forwarded.
    static let forwardedFields: [HTTPField.Name] = [
        .authorization, .contentType, .ifMatch, .userAgent, .accept, Header.shareVisit,
    ]
}

/// A part of a host's response to a ``ForwardedRequest``. The first part has the status and the fields.
struct ForwardedResponse: Codable, Sendable, Equatable {
    var status: Int?
    /// Name and value of each field.
    var headers: [[String]]?
    var body: String?
    /// Another part follows.
    var continues: Bool?
}

/// An event that a relay sends to the host of a tunnel.
enum TunnelEvent: StreamEvent, Equatable {
    case request(ForwardedRequest)
    /// The viewer does not wait for the response with this number any more.
    case cancelled(Int)
    /// The tunnel is over; no event follows.
    /// - Parameter isReplaced: another pairing of the same certificate has taken its place.
    case finished(reason: String, isReplaced: Bool)

    private struct Cancellation: Codable { var number: Int }
    private struct End: Codable {
        var reason: String
        /// Left out if it is false.
        var replaced: Bool?
    }

    /// The longest event, in bytes: the host's parser takes lines of 64 KiB.
    static let lengthLimit = 60_000

    var name: String {
        switch self {
        case .request: "request"
        case .cancelled: "cancelled"
        case .finished: "finished"
        }
    }

    var json: String {
        switch self {
        case .request(let request): Self.json(request)
        case .cancelled(let number): Self.json(Cancellation(number: number))
        case .finished(let reason, let isReplaced): Self.json(End(reason: reason, replaced: isReplaced ? true : nil))
        }
    }

    var isFinal: Bool {
        if case .finished = self { true } else { false }
    }

    var lasting: TunnelEvent? { nil }

    init?(name: String, data: String) {
        func read<Document: Decodable>(_: Document.Type) -> Document? {
            try? JSONDecoder().decode(Document.self, from: Data(data.utf8))
        }
        switch name {
        case "request":
            guard let request = read(ForwardedRequest.self) else { return nil }
            self = .request(request)
        case "cancelled":
            guard let cancellation = read(Cancellation.self) else { return nil }
            self = .cancelled(cancellation.number)
        case "finished":
            guard let end = read(End.self) else { return nil }
            self = .finished(
                reason: UntrustedText.clean(end.reason, limit: ServiceEvent.textLimit, fallback: "the relay ended it"),
                isReplaced: end.replaced == true)
        default: return nil
        }
    }
}
