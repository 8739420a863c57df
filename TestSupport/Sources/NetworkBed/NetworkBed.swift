import Foundation

/// Network namespaces on this machine, and emulated links between them. All are removed with this value, or at any end
/// of the process: only the helper `netlab` holds the namespaces, and it lives as long as its stdin is open.
// SAFETY: commands and their responses are serialized by `lock`; the rest is constant.
public final class NetworkBed: @unchecked Sendable {
    private let netlab: NetlabProcess
    private let lock = NSLock()
    private var isClosed = false

    /// - Throws: if the kernel lets only root create namespaces, and this process is not root.
    public init() throws { netlab = try NetlabProcess() }

    deinit { close() }

    /// Ends the links. Each namespace lasts until the programs in it have ended.
    public func close() {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed else { return }
        isClosed = true
        netlab.close()
    }

    /// - Returns: the helper's response after "ok".
    func command(_ words: String) throws -> String {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed else { throw BedFailure("the bed is closed") }
        return try netlab.command(words)
    }

    /// - Returns: the file descriptor in the response, owned by the caller.
    func file(_ words: String) throws -> Int32 {
        lock.lock()
        defer { lock.unlock() }
        guard !isClosed else { throw BedFailure("the bed is closed") }
        return try netlab.file(words)
    }

    /// Further arguments of nsenter(1). An ordinary user has to enter the user namespace first.
    var entrance: [String] { netlab.userNamespace.map { ["--user=\($0)", "--preserve-credentials"] } ?? [] }

    /// Makes a node: a namespace with only its loopback interface up.
    public func node() throws -> NetworkNode { NetworkNode(path: try command("node"), bed: self) }

    /// Joins two nodes by a cable without limit and delay.
    /// - Parameters:
    ///   - interface: the name at both ends; shorter than 16 bytes.
    ///   - addresses: with the prefix length, as 10.0.0.1/24, or several, separated by spaces; IPv6 too.
    public func wire(
        _ first: NetworkNode, _ addresses: String, _ second: NetworkNode, _ secondAddresses: String, interface: String
    ) throws {
        try first.run("ip link add \(interface) type veth peer name \(interface) netns \(second.path)")
        for (node, text) in [(first, addresses), (second, secondAddresses)] {
            try node.run("ip link set \(interface) up")
            try Self.assign(text, interface, of: node)
        }
    }

    /// Joins two nodes by an emulated link.
    /// - Parameters:
    ///   - interface: the name at both ends; shorter than 16 bytes.
    ///   - seed: the seed of losses and delays.
    public func link(
        _ first: NetworkNode, _ addresses: String, _ second: NetworkNode, _ secondAddresses: String,
        interface: String = "link", conditions: LinkConditions = LinkConditions(), seed: UInt32 = 1
    ) throws -> EmulatedLink {
        let number = try command("link \(first.path) \(interface) \(second.path) \(interface) \(seed)")
        for (node, text) in [(first, addresses), (second, secondAddresses)] {
            try Self.assign(text, interface, of: node)
        }
        let link = EmulatedLink(number: number, bed: self)
        try link.set(conditions)
        return link
    }

    private static func assign(_ addresses: String, _ interface: String, of node: NetworkNode) throws {
        for address in addresses.split(separator: " ") {
            // Without `nodad`, duplicate address detection would make an IPv6 address unusable for a second.
            try node.run("ip addr add \(address) dev \(interface)" + (address.contains(":") ? " nodad" : ""))
        }
    }
}

/// Why the networks cannot be created.
public struct BedFailure: Error, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
