import Glibc
import LinuxRuntime
import NIOCore

/// Resolves host names on a thread of their own, because libnice must not resolve names itself.
public enum ServerLookup {
    /// Returns the first IPv4 and the first IPv6 address of a name; for an address, the address itself. Returns nothing
    /// if there is none, or if the lookup takes longer than `limit`.
    public static func addresses(of host: String, limit: Duration = .seconds(3)) async -> [String] {
        if let address = try? SocketAddress(ipAddress: host, port: 1) { return [address.ipAddress ?? host] }
        let (found, result) = AsyncStream.makeStream(of: [String].self, bufferingPolicy: .bufferingOldest(1))
        // `getaddrinfo` blocks and cannot be cancelled, so it runs on a thread that ends when the call returns.
        do throws(NamedThread.Failure) {
            _ = try NamedThread.start("lookup") { result.yield(resolve(host)) }
        } catch {
            return []
        }
        let deadline = Task {
            if (try? await Task.sleep(for: limit)) != nil { result.yield([]) }
        }
        defer { deadline.cancel() }
        for await addresses in found { return addresses }
        return []
    }

    /// Returns whether `host` is an IPv4 or IPv6 address, also one with a zone.
    public static func isAddress(_ host: String) -> Bool {
        host.contains(":") || (try? SocketAddress(ipAddress: host, port: 1)) != nil
    }

    private static func resolve(_ host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [Int32: String] = [:]
        var item = list
        while let current = item {
            let family = current.pointee.ai_family
            if found[family] == nil, let address = current.pointee.ai_addr {
                var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
                if getnameinfo(
                    address, current.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
                {
                    found[family] = String(
                        decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                }
            }
            item = current.pointee.ai_next
        }
        // Addresses with a zone are left out, because a zone is only valid on this machine.
        return [AF_INET, AF_INET6].compactMap { found[$0] }.filter { !$0.contains("%") }
    }
}
