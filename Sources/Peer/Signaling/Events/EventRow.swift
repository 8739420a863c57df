import FoundationEssentials
package import HTTP
import MediaCore

/// An event of a closed set, whose names and data are in one table.
package protocol TabulatedEvent: StreamEvent {
    static var table: [EventRow<Self>] { get }
}

extension TabulatedEvent {
    package var row: EventRow<Self>? { Self.table.first { $0.isOf(self) } }

    package var name: String { row?.name ?? "" }
    package var json: String { row?.json(self) ?? "{}" }
    package var isFinal: Bool { row?.isFinal ?? false }
    package var lasting: Self? { row?.isLasting == true ? self : nil }
    package var lastingKey: String { row?.key ?? name }

    package init?(name: String, data: String) {
        guard let event = Self.table.first(where: { $0.name == name })?.event(data) else { return nil }
        self = event
    }
}

/// One kind of event: its name, its data, and what streams that open later get of it.
package struct EventRow<Event: StreamEvent>: Sendable {
    /// The member `type` of the data, which is the event's name.
    enum TypeMember: Sendable {
        case none
        case written
        /// Data without it is malformed.
        case required
    }

    let name: String
    /// No event follows on its stream.
    let isFinal: Bool
    /// Streams that open later begin with it, until another event with its key.
    let isLasting: Bool
    let key: String
    let isOf: @Sendable (Event) -> Bool
    let json: @Sendable (Event) -> String
    /// Nil: the data is malformed.
    let event: @Sendable (String) -> Event?

    /// - Parameters:
    ///   - payload: the data of an event, which its `init(from:)` checks; nil: the event is of another kind.
    ///   - make: nil: the data cannot be that of an event.
    ///   - fallback: what malformed data stands for; nil: nothing.
    init<Payload: Codable & SendableMetatype>(
        _ name: String, type: TypeMember = .required, isFinal: Bool = false, isLasting: Bool = true,
        key: String? = nil, fallback: Event? = nil, _ payload: @escaping @Sendable (Event) -> Payload?,
        _ make: @escaping @Sendable (Payload) -> Event?
    ) {
        (self.name, self.isFinal, self.isLasting, self.key) = (name, isFinal, isLasting, key ?? name)
        isOf = { payload($0) != nil }
        json = { event in
            let text = payload(event).map { Event.json($0) } ?? "{}"
            guard type != .none else { return text }
            return "{\"type\":\"\(name)\"" + (text == "{}" ? "}" : "," + text.dropFirst())
        }
        event = { text in
            let (decoder, data) = (JSONDecoder(), Data(text.utf8))
            guard type != .required || (try? decoder.decode(EventType.self, from: data)) != nil else { return nil }
            return (try? decoder.decode(Payload.self, from: data)).flatMap(make) ?? fallback
        }
    }

    /// An event without data. Whatever comes as its data is ignored.
    init(_ name: String, type: TypeMember = .written, isLasting: Bool = true, key: String? = nil, _ event: Event)
    where Event: Equatable {
        (self.name, self.isLasting, self.key, isFinal) = (name, isLasting, key ?? name, false)
        isOf = { $0 == event }
        json = { _ in type == .none ? "{}" : "{\"type\":\"\(name)\"}" }
        self.event = { _ in event }
    }
}

private struct EventType: Decodable {
    var type: String
}

// MARK: Data that several events have

struct ReasonPayload: Codable {
    var reason: String

    /// - Parameter fallback: in the place of a reason without visible characters.
    func cleaned(_ fallback: String) -> String {
        UntrustedText.clean(reason, limit: ServiceEvent.textLimit, fallback: fallback)
    }
}

struct SDPFragmentPayload: Codable {
    var fragment: String
}

struct LinksPayload: Codable {
    var links: [String]
}
