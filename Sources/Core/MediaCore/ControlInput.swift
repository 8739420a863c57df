/// One input of a viewer that controls the shared screen.
public enum ControlInput: Sendable, Equatable {
    /// The pointer moves there.
    case move(PicturePoint)
    /// A button of the pointer, as X11 numbers them: 1 left, 2 middle, 3 right, 8 back, 9 forward.
    case button(UInt8, isPressed: Bool)
    /// The wheel turns. In notches: positive to the right, and down.
    case wheel(horizontal: Int8, vertical: Int8)
    /// A key, by its X11 keysym: the character of the viewer's layout, whatever the host's layout is.
    case key(keysym: UInt32, isPressed: Bool)
}

/// As JSON: `{"move":[x,y]}`, `{"button":1,"pressed":true}`, `{"wheel":[0,1]}`, `{"key":97,"pressed":true}`.
extension ControlInput: Codable {
    private enum CodingKeys: String, CodingKey { case move, button, wheel, key, pressed }

    /// - Throws: for an input that is not known.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let point = try values.decodeIfPresent(PicturePoint.self, forKey: .move) {
            self = .move(point)
        } else if let button = try values.decodeIfPresent(UInt8.self, forKey: .button) {
            self = .button(button, isPressed: try values.decode(Bool.self, forKey: .pressed))
        } else if let keysym = try values.decodeIfPresent(UInt32.self, forKey: .key) {
            self = .key(keysym: keysym, isPressed: try values.decode(Bool.self, forKey: .pressed))
        } else {
            var notches = try values.nestedUnkeyedContainer(forKey: .wheel)
            self = .wheel(
                horizontal: try notches.decode(Int8.self), vertical: try notches.decode(Int8.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .move(let point): try values.encode(point, forKey: .move)
        case .button(let button, let isPressed):
            try values.encode(button, forKey: .button)
            try values.encode(isPressed, forKey: .pressed)
        case .wheel(let horizontal, let vertical):
            var notches = values.nestedUnkeyedContainer(forKey: .wheel)
            try notches.encode(horizontal)
            try notches.encode(vertical)
        case .key(let keysym, let isPressed):
            try values.encode(keysym, forKey: .key)
            try values.encode(isPressed, forKey: .pressed)
        }
    }
}

/// An input, with what tells whether it is still meant.
public struct AimedInput: Sendable, Equatable, Codable {
    /// Of the host's permission, as the event `rights` has it.
    public var grant: Int
    /// Grows with each input of this permission.
    public var count: Int
    /// The viewer's monotonic clock, in milliseconds.
    public var time: Int64
    /// The RTP timestamp of the frame that the viewer sees; nil: it does not know it.
    public var frame: UInt32?
    /// The frame that it sees, where relays give frames timestamps of their own and cannot read them.
    public var sealed: SealedFrameID?
    /// Nil: the viewer is still there, and does nothing.
    public var input: ControlInput?

    public init(
        grant: Int, count: Int, time: Int64, frame: UInt32?, sealed: SealedFrameID? = nil, input: ControlInput?
    ) {
        (self.grant, self.count, self.time) = (grant, count, time)
        (self.frame, self.sealed, self.input) = (frame, sealed, input)
    }
}
