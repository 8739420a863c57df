public import FoundationEssentials

/// A message of a host to the program of an extension (Docs/internals/protocol.md, "Extensions").
public enum HostMessage: Equatable, Sendable {
    /// The first one.
    case start(ExtensionStart)
    /// Samples follow in this memory, whose descriptor comes with the message; it replaces that of the same kind.
    case memory(SampleMemoryDescription)
    case sample(SampleDescription)
    case paused
    case resumed
    /// The application has changed.
    case annotated(BroadcastingApplication)
    /// The program has to end. Nothing follows.
    case finish
}

/// What a program is started with.
public struct ExtensionStart: Codable, Equatable, Sendable {
    /// The version of the messages that the host speaks.
    public var version: Int
    public var application: BroadcastingApplication
    /// The values that the user has given, by the names of the fields.
    public var setup: [String: String]
    /// The private memory that the program may use, in bytes.
    public var memoryBudget: Int
    /// The audio tracks of the broadcast, in their order; nil from a host that does not say.
    public var audio: [SampleDescription.AudioTrack]?
    /// The link of the service in the manifest, if there is one.
    public var service: String?

    public static let currentVersion = 1

    public init(application: BroadcastingApplication, setup: [String: String], memoryBudget: Int) {
        version = Self.currentVersion
        self.application = application
        self.setup = setup
        self.memoryBudget = memoryBudget
    }
}

/// The application that broadcasts.
public struct BroadcastingApplication: Codable, Equatable, Sendable {
    public var id: String
    public var name: String
    /// A PNG file.
    public var icon: Data?

    public init(id: String, name: String, icon: [UInt8]? = nil) {
        self.id = id
        self.name = name
        self.icon = icon.map { Data($0) }
    }
}

/// The memory of one kind of sample: slots of the same size.
public struct SampleMemoryDescription: Codable, Equatable, Sendable {
    /// Counts the memories of a broadcast.
    public var id: Int
    public var kind: SampleKind
    public var slots: Int
    /// In bytes.
    public var slotSize: Int

    public init(id: Int, kind: SampleKind, slots: Int, slotSize: Int) {
        self.id = id
        self.kind = kind
        self.slots = slots
        self.slotSize = slotSize
    }
}

public enum SampleKind: String, Codable, Equatable, Sendable, CaseIterable {
    case video
    /// Of the application or the system, and of the microphone.
    case audio
}

/// A sample in a slot. The program gives the slot back when it has done with it.
public struct SampleDescription: Equatable, Sendable {
    public enum Format: Equatable, Sendable {
        /// Planes Y, U and V one after the other, 4:2:0 of 8 bits, BT.601 limited range. The strides are in bytes.
        case i420(width: Int, height: Int, strideY: Int, strideC: Int)
        /// One frame (RFC 6386).
        case vp8(bytes: Int, isKeyframe: Bool, layer: UInt8, width: Int, height: Int)
        /// Interleaved samples of 16 bits in the machine's byte order, 48 kHz, two channels.
        case pcm(track: AudioTrack, bytes: Int)
        /// One packet of 20 ms (RFC 6716).
        case opus(track: AudioTrack, bytes: Int)
    }
    public enum AudioTrack: String, Codable, Equatable, Sendable { case application, microphone }

    public var memory: Int
    public var slot: Int
    public var format: Format
    /// When it was captured, in nanoseconds of CLOCK_MONOTONIC.
    public var time: Int64

    public init(memory: Int, slot: Int, format: Format, time: Int64) {
        self.memory = memory
        self.slot = slot
        self.format = format
        self.time = time
    }
}

extension HostMessage: Codable {
    private enum Keys: CodingKey { case type, application }
    private enum Name: String, Codable { case start, memory, sample, paused, resumed, annotated, finish }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Keys.self)
        self =
            switch try values.decode(Name.self, forKey: .type) {
            case .start: .start(try ExtensionStart(from: decoder))
            case .memory: .memory(try SampleMemoryDescription(from: decoder))
            case .sample: .sample(try SampleDescription(from: decoder))
            case .paused: .paused
            case .resumed: .resumed
            case .annotated: .annotated(try values.decode(BroadcastingApplication.self, forKey: .application))
            case .finish: .finish
            }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Keys.self)
        switch self {
        case .start(let start):
            try values.encode(Name.start, forKey: .type)
            try start.encode(to: encoder)
        case .memory(let memory):
            try values.encode(Name.memory, forKey: .type)
            try memory.encode(to: encoder)
        case .sample(let sample):
            try values.encode(Name.sample, forKey: .type)
            try sample.encode(to: encoder)
        case .paused: try values.encode(Name.paused, forKey: .type)
        case .resumed: try values.encode(Name.resumed, forKey: .type)
        case .annotated(let application):
            try values.encode(Name.annotated, forKey: .type)
            try values.encode(application, forKey: .application)
        case .finish: try values.encode(Name.finish, forKey: .type)
        }
    }
}
