import Foundation

extension NetworkNode {
    /// Connects to a TCP port of this node's 127.0.0.1 from outside the node, to control a program in it.
    /// - Returns: the socket, owned by the caller.
    public func connect(port: Int) throws -> Int32 { try bed.file("connect \(path) \(port)") }
}
