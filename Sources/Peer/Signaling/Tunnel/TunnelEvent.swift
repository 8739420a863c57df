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
    /// The request opens a WebSocket, whose handshake the relay has checked. Left out if it does not.
    var socket: Bool?

    /// The fields of a viewer's request that are forwarded.
    static let forwardedFields: [HTTPField.Name] = [
        .authorization, .contentType, .ifMatch, .userAgent, .accept, Header.shareVisit,
    ]
}

/// A part of a host's response to a ``ForwardedRequest``. The first part has the status and the fields. After 101, the
/// body of each further part is a text of the WebSocket.
struct ForwardedResponse: Codable, Sendable, Equatable {
    var status: Int?
    /// Name and value of each field.
    var headers: [[String]]?
    var body: String?
    /// Another part follows.
    var continues: Bool?
    /// Of the last part of a WebSocket: the code with which the host closes it.
    var code: UInt16?
}

/// A text that a viewer has sent on a WebSocket.
struct ForwardedText: Codable, Sendable, Equatable {
    /// Of the request that has opened the WebSocket.
    var number: Int
    var text: String
}

/// Why a relay has ended a tunnel.
public enum TunnelEnd: Sendable, Equatable {
    /// Another pairing of the same certificate has taken its place.
    case replaced
    /// The relay stops, or has started anew. It may take the tunnel again, with another pairing.
    case relayStopped
    /// The relay does not want it any more.
    case unwanted
}

/// An event that a relay sends to the host of a tunnel.
enum TunnelEvent: StreamEvent, TabulatedEvent, Equatable {
    case request(ForwardedRequest)
    case text(ForwardedText)
    /// The viewer does not wait for the response with this number any more.
    case cancelled(Int)
    /// The tunnel is over; no event follows.
    case finished(reason: String, TunnelEnd)

    private struct Cancellation: Codable { var number: Int }
    private struct End: Codable {
        var reason: String
        /// Left out if they are false.
        var replaced: Bool?
        var stopped: Bool?

        init?(_ event: TunnelEvent) {
            guard case .finished(let reason, let end) = event else { return nil }
            self.reason = reason
            (replaced, stopped) = (end == .replaced ? true : nil, end == .relayStopped ? true : nil)
        }

        var end: TunnelEnd { replaced == true ? .replaced : stopped == true ? .relayStopped : .unwanted }
    }

    /// The longest event, in bytes: the host's parser takes lines of 64 KiB.
    static let lengthLimit = 60_000

    static let table: [EventRow<TunnelEvent>] = [
        EventRow(
            "request", type: .none, isLasting: false, { if case .request(let request) = $0 { request } else { nil } },
            { .request($0) }),
        EventRow(
            "text", type: .none, isLasting: false, { if case .text(let text) = $0 { text } else { nil } }, { .text($0) }
        ),
        EventRow(
            "cancelled", type: .none, isLasting: false,
            { if case .cancelled(let number) = $0 { Cancellation(number: number) } else { nil } },
            { .cancelled($0.number) }),
        EventRow(
            "finished", type: .none, isFinal: true, isLasting: false, { End($0) },
            {
                .finished(reason: ReasonPayload(reason: $0.reason).cleaned("the relay ended it"), $0.end)
            }),
    ]
}
