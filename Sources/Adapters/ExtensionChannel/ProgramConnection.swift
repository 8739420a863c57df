internal import Glibc
internal import LinuxRuntime

/// The end of the connection to the host, in the program of an extension.
public final class ProgramConnection: Sendable {
    public enum Event: Sendable {
        case started(ExtensionStart)
        case sample(ReceivedSample)
        case paused
        case resumed
        case annotated(BroadcastingApplication)
        /// The host ends the broadcast; the program has 3 s to end.
        case finished
    }

    /// Why the connection is over.
    public enum End: Equatable, Sendable {
        case finished
        /// The host has gone, or has sent what is no message of this version.
        case lost
    }

    private let channel: Monitor<ProgramChannel>
    private let wakeup: Wakeup?

    /// The connection that the host has passed on, as descriptor 3; nil if the program was not started by a host.
    public static func inherited() -> ProgramConnection? {
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &length) == 0, type == Int32(SOCK_STREAM.rawValue) else {
            return nil
        }
        // Programs that this one starts do not get it.
        _ = fcntl(3, F_SETFD, FD_CLOEXEC)
        return ProgramConnection(LocalConnection(3))
    }

    init(_ connection: LocalConnection) {
        channel = Monitor(ProgramChannel(connection))
        wakeup = try? Wakeup()
    }

    /// Sends a message. Does nothing when the host has gone. May be called from any thread.
    public func send(_ message: ExtensionMessage) {
        if !channel.with({ $0.send(message) }) { wakeup?.signal() }
    }

    /// Receives messages until the end. Blocks the calling thread.
    /// - Parameter handle: gets each event, one after the other.
    public func run(_ handle: (Event) -> Void) -> End {
        while true {
            let result = channel.with { $0.receive() }
            for event in result.events {
                switch event {
                case .message(let message):
                    guard let event = Self.event(message) else { continue }
                    handle(event)
                    if case .finished = event { return .finished }
                case .sample(let memory, let offset, let sample):
                    handle(.sample(ReceivedSample(sample, in: memory, at: offset, of: self)))
                }
            }
            guard result.isOpen else { return .lost }
            guard !result.isMore else { continue }
            wait()
        }
    }

    private func wait() {
        let (socket, isBlocked) = channel.with { ($0.descriptor, $0.isBlocked) }
        var descriptors = [
            pollfd(fd: socket, events: Int16(isBlocked ? POLLIN | POLLOUT : POLLIN), revents: 0),
            pollfd(fd: wakeup?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        poll(&descriptors, 2, -1)
        wakeup?.consume()
        channel.with { $0.flush() }
    }

    private static func event(_ message: HostMessage) -> Event? {
        switch message {
        case .start(let start): .started(start)
        case .paused: .paused
        case .resumed: .resumed
        case .annotated(let application): .annotated(application)
        case .finish: .finished
        case .memory, .sample: nil
        }
    }
}

/// The part of the connection that a program's threads share.
struct ProgramChannel {
    enum Event {
        case message(HostMessage)
        case sample(SharedMemory, offset: Int, SampleDescription)
    }
    struct Received {
        var events: [Event] = []
        var isOpen = true
        /// There may be more to read at once.
        var isMore = false
    }

    private let channel: ProcessMessageChannel<HostMessage, ExtensionMessage>
    private var memories: [SampleKind: (description: SampleMemoryDescription, memory: SharedMemory)] = [:]
    private var hasFailed = false

    init(_ connection: LocalConnection) { channel = ProcessMessageChannel(connection, takesAttachments: true) }

    var descriptor: Int32 { channel.descriptor }
    var isBlocked: Bool { channel.isBlocked && !hasFailed }

    /// - Returns: whether everything was sent, or nothing can be sent any more.
    mutating func send(_ message: ExtensionMessage) -> Bool {
        guard !hasFailed else { return true }
        do throws(ChannelFailure) { try channel.send(message) } catch { hasFailed = true }
        return !isBlocked
    }

    mutating func flush() {
        guard !hasFailed else { return }
        do throws(ChannelFailure) { try channel.flush() } catch { hasFailed = true }
    }

    mutating func receive() -> Received {
        var received = Received()
        do throws(ChannelFailure) {
            received.isMore = try channel.fill()
            while let message = try channel.next() {
                switch message {
                case .memory(let description): try adopt(description)
                case .sample(let sample):
                    guard let event = event(of: sample) else { throw .malformed }
                    received.events.append(event)
                default: received.events.append(.message(message))
                }
            }
        } catch {
            received.isOpen = false
        }
        return received
    }

    private mutating func adopt(_ description: SampleMemoryDescription) throws(ChannelFailure) {
        guard let file = channel.takeAttachment() else { throw .malformed }
        let (size, isTooLarge) = description.slots.multipliedReportingOverflow(by: description.slotSize)
        guard description.slots > 0, description.slotSize > 0, !isTooLarge,
            let memory = try? SharedMemory(reading: file, byteCount: size)
        else { throw .malformed }
        memories[description.kind] = (description, memory)
    }

    private func event(of sample: SampleDescription) -> Event? {
        guard let (description, memory) = memories.values.first(where: { $0.description.id == sample.memory }),
            (0..<description.slots).contains(sample.slot), let count = sample.byteCount,
            count <= description.slotSize
        else { return nil }
        return .sample(memory, offset: sample.slot * description.slotSize, sample)
    }
}

/// A sample in the host's memory. Its slot is given back when nobody refers to it any more.
// SAFETY: the host does not write to a slot that it has lent.
public final class ReceivedSample: @unchecked Sendable {
    public let description: SampleDescription
    /// The bytes of the sample; valid as long as the object.
    public let bytes: UnsafeRawBufferPointer
    private let memory: SharedMemory
    private let connection: ProgramConnection

    /// - Parameter offset: of the slot, which holds the whole sample.
    init(
        _ description: SampleDescription, in memory: SharedMemory, at offset: Int, of connection: ProgramConnection
    ) {
        self.description = description
        self.memory = memory
        self.connection = connection
        bytes = UnsafeRawBufferPointer(start: memory.base + offset, count: description.byteCount ?? 0)
    }

    deinit { connection.send(.release(memory: description.memory, slot: description.slot)) }
}
