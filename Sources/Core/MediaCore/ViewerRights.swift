/// What a viewer may do beside watching.
public enum ViewerRight: String, Codable, Sendable, CaseIterable {
    /// Write lines that all viewers and the host read.
    case comment
    /// Show a pointer over the picture.
    case point
    /// Move the host's pointer, and press its buttons and keys.
    case control

    /// What a viewer that asks for it wants: "to write comments".
    public var purpose: String {
        switch self {
        case .comment: "to write comments"
        case .point: "to point at the picture"
        case .control: "to control your pointer and keyboard"
        }
    }
}

/// Whether a viewer has a right.
public enum RightState: String, Codable, Sendable, CaseIterable {
    case no
    /// It may ask, and the host's user decides.
    case ask
    case yes
}

/// The rights of one viewer, or those that each viewer begins with.
public struct ViewerRights: Sendable, Equatable, Codable {
    public var comment: RightState
    public var point: RightState
    public var control: RightState

    public init(comment: RightState = .ask, point: RightState = .ask, control: RightState = .no) {
        (self.comment, self.point, self.control) = (comment, point, control)
    }

    public static let none = ViewerRights(comment: .no, point: .no, control: .no)

    public subscript(right: ViewerRight) -> RightState {
        get {
            switch right {
            case .comment: comment
            case .point: point
            case .control: control
            }
        }
        set {
            switch right {
            case .comment: comment = newValue
            case .point: point = newValue
            case .control: control = newValue
            }
        }
    }
}
