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

/// What a viewer may do, as the host tells it.
public struct GrantedRights: Sendable, Equatable {
    public var rights: ViewerRights
    /// The number of the permission to control, which each input carries; nil: it may not.
    public var grant: Int?
    /// Of its pointer among those of all viewers; nil: it may not point.
    public var pointer: Int?

    public init(_ rights: ViewerRights, grant: Int? = nil, pointer: Int? = nil) {
        (self.rights, self.grant, self.pointer) = (rights, grant, pointer)
    }
}

/// As JSON: `{"comment":"ask","point":"yes","control":"yes","grant":4,"pointer":3}`.
extension GrantedRights: Codable {
    private enum CodingKeys: String, CodingKey { case grant, pointer }

    public init(from decoder: any Decoder) throws {
        rights = try ViewerRights(from: decoder)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        grant = try values.decodeIfPresent(Int.self, forKey: .grant)
        pointer = try values.decodeIfPresent(Int.self, forKey: .pointer)
    }

    public func encode(to encoder: any Encoder) throws {
        try rights.encode(to: encoder)
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(grant, forKey: .grant)
        try values.encodeIfPresent(pointer, forKey: .pointer)
    }
}

/// The viewer that controls the host's screen, as all viewers are told.
public struct ScreenController: Sendable, Equatable, Codable {
    /// Its name; nil: nobody does.
    public var by: String?

    public init(by name: String?) { by = name }
    public init(from decoder: any Decoder) throws {
        by = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(String.self, forKey: .by)
            .map { UntrustedText.clean($0, fallback: "a viewer") }
    }

    private enum CodingKeys: String, CodingKey { case by }
}
