import HTTP
import HTTPTypes
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
            guard part.isEmpty || length + text.utf8.count <= SealedMessagesDocument.roomForTexts else { return false }
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
package struct SealedMessagesDocument: Codable {
    private var frames: [String]
    /// Left out if there are none.
    private var droppable: [String]?
    /// By base64url of the certificate's hash.
    private var boxes: [String: String]

    static let sizeLimit = 65_536
    /// Of all texts together, in characters.
    static let roomForTexts = 49_152
    private static let textLimit = 24_576

    package init(_ messages: SealedMessages) {
        frames = messages.frames
        droppable = messages.droppable.isEmpty ? nil : messages.droppable
        boxes = [:]
        for (viewer, box) in messages.boxes { boxes[Base64URL.encode(viewer)] = box }
    }

    /// Nil if it has too many entries, or one that is none.
    package var messages: SealedMessages? {
        let droppable = droppable ?? []
        guard frames.count <= SealedMessages.frameLimit, droppable.count <= SealedMessages.droppableLimit,
            boxes.count <= SealedMessages.boxLimit
        else { return nil }
        var messages = SealedMessages()
        guard (frames + droppable).allSatisfy({ Self.isText($0) }) else { return nil }
        for frame in frames { messages.add(frame: frame) }
        for frame in droppable { messages.add(frame: frame, isDroppable: true) }
        for (name, box) in boxes {
            guard let viewer = Base64URL.decode(name, count: 32), Self.isText(box) else { return nil }
            messages.add(box: box, for: viewer)
        }
        return messages
    }

    private static func isText(_ text: String) -> Bool {
        text.utf8.count <= textLimit && Base64URL.decode(text) != nil
    }
}

extension ServiceRoutes {
    /// Handles `PUT messages`: they are passed on to viewers of the broadcast.
    func messages(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        let owner = try await paired(call).owner
        let what =
            "messages are JSON with frames, 32 at most, droppable ones, 8 at most, and boxes, 64 at most: base64url by the viewers' certificates"
        let document = try server.document(
            SealedMessagesDocument.self, of: call, limit: SealedMessagesDocument.sizeLimit, or: what)
        guard let messages = document.messages else { return server.malformed(what) }
        let isPassed = await service.delegate.pass(messages, by: registry.sessions(of: owner))
        return isPassed ? RouteResponse(.noContent) : .notFound
    }
}
