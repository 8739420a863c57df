/// What a viewer's pointer does over the picture.
public enum PointerKind: String, Codable, Sendable {
    case move
    /// A button was pressed: a ring is shown.
    case click
    /// A line follows the pointer, from the last point of this kind. Any other kind ends it.
    case draw
    /// The pointer has left the picture.
    case leave
}

/// What a viewer does with its pointer, as it tells the host.
public struct PointerGesture: Sendable, Equatable, Codable {
    /// Points in one gesture.
    public static let pointLimit = 32

    public var kind: PointerKind
    /// The oldest first; none for `leave`, one for `move` and `click`.
    public var points: [PicturePoint]

    public init(_ kind: PointerKind, _ points: [PicturePoint] = []) { (self.kind, self.points) = (kind, points) }

    private enum CodingKeys: String, CodingKey { case kind, points }

    /// - Throws: for no point, or too many.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        kind = try values.decode(PointerKind.self, forKey: .kind)
        points = try values.decodeIfPresent([PicturePoint].self, forKey: .points) ?? []
        let count = kind == .leave ? 0...0 : kind == .draw ? 1...Self.pointLimit : 1...1
        guard count.contains(points.count) else {
            throw DecodingError.dataCorruptedError(
                forKey: .points, in: values, debugDescription: "\(points.count) points")
        }
    }
}

/// What a viewer does with its pointer, as the host tells all viewers.
public struct PointerEvent: Sendable, Equatable, Codable {
    /// Of the viewer in its broadcast. Its color is number `id % 8` of the palette.
    public var id: Int
    /// The viewer's name.
    public var from: String
    public var kind: PointerKind
    /// The oldest first; none for `leave`.
    public var points: [PicturePoint]

    public init(id: Int, from: String, kind: PointerKind, points: [PicturePoint]) {
        (self.id, self.from, self.kind, self.points) = (id, from, kind, points)
    }
}

/// Pointers of several viewers, in the order of their gestures.
public struct PointerEvents: Sendable, Equatable, Codable {
    /// Events in one list.
    public static let limit = 64
    /// Larger identifiers are not believed.
    private static let idLimit = 1 << 20

    public var pointers: [PointerEvent]

    public init(_ pointers: [PointerEvent]) { self.pointers = pointers }

    private enum CodingKeys: String, CodingKey { case pointers }

    /// Names are cleaned, and what is too much is left out.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        pointers = try values.decode([PointerEvent].self, forKey: .pointers).prefix(Self.limit).compactMap { event in
            guard (0..<Self.idLimit).contains(event.id) else { return nil }
            var event = event
            event.from = UntrustedText.clean(event.from, fallback: "a viewer")
            event.points = Array(event.points.prefix(PointerGesture.pointLimit))
            return event
        }
    }

    /// Adds a gesture. A move takes the place of the viewer's move before it, and a line goes on in the same event.
    /// - Returns: false if there are too many, and it was left out.
    public mutating func add(_ gesture: PointerGesture, of id: Int, named name: String) -> Bool {
        if let index = pointers.lastIndex(where: { $0.id == id }) {
            let last = pointers[index]
            if last.kind == .move, gesture.kind == .move {
                pointers[index].points = gesture.points
                return true
            }
            if last.kind == .draw, gesture.kind == .draw,
                last.points.count + gesture.points.count <= PointerGesture.pointLimit
            {
                pointers[index].points += gesture.points
                return true
            }
        }
        guard pointers.count < Self.limit else { return false }
        pointers.append(PointerEvent(id: id, from: name, kind: gesture.kind, points: gesture.points))
        return true
    }
}
