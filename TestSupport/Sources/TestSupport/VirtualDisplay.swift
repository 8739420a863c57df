/// An X server without a screen, on a free display number that it chooses.
public final class VirtualDisplay: Sendable {
    public let name: String
    private let server: Program

    /// - Parameter arguments: additional arguments of the server, such as `-extension DAMAGE`.
    public init(width: Int = 1280, height: Int = 720, depth: Int = 24, arguments: [String] = []) throws {
        server = try Program(
            "Xvfb",
            ["-displayfd", "1", "-screen", "0", "\(width)x\(height)x\(depth)", "-nolisten", "tcp", "-noreset"]
                + arguments)
        // The server writes its number when it is ready.
        guard let number = server.line(seconds: 20, { Int($0) }) else { throw Program.Failure("Xvfb did not start") }
        name = ":\(number)"
    }

    // SIGTERM lets the server remove its socket and its lock.
    deinit { server.terminate() }

    /// Runs a program on this display until its end.
    public func run(_ program: String, _ arguments: [String]) throws {
        try Program(program, arguments, environment: ["DISPLAY": name]).finish()
    }

    /// Kills the server, like a crash.
    public func kill() { server.kill() }
}
