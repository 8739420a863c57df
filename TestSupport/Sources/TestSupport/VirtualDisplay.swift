/// An X server without a screen, on a number that it found free.
public final class VirtualDisplay: Sendable {
    public let name: String
    private let server: Program

    /// - Parameter arguments: more for the server, such as `-extension DAMAGE`.
    public init(width: Int = 1280, height: Int = 720, depth: Int = 24, arguments: [String] = []) throws {
        server = try Program(
            "Xvfb",
            ["-displayfd", "1", "-screen", "0", "\(width)x\(height)x\(depth)", "-nolisten", "tcp", "-noreset"]
                + arguments)
        // It writes its number when it is ready.
        guard let number = server.line(seconds: 20, { Int($0) }) else { throw Program.Failure("Xvfb did not start") }
        name = ":\(number)"
    }

    // So that it takes its socket and its lock along.
    deinit { server.terminate() }

    /// Runs a program on this display until its end.
    public func run(_ program: String, _ arguments: [String]) throws {
        try Program(program, arguments, environment: ["DISPLAY": name]).finish()
    }

    /// As a crash would.
    public func kill() { server.kill() }
}
