import Foundation

extension NetworkNode {
    /// A TCP connection to a port of this node's own 127.0.0.1, for somebody outside: who steers a program in here.
    /// - Returns: the socket, which is the caller's.
    public func connect(port: Int) throws -> Int32 { try bed.file("connect \(path) \(port)") }
}
