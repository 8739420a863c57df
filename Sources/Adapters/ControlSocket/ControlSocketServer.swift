import Glibc
import LinuxRuntime
public import MediaCore
import Synchronization

/// Answers requests of this user's processes at a Unix stream socket: a line asks, a line answers.
///
/// The file has mode 0600, and the peer's credentials are checked. A flood of requests waits at the socket: their rate
/// is limited, and each connection has one request at a time. Runs on the thread `control`; may be used from any
/// thread.
public final class ControlSocketServer: Sendable {
    public struct Limits: Sendable {
        public var connections = 8
        /// The longest request, without its end of line.
        public var requestBytes = 4_096
        /// The time to send a request, to handle it, and to read its answer.
        public var timeout = MediaDuration.seconds(5)
        /// Requests a second, and how many may come at once. The same limits hold for connections.
        public var requestsPerSecond = 50.0
        public var requestBurst = 50.0

        public init() {}
    }

    /// Returns the answer to a request, without an end of line. At most as many run at a time as there are connections.
    public typealias Handler = @Sendable (_ request: String) async -> String

    /// Of the socket.
    public let path: String
    private let inbox: ControlSocketInbox
    private let thread: NamedThread

    /// Opens the socket in the first usable folder, and removes stale ones.
    /// - Parameter name: of the file, without its suffix; unique among the running processes.
    public init(
        name: String, in folder: ControlSocketFolder, limits: Limits = Limits(), handler: @escaping Handler
    ) throws(ControlSocketFailure) {
        let file = name + ControlSocketFolder.suffix
        path = try folder.make(for: "." + file) + "/" + file
        folder.removeStale()
        let listener = try Self.listen(at: path, limits)
        let inbox: ControlSocketInbox
        do throws(Wakeup.Failure) {
            inbox = ControlSocketInbox(try Wakeup())
        } catch {
            Glibc.close(listener)
            unlink(path)
            throw ControlSocketFailure(.socket, "no descriptor is left (error \(error.code))")
        }
        self.inbox = inbox
        let path = path
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start("control") {
                ControlSocketLoop(listener: listener, path: path, limits: limits, inbox: inbox, handler: handler).run()
            }
        } catch {
            Glibc.close(listener)
            unlink(path)
            throw ControlSocketFailure(.socket, "no thread is left (error \(error.code))")
        }
    }

    /// Removes the socket and refuses further requests. Returns when the running ones are answered, after half a second
    /// at most. May be called more than once.
    public func close() async {
        inbox.requestEnd()
        await thread.ended()
    }

    /// The socket gets its name when it listens, so that one that refuses connections is stale.
    private static func listen(at path: String, _ limits: Limits) throws(ControlSocketFailure) -> Int32 {
        guard let file = UnixSocket.open() else {
            throw ControlSocketFailure(.socket, "no descriptor is left: \(ControlSocketFolder.reason)")
        }
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let temporary = path[..<end] + "/." + path[end...].dropFirst()
        unlink(String(temporary))
        guard UnixSocket.bind(file, String(temporary)), chmod(String(temporary), 0o600) == 0,
            Glibc.listen(file, Int32(limits.connections)) == 0, rename(String(temporary), path) == 0
        else {
            let reason = ControlSocketFolder.reason
            Glibc.close(file)
            unlink(String(temporary))
            throw ControlSocketFailure(.socket, "\(path) cannot be opened: \(reason)")
        }
        return file
    }
}

/// The input of a ``ControlSocketLoop`` from other threads: answers, and the request to end.
final class ControlSocketInbox: Sendable {
    struct Contents: Sendable {
        var answers: [(connection: Int, text: String)] = []
        var isEnding = false
    }

    let wakeup: Wakeup
    private let contents = Mutex(Contents())

    init(_ wakeup: Wakeup) { self.wakeup = wakeup }

    func deliver(_ answer: String, to connection: Int) {
        contents.withLock { $0.answers.append((connection, answer)) }
        wakeup.signal()
    }

    func requestEnd() {
        contents.withLock { $0.isEnding = true }
        wakeup.signal()
    }

    /// Empties the answers.
    func take() -> Contents {
        wakeup.consume()
        return contents.withLock { contents in
            defer { contents.answers = [] }
            return contents
        }
    }
}
