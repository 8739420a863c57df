import EventLoop
public import SessionDescription

extension ICEAgent {
    /// The servers and addresses to gather with, and the role in connectivity checks.
    public struct Configuration: Sendable {
        public struct STUNServer: Hashable, Sendable {
            /// A numeric address: names are resolved by the caller.
            public var address: String
            public var port: UInt16

            public init(address: String, port: UInt16 = 3478) {
                self.address = address
                self.port = port
            }
        }

        public struct TURNServer: Hashable, Sendable {
            /// The transport to the server. There is no TLS, because libnice's "TURN over TLS" is not TLS.
            public enum Transport: Sendable { case udp, tcp }
            /// A numeric address: names are resolved by the caller.
            public var address: String
            public var port: UInt16
            public var username: String
            public var password: String
            public var transport: Transport

            public init(
                address: String, port: UInt16 = 3478, username: String, password: String, transport: Transport = .udp
            ) {
                self.address = address
                self.port = port
                self.username = username
                self.password = password
                self.transport = transport
            }
        }

        /// Whether this side made the offer, which makes it controlling (RFC 8839 section 4.2.5).
        public var isControlling: Bool
        /// Only the first server is used, as libnice supports one.
        public var stunServers: [STUNServer]
        public var turnServers: [TURNServer]
        /// Numeric addresses to bind; nil for all addresses of the machine.
        public var localAddresses: [String]?
        /// The UDP ports for host candidates, which a firewall lets in; nil for any free ones. When all are taken, any
        /// other is used.
        public var ports: ClosedRange<UInt16>?
        /// Also binds 127.0.0.1, for a viewer on the same machine.
        public var includesLoopback: Bool
        /// Uses relayed candidates only, so that the other side does not learn an address of this machine.
        public var usesOnlyRelays: Bool
        /// Asks the router to forward the ports (UPnP). Handlers are still called on the loop.
        public var usesUPnP: Bool
        /// The interval between two connectivity checks in milliseconds (Ta of RFC 8445 section 14.2). 5 suits a small
        /// number of checks; 20 would delay joining noticeably.
        public var checkInterval = 5

        public init(
            isControlling: Bool, stunServers: [STUNServer] = [], turnServers: [TURNServer] = [],
            localAddresses: [String]? = nil, includesLoopback: Bool = false, usesOnlyRelays: Bool = false,
            usesUPnP: Bool = false, ports: ClosedRange<UInt16>? = nil
        ) {
            self.ports = ports
            self.isControlling = isControlling
            self.stunServers = stunServers
            self.turnServers = turnServers
            self.localAddresses = localAddresses
            self.includesLoopback = includesLoopback
            self.usesOnlyRelays = usesOnlyRelays
            self.usesUPnP = usesUPnP
        }

        /// Returns the most file descriptors that an agent takes: a GLib context, a socket for each address, sockets
        /// for each TURN server from each address (with TCP two more in the tunnel), and UPnP's own context and
        /// sockets.
        /// - Parameter localInterfaceAddresses: the number of ``ICEAgent/localInterfaceAddresses()``.
        public func descriptors(localInterfaceAddresses: Int) -> Int {
            let addresses = (localAddresses?.count ?? localInterfaceAddresses) + (includesLoopback ? 1 : 0)
            let relays = turnServers.prefix(8).reduce(0) { $0 + ($1.transport == .tcp ? 3 : 1) }
            return 1 + addresses * (1 + relays) + (usesUPnP ? 12 : 0)
        }
    }

    public enum State: Hashable, Sendable {
        case new, gathering, connecting
        /// A pair has been selected: media may flow.
        case connected
        /// All checks are done.
        case ready
        /// No check succeeded, or the selected pair has not answered for 50 s. This is not final: a direct pair still
        /// sends, and may recover without a report, when datagrams arrive again.
        case failed
    }

    /// The agent's callbacks, all on the loop. They may be called from within a method of the agent.
    public struct Handlers {
        /// A local candidate.
        public var onCandidate: (ICECandidate) -> Void
        public var onGatheringDone: () -> Void
        public var onState: (State) -> Void
        /// Called with one datagram that is not STUN, or is unknown STUN; lent for the call, and may be overwritten.
        public var onDatagram: (UnsafeMutableRawBufferPointer) -> Void
        /// Called once when libnice has released everything; also for an agent whose `init` throws late.
        public var onClosed: () -> Void

        public init(
            onCandidate: @escaping (ICECandidate) -> Void = { _ in }, onGatheringDone: @escaping () -> Void = {},
            onState: @escaping (State) -> Void = { _ in }, onClosed: @escaping () -> Void = {},
            onDatagram: @escaping (UnsafeMutableRawBufferPointer) -> Void
        ) {
            self.onCandidate = onCandidate
            self.onGatheringDone = onGatheringDone
            self.onState = onState
            self.onClosed = onClosed
            self.onDatagram = onDatagram
        }
    }

    /// The selected pair, for people and statistics.
    public struct SelectedPair: Hashable, Sendable, CustomStringConvertible {
        /// `host`, `srflx`, `prflx` or `relay`.
        public var localKind: String
        public var remoteKind: String
        /// `address:port`.
        public var local: String
        public var remote: String
        /// `local` without its port.
        public var localAddress: String { Self.address(of: local) }
        /// `remote` without its port.
        public var remoteAddress: String { Self.address(of: remote) }

        private static func address(of endpoint: String) -> String {
            guard let colon = endpoint.lastIndex(of: ":") else { return endpoint }
            return String(endpoint[..<colon].filter { $0 != "[" && $0 != "]" })
        }
        public var isRelayed: Bool { localKind == "relay" || remoteKind == "relay" }
        public var description: String { "\(local) (\(localKind)) - \(remote) (\(remoteKind))" }
    }

    public struct Counters: Hashable, Sendable {
        public var packetsSent = 0
        public var bytesSent = 0
        /// Packets dropped because the socket's buffer was full.
        public var packetsDropped = 0
        /// Packets refused by the kernel or by libnice for another reason.
        public var sendErrors = 0
        /// Sends that carried more than one packet (UDP_SEGMENT).
        public var segmentedSends = 0
        public var packetsReceived = 0
        /// Of the received packets, those that were read without libnice.
        public var packetsReadDirectly = 0
        /// Answers to the agent's own checks.
        public var consentAnswers = 0
        public var bytesReceived = 0
        public var candidatesRefused = 0
    }
}
