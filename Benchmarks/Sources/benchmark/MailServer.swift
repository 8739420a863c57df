import Foundation
import Glibc
import Namespaces
import NetworkBed
import Synchronization

/// A small HTTP server on 127.0.0.1 by which two pages exchange offer and answer: a GET of a path returns what was
/// posted there. Pages are served under their names.
final class MailServer: Sendable {
    let port: UInt16
    private let descriptors: [Int32]
    private let papers: Mutex<[String: String]>

    /// - Parameter nodes: the nodes in which the server listens, on the same port; this machine if there are none.
    init(pages: [String: String], in nodes: [NetworkNode] = []) throws {
        papers = Mutex(pages)
        // Each network namespace has its own 127.0.0.1; browsers allow pages from that address to capture.
        var descriptors = nodes.map { socket_in_namespace($0.path) }
        if descriptors.isEmpty { descriptors = [socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)] }
        self.descriptors = descriptors
        var port: UInt16 = 0
        for descriptor in descriptors { port = try Self.open(descriptor, port: port) }
        self.port = port
        for descriptor in descriptors {
            let thread = Thread { [self] in serve(descriptor) }
            thread.start()
        }
    }

    /// - Parameter port: 0 selects a free one.
    private static func open(_ descriptor: Int32, port: UInt16) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let size = length
        let isOpen = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isOpen else { throw BenchmarkFailure("no port on 127.0.0.1") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Returns the content that was posted to a path.
    func paper(_ path: String) -> String? { papers.withLock { $0[path] } }

    func close() { for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) } }

    private func serve(_ descriptor: Int32) {
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { break }
            var wait = timeval(tv_sec: 2, tv_usec: 0)
            setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
            answer(connection)
            Glibc.close(connection)
        }
        Glibc.close(descriptor)
    }

    private func answer(_ connection: Int32) {
        guard let request = read(connection) else { return }
        let words = request.head.split(separator: " ")
        guard words.count > 1 else { return }
        let path = String(words[1])
        var body = ""
        var status = "200 OK"
        if words[0] == "POST" {
            papers.withLock { $0[path] = request.body }
        } else if let paper = paper(path) {
            body = paper
        } else {
            status = "404 Not Found"
        }
        let reply =
            "HTTP/1.1 \(status)\r\nContent-Type: \(path.hasSuffix(".html") ? "text/html" : "text/plain")\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        _ = reply.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }

    private func read(_ connection: Int32) -> (head: String, body: String)? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { continue }
            let head = String(text[..<end.lowerBound])
            let length =
                head.lowercased().range(of: "content-length: ").flatMap {
                    Int(head[$0.upperBound...].prefix { $0.isNumber })
                } ?? 0
            let body = text[end.upperBound...]
            if body.utf8.count >= length { return (head, String(body)) }
        }
    }
}
