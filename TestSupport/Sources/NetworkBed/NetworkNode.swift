/// One namespace of a `NetworkBed`, which it keeps alive.
public struct NetworkNode: Sendable {
    /// For `nsenter --net=`.
    public let path: String
    let bed: NetworkBed

    /// The program and arguments that start a program in this node.
    public func command(_ program: String, _ arguments: [String]) -> (program: String, arguments: [String]) {
        ("nsenter", bed.entrance + ["--net=\(path)", "--", program] + arguments)
    }

    /// Runs a short program here until its end; the links stand still meanwhile.
    /// - Parameter words: its name and arguments, of which none has a space in it.
    /// - Returns: what it wrote, in one line.
    /// - Throws: if it fails, with what it said.
    @discardableResult
    public func run(_ words: String) throws -> String { try bed.command("run \(path) \(words)") }

    /// Passes packets on between its interfaces.
    public func forward() throws { _ = try bed.command("forward \(path)") }
}
