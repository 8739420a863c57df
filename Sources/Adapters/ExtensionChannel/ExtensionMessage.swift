/// A message of the program of an extension to its host (Docs/internals/protocol.md, "Extensions").
public enum ExtensionMessage: Equatable, Sendable {
    /// The answer to `start`.
    case ready(ExtensionReadiness)
    /// The program has done with a sample.
    case release(memory: Int, slot: Int)
    case serviceInfo(viewers: Int?, likes: Int?, commentName: String?, commentText: String?)
    /// Where people can watch.
    case broadcastURL(String)
    /// For encoded samples: the next frame has to be a key frame.
    case keyframe
    /// For encoded samples: what the network carries, in bit/s; 0: no frame is to be made now.
    case bitrate(Int)
    /// The program ends the broadcast. Both texts are for the user.
    case failed(reason: String, nextStep: String?)
    /// Of a setup program: the values for the upload program.
    case setup([String: String])
    /// Of a setup program: the user does not want to broadcast.
    case cancelled
}

/// What a program wants.
public struct ExtensionReadiness: Codable, Equatable, Sendable {
    public enum Media: String, Codable, Sendable {
        /// I420 and PCM.
        case raw
        /// VP8 and Opus, as the host has encoded them.
        case encoded
        /// A setup program gets no samples.
        case none
    }
    /// The version of the messages that it speaks.
    public var version: Int
    public var media: Media

    public init(media: Media) {
        version = ExtensionStart.currentVersion
        self.media = media
    }
}

extension ExtensionMessage: Codable {
    private enum Keys: CodingKey {
        case type, memory, slot, viewers, likes, comment, name, text, url, bitrate, reason, nextStep, setup
    }
    private enum Name: String, Codable {
        case ready, release
        case serviceInfo = "service-info"
        case broadcastURL = "broadcast-url"
        case keyframe, bitrate, failed, setup, cancelled
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Keys.self)
        switch try values.decode(Name.self, forKey: .type) {
        case .ready: self = .ready(try ExtensionReadiness(from: decoder))
        case .release:
            self = .release(
                memory: try values.decode(Int.self, forKey: .memory), slot: try values.decode(Int.self, forKey: .slot))
        case .serviceInfo:
            let comment = try? values.nestedContainer(keyedBy: Keys.self, forKey: .comment)
            self = .serviceInfo(
                viewers: try values.decodeIfPresent(Int.self, forKey: .viewers),
                likes: try values.decodeIfPresent(Int.self, forKey: .likes),
                commentName: try comment?.decode(String.self, forKey: .name),
                commentText: try comment?.decode(String.self, forKey: .text))
        case .broadcastURL: self = .broadcastURL(try values.decode(String.self, forKey: .url))
        case .keyframe: self = .keyframe
        case .bitrate: self = .bitrate(try values.decode(Int.self, forKey: .bitrate))
        case .failed:
            self = .failed(
                reason: try values.decode(String.self, forKey: .reason),
                nextStep: try values.decodeIfPresent(String.self, forKey: .nextStep))
        case .setup: self = .setup(try values.decode([String: String].self, forKey: .setup))
        case .cancelled: self = .cancelled
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Keys.self)
        switch self {
        case .ready(let readiness):
            try values.encode(Name.ready, forKey: .type)
            try readiness.encode(to: encoder)
        case .release(let memory, let slot):
            try values.encode(Name.release, forKey: .type)
            try values.encode(memory, forKey: .memory)
            try values.encode(slot, forKey: .slot)
        case .serviceInfo(let viewers, let likes, let name, let text):
            try values.encode(Name.serviceInfo, forKey: .type)
            try values.encodeIfPresent(viewers, forKey: .viewers)
            try values.encodeIfPresent(likes, forKey: .likes)
            if let name, let text {
                var comment = values.nestedContainer(keyedBy: Keys.self, forKey: .comment)
                try comment.encode(name, forKey: .name)
                try comment.encode(text, forKey: .text)
            }
        case .broadcastURL(let url):
            try values.encode(Name.broadcastURL, forKey: .type)
            try values.encode(url, forKey: .url)
        case .keyframe: try values.encode(Name.keyframe, forKey: .type)
        case .bitrate(let bitrate):
            try values.encode(Name.bitrate, forKey: .type)
            try values.encode(bitrate, forKey: .bitrate)
        case .failed(let reason, let nextStep):
            try values.encode(Name.failed, forKey: .type)
            try values.encode(reason, forKey: .reason)
            try values.encodeIfPresent(nextStep, forKey: .nextStep)
        case .setup(let setup):
            try values.encode(Name.setup, forKey: .type)
            try values.encode(setup, forKey: .setup)
        case .cancelled: try values.encode(Name.cancelled, forKey: .type)
        }
    }
}
