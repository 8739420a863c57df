internal import MediaCore

/// What a viewer may do beside watching.
public enum Participation: Sendable, CaseIterable {
    /// Write lines that all viewers and the host read.
    case comment
    /// Show a pointer over the picture, to all.
    case point
    /// Act in the app of the host. One viewer at a time does.
    case control
}

/// Whether a viewer takes part in one way.
public enum ParticipationRight: Sendable {
    case none
    /// It may ask the host.
    case mayAsk
    case granted
}

/// A place in the picture.
public struct PicturePlace: Sendable, Hashable {
    /// 0: the left edge; 1: the right one.
    public var x: Double
    /// 0: the upper edge; 1: the lower one.
    public var y: Double

    public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
}

/// What a viewer does with its pointer over the picture.
public enum PointerAction: Sendable, Hashable {
    case move(PicturePlace)
    /// A button was pressed.
    case click(PicturePlace)
    /// A line follows the pointer through these places, the oldest first, from the last place of this kind. Any other
    /// action ends it.
    case draw([PicturePlace])
    /// The pointer has left the picture.
    case leave
}

/// What a viewer does with its pointer, as all are told.
public struct ViewerPointer: Sendable, Hashable {
    /// Of the viewer in this broadcast.
    public let id: Int
    /// The name that the viewer gave; not verified.
    public let name: String
    public let action: PointerAction
}

/// An input of the viewer that controls the app.
public enum ViewerInput: Sendable, Hashable {
    /// The pointer moves there.
    case move(PicturePlace)
    /// A button of the pointer: 1 left, 2 middle, 3 right, 8 back, 9 forward.
    case button(Int, isPressed: Bool)
    /// In notches: positive to the right, and down.
    case wheel(horizontal: Int, vertical: Int)
    /// A key, by the X11 keysym of its character in the viewer's layout.
    case key(keysym: UInt32, isPressed: Bool)
    /// Everything that is pressed is to be released: the viewer is not heard, or does not control any more.
    case releaseAll
}

extension PicturePlace {
    init(_ point: PicturePoint) { self.init(x: Double(point.x) / 65_535, y: Double(point.y) / 65_535) }
    var point: PicturePoint { PicturePoint(horizontal: x, vertical: y) }
}

extension PointerAction {
    /// Nil for one without its place.
    init?(_ event: PointerEvent) {
        let places = event.points.map { PicturePlace($0) }
        switch event.kind {
        case .leave: self = .leave
        case .draw where !places.isEmpty: self = .draw(places)
        case .move, .click, .draw:
            guard let place = places.last else { return nil }
            self = event.kind == .move ? .move(place) : .click(place)
        }
    }

    /// What is over the length of a gesture is left out.
    var gesture: PointerGesture {
        switch self {
        case .move(let place): PointerGesture(.move, [place.point])
        case .click(let place): PointerGesture(.click, [place.point])
        case .draw(let places): PointerGesture(.draw, places.suffix(PointerGesture.pointLimit).map(\.point))
        case .leave: PointerGesture(.leave)
        }
    }
}

extension ViewerPointer {
    init?(_ event: PointerEvent) {
        guard let action = PointerAction(event) else { return nil }
        self.init(id: event.id, name: event.from, action: action)
    }
}

extension ViewerInput {
    init(_ input: ControlInput) {
        switch input {
        case .move(let point): self = .move(PicturePlace(point))
        case .button(let button, let isPressed): self = .button(Int(button), isPressed: isPressed)
        case .wheel(let horizontal, let vertical):
            self = .wheel(horizontal: Int(horizontal), vertical: Int(vertical))
        case .key(let keysym, let isPressed): self = .key(keysym: keysym, isPressed: isPressed)
        }
    }

    /// Nil for `releaseAll`, which no viewer says.
    var input: ControlInput? {
        switch self {
        case .move(let place): .move(place.point)
        case .button(let button, let isPressed): .button(UInt8(clamping: button), isPressed: isPressed)
        case .wheel(let horizontal, let vertical):
            .wheel(horizontal: Int8(clamping: horizontal), vertical: Int8(clamping: vertical))
        case .key(let keysym, let isPressed): .key(keysym: keysym, isPressed: isPressed)
        case .releaseAll: nil
        }
    }
}

extension Participation {
    init(_ right: ViewerRight) {
        switch right {
        case .comment: self = .comment
        case .point: self = .point
        case .control: self = .control
        }
    }

    var right: ViewerRight {
        switch self {
        case .comment: .comment
        case .point: .point
        case .control: .control
        }
    }
}

extension ParticipationRight {
    init(_ state: RightState) {
        switch state {
        case .no: self = .none
        case .ask: self = .mayAsk
        case .yes: self = .granted
        }
    }
}
