import Glibc
import LinuxRuntime
import MediaCore

/// The loop of the thread `control`: accepts connections, reads requests, and writes answers. Confined to that thread.
final class ControlSocketLoop {
    private let listener: Int32
    private let path: String
    private let limits: ControlSocketServer.Limits
    private let inbox: ControlSocketInbox
    private let handler: ControlSocketServer.Handler
    /// By their numbers, which are not used again.
    private var connections: [Int: ControlSocketConnection] = [:]
    private var accepted = 0
    /// Requests that are being handled, also of connections that have closed.
    private var handling = 0
    private var requests: TokenBucket
    private var arrivals: TokenBucket
    /// Nothing is accepted before; set when descriptors are exhausted.
    private var acceptsAfter: MediaInstant
    /// When the loop ends at the latest; nil while it serves.
    private var end: MediaInstant?

    init(
        listener: Int32, path: String, limits: ControlSocketServer.Limits, inbox: ControlSocketInbox,
        handler: @escaping ControlSocketServer.Handler
    ) {
        self.listener = listener
        self.path = path
        self.limits = limits
        self.inbox = inbox
        self.handler = handler
        let now = MonotonicClock.now
        requests = TokenBucket(burst: limits.requestBurst, rate: limits.requestsPerSecond, now: now)
        arrivals = TokenBucket(burst: limits.requestBurst, rate: limits.requestsPerSecond, now: now)
        acceptsAfter = now
    }

    /// Returns after the request to end.
    func run() {
        while true {
            let now = MonotonicClock.now
            requests.refill(now)
            arrivals.refill(now)
            begin(now)
            if let end, now >= end || !connections.values.contains(where: \.isBusy) { break }
            let readable = wait(now)
            handle(readable, MonotonicClock.now)
        }
        for connection in connections.values { close(connection.file) }
    }

    /// Sleeps until there is something to do.
    /// - Returns: the connections whose descriptors are ready; -1 stands for the listener.
    private func wait(_ now: MediaInstant) -> [Int] {
        var numbers = [0]
        var descriptors = [pollfd(fd: inbox.wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
        let hasRoom = end == nil && connections.count < limits.connections
        let mayAccept = hasRoom && arrivals.has() && now >= acceptsAfter
        if mayAccept {
            numbers.append(-1)
            descriptors.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
        }
        for (number, connection) in connections {
            guard let events = connection.events else { continue }
            numbers.append(number)
            descriptors.append(pollfd(fd: connection.file, events: events, revents: 0))
        }
        var deadlines = connections.values.map(\.deadline) + (end.map { [$0] } ?? [])
        // Something waits for a token, or for descriptors.
        if hasRoom != mayAccept || connections.values.contains(where: \.isWaiting) {
            deadlines.append(now + .milliseconds(20))
        }
        let left = deadlines.min().map { max(($0 - now).nanoseconds / 1_000_000 + 1, 0) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: left)) > 0 else { return [] }
        return zip(numbers, descriptors).filter { $1.revents != 0 && $0 != 0 }.map(\.0)
    }

    private func handle(_ ready: [Int], _ now: MediaInstant) {
        let news = inbox.take()
        for (number, text) in news.answers {
            handling -= 1
            connections[number]?.write(text, until: now + limits.timeout)
        }
        if news.isEnding, end == nil { stopListening(now) }
        for number in ready {
            if number < 0 {
                accept(now)
            } else if connections[number]?.advance(limits) == false {
                hangUp(number)
            }
        }
        for (number, connection) in connections where connection.deadline <= now { hangUp(number) }
    }

    /// Begins the requests that are complete, as far as the limits permit.
    private func begin(_ now: MediaInstant) {
        for number in connections.keys.sorted() {
            guard let connection = connections[number], connection.isWaiting else { continue }
            guard requests.has(), handling < limits.connections else { return }
            guard let request = connection.takeRequest(until: now + limits.timeout) else { continue }
            requests.take()
            handling += 1
            Task { [handler, inbox] in inbox.deliver(await handler(request), to: number) }
        }
    }

    private func accept(_ now: MediaInstant) {
        arrivals.take()
        let file = Glibc.accept(listener, nil, nil)
        guard file >= 0 else {
            if errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS {
                acceptsAfter = now + .seconds(1)
            }
            return
        }
        UnixSocket.setNonBlocking(file)
        guard UnixSocket.isPeerThisUser(file) else {
            close(file)
            return
        }
        accepted += 1
        connections[accepted] = ControlSocketConnection(file, deadline: now + limits.timeout)
    }

    private func hangUp(_ number: Int) {
        if let connection = connections.removeValue(forKey: number) { close(connection.file) }
    }

    private func stopListening(_ now: MediaInstant) {
        end = now + .milliseconds(500)
        unlink(path)
        close(listener)
    }
}

/// One accepted connection. Confined to the thread `control`.
final class ControlSocketConnection {
    private enum Phase {
        case reading
        case handling
        case writing
    }

    let file: Int32
    private(set) var deadline: MediaInstant
    private var phase = Phase.reading
    private var input: [UInt8] = []
    private var output: ArraySlice<UInt8> = []

    init(_ file: Int32, deadline: MediaInstant) {
        self.file = file
        self.deadline = deadline
    }

    /// A request is being handled or answered.
    var isBusy: Bool { phase != .reading }
    /// A complete request waits to be handled.
    var isWaiting: Bool { phase == .reading && input.contains(Self.newline) }

    private static let newline = UInt8(ascii: "\n")

    /// The events that `poll` waits for; nil for nothing, also not for the other side's end.
    var events: Int16? {
        switch phase {
        case .reading: isWaiting ? nil : Int16(POLLIN)
        case .handling: nil
        case .writing: Int16(POLLOUT)
        }
    }

    func takeRequest(until deadline: MediaInstant) -> String? {
        guard let end = input.firstIndex(of: Self.newline) else { return nil }
        let request = String(decoding: input[..<end], as: UTF8.self)
        input.removeSubrange(...end)
        phase = .handling
        self.deadline = deadline
        return request
    }

    func write(_ answer: String, until deadline: MediaInstant) {
        output = ArraySlice(Array(answer.utf8) + [Self.newline])
        phase = .writing
        self.deadline = deadline
    }

    /// Reads or writes what is possible without waiting.
    /// - Returns: false if the connection is over: the other side has hung up or sent too much.
    func advance(_ limits: ControlSocketServer.Limits) -> Bool {
        switch phase {
        case .reading: read(limits.requestBytes)
        case .writing: write()
        case .handling: true
        }
    }

    private func read(_ limit: Int) -> Bool {
        // One byte more than the longest request with its end of line shows that a request is too long.
        var bytes = [UInt8](repeating: 0, count: max(limit + 1 - input.count, 1))
        let count = recv(file, &bytes, bytes.count, 0)
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        guard count > 0 else { return false }
        input += bytes[..<count]
        return input.count <= limit || isWaiting
    }

    private func write() -> Bool {
        let count = output.withUnsafeBytes { send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        output = output.dropFirst(count)
        if output.isEmpty { phase = .reading }
        return true
    }
}
