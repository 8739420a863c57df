internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// The program of an extension, which runs as a process of its own: started, fed with samples, watched, and ended.
///
/// Call `start` once, and `finish` at the end. Whatever the program does, `.ended` comes once, and no process, memory
/// or socket of it is left then. A thread of its own, `extension`, watches it.
// SAFETY: `thread` is set once, before `start` returns; the rest is in Monitors.
public final class ExtensionProcess: Sendable {
    public enum Event: Sendable {
        /// The program is there, and wants these samples.
        case began(ExtensionReadiness)
        /// Feedback; never `.ready`, `.release` or `.failed`.
        case message(ExtensionMessage)
        case ended(ExtensionEnd)
    }

    /// What a program is called with.
    public struct Program: Sendable {
        /// Absolute.
        public var path: String
        public var arguments: [String]
        /// `NAME=VALUE` each, added to those of `ProgramEnvironment`.
        public var environment: [String]
        /// A setup program reads this process's terminal.
        public var isSetup: Bool

        public init(path: String, arguments: [String] = [], environment: [String] = [], isSetup: Bool = false) {
            self.path = path
            self.arguments = arguments
            self.environment = environment
            self.isSetup = isSetup
        }
    }

    let program: Program
    let limits: ExtensionLifecycle.Limits
    let link: Monitor<ExtensionLink>
    let wakeup: Wakeup
    let handler: @Sendable (Event) -> Void

    /// - Parameter handler: called on the thread `extension`; must not block it.
    /// - Throws: an errno, if there are no descriptors left.
    public init(
        _ program: Program, limits: ExtensionLifecycle.Limits = .init(),
        handler: @escaping @Sendable (Event) -> Void
    ) throws(ExtensionFailure) {
        self.program = program
        self.limits = limits
        self.handler = handler
        do throws(Wakeup.Failure) {
            wakeup = try Wakeup()
        } catch {
            throw ExtensionFailure(code: error.code)
        }
        link = Monitor(ExtensionLink())
    }

    /// Starts the program. Its failure to start is reported as `.ended`, too.
    /// - Throws: if no thread or descriptor is left; nothing was started then.
    public func start(_ start: ExtensionStart) throws(ExtensionFailure) {
        guard let (own, theirs) = LocalConnection.pair() else { throw ExtensionFailure(code: errno) }
        link.with { $0.open(own) }
        do throws(NamedThread.Failure) {
            // The thread keeps this object until the program has ended.
            _ = try NamedThread.start("extension") {
                var loop = ExtensionLoop(self)
                loop.run(start, theirs)
            }
        } catch {
            link.with { $0.close() }
            throw ExtensionFailure(code: error.code)
        }
    }

    /// Asks the program to end; `.ended` follows within 5 s. May be called more than once.
    public func finish() {
        link.with { $0.isFinishing = true }
        wakeup.signal()
    }

    /// Sends a message. Does nothing before `.began` and after the end.
    public func send(_ message: HostMessage) {
        if !link.with({ $0.send(message) }) { wakeup.signal() }
    }

    /// Writes a sample into a slot of the program's memory and tells the program.
    ///
    /// Video is dropped while the program has all slots; audio waits for up to 5 s.
    /// - Parameters:
    ///   - byteCount: of the sample. A kind's memory is replaced by a larger one for a larger sample.
    ///   - describe: gets the numbers of memory and slot.
    ///   - write: fills a buffer of exactly `byteCount` bytes.
    /// - Returns: whether it was taken.
    @discardableResult
    public func send(
        _ kind: SampleKind, byteCount: Int, format: SampleDescription.Format, time: MediaInstant,
        _ write: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Bool {
        let result = link.with { $0.send(kind, byteCount, format, time, write) }
        // The thread sends what waits, or ends the program.
        if result.needsThread { wakeup.signal() }
        return result.isTaken
    }
}

/// A system call failed (an errno).
public struct ExtensionFailure: Error, Equatable {
    public let code: Int32
}
