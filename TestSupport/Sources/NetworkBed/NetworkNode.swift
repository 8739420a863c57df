/// One namespace of a `NetworkBed`, which it keeps alive.
public struct NetworkNode: Sendable {
    /// The path for `nsenter --net=`.
    public let path: String
    let bed: NetworkBed

    /// Returns the program and arguments that start a program in this node.
    public func command(_ program: String, _ arguments: [String]) -> (program: String, arguments: [String]) {
        ("nsenter", bed.entrance + ["--net=\(path)", "--", program] + arguments)
    }

    /// Runs a short program in this node to its end; the links are not served meanwhile.
    /// - Parameter words: the program's name and arguments, none of which contains a space.
    /// - Returns: the output, in one line.
    /// - Throws: if the program fails, with its message.
    @discardableResult
    public func run(_ words: String) throws -> String { try bed.command("run \(path) \(words)") }

    /// Enables forwarding between the node's interfaces.
    public func forward() throws { _ = try bed.command("forward \(path)") }
}
