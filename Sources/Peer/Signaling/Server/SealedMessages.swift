import Identifiers

/// What a host has a relay pass on to its viewers, who alone can read it.
public struct SealedMessages: Sendable, Equatable {
    /// For all, the oldest first: base64url of frames of SFrame.
    public private(set) var frames: [String] = []
    /// The same, which viewers that read slowly do not get.
    public private(set) var droppable: [String] = []
    /// For one viewer each, by SHA-256 of its certificate: base64url of a `MessageSeal`. A later one takes the place of
    /// an earlier one.
    public private(set) var boxes: [[UInt8]: String] = [:]

    /// In one request. The oldest frames are left out.
    static let frameLimit = 32
    static let droppableLimit = 8
    static let boxLimit = 64

    package init() {}

    package var isEmpty: Bool { frames.isEmpty && droppable.isEmpty && boxes.isEmpty }

    /// - Parameter isDroppable: viewers that read slowly need not get it.
    package mutating func add(frame: String, isDroppable: Bool = false) {
        guard !isDroppable else {
            if droppable.count >= Self.droppableLimit { droppable.removeFirst() }
            return droppable.append(frame)
        }
        if frames.count >= Self.frameLimit { frames.removeFirst() }
        frames.append(frame)
    }

    package mutating func add(box: String, for viewer: [UInt8]) { boxes[viewer] = box }

    /// Takes out what one request may have.
    package mutating func takePart() -> SealedMessages {
        var (part, length) = (SealedMessages(), 0)
        func takeRoom(for text: String) -> Bool {
            guard part.isEmpty || length + text.utf8.count <= Self.roomForTexts else { return false }
            length += text.utf8.count
            return true
        }
        while let frame = frames.first, takeRoom(for: frame) { part.frames.append(frames.removeFirst()) }
        while let frame = droppable.first, takeRoom(for: frame) { part.droppable.append(droppable.removeFirst()) }
        for (viewer, box) in boxes where part.boxes.count < Self.boxLimit {
            guard takeRoom(for: box) else { break }
            part.boxes[viewer] = boxes.removeValue(forKey: viewer)
        }
        return part
    }
}

/// The JSON of `PUT /services/ID/messages`, and of what relays of a cluster pass on to each other.
extension SealedMessages: Codable {
    /// Frames that may be left out are left out of the document if there are none. Boxes are there by base64url of the
    /// certificate's hash.
    private enum CodingKeys: CodingKey { case frames, droppable, boxes }

    static let sizeLimit = 65_536
    /// Of all texts together, in characters.
    static let roomForTexts = 49_152
    private static let textLimit = 24_576

    /// - Throws: if there are too many entries, or one that is none.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        frames = try values.decode([String].self, forKey: .frames)
        droppable = try values.decodeIfPresent([String].self, forKey: .droppable) ?? []
        let named = try values.decode([String: String].self, forKey: .boxes)
        for (name, box) in named { boxes[Base64URL.decode(name, count: 32) ?? []] = box }
        guard frames.count <= Self.frameLimit, droppable.count <= Self.droppableLimit, named.count <= Self.boxLimit,
            boxes[[]] == nil, (frames + droppable + boxes.values).allSatisfy(Self.isText)
        else {
            throw DecodingError.dataCorruptedError(forKey: .frames, in: values, debugDescription: "they are none")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(frames, forKey: .frames)
        try values.encodeIfPresent(droppable.isEmpty ? nil : droppable, forKey: .droppable)
        let named = boxes.map { (Base64URL.encode($0.key), $0.value) }
        try values.encode(Dictionary(uniqueKeysWithValues: named), forKey: .boxes)
    }

    private static func isText(_ text: String) -> Bool {
        text.utf8.count <= textLimit && Base64URL.decode(text) != nil
    }
}
