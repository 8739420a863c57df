import FoundationEssentials
import HTTP
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix
import TLSTransport

/// Offers one file to browsers that know a secret address and that its owner accepts: once, or until `stop`. Over HTTPS
/// with the user's own certificate, which browsers warn of.
public final class OfferedFile: Sendable {
    /// Who asks for the file.
    public struct Request: Sendable {
        public var address: String
        /// The `User-Agent`; not verified.
        public var userAgent: String
    }

    public enum Event: Sendable, Equatable {
        /// The file was sent completely.
        case sent(address: String)
        /// A browser has left in between.
        case interrupted(address: String)
        /// It was sent once; the address is void.
        case over
    }

    public struct Settings: Sendable {
        public var path: String
        /// "0.0.0.0" for all addresses.
        public var host: String
        public var port: Int
        /// PEM.
        public var certificate: String
        public var key: String
        /// Whether one browser gets it, and no other.
        public var isOnce: Bool

        public init(path: String, host: String, port: Int, certificate: String, key: String, isOnce: Bool) {
            (self.path, self.host, self.port, self.isOnce) = (path, host, port, isOnce)
            (self.certificate, self.key) = (certificate, key)
        }
    }

    private static let connectionLimit = 64

    private let listener: any Channel
    private let access: Monitor<OfferedFileAccess>
    public let port: Int
    /// The path of the address, with its secret.
    public let path: String

    /// - Parameters:
    ///   - accept: asks the owner, once for each browser.
    ///   - report: called on any thread.
    /// - Throws: if no port can be opened, or there is no such file.
    public init(
        _ settings: Settings, accept: @escaping @Sendable (Request) async -> Bool,
        report: @escaping @Sendable (Event) -> Void
    ) async throws {
        let access = Monitor(OfferedFileAccess(path: "/" + LibraryAccess.randomToken() + "/", isOnce: settings.isOnce))
        self.access = access
        path = access.with { $0.path }
        guard let key = TLSPrivateKey(pem: Array(settings.key.utf8)) else { throw TLSFailure.identity("no key in PEM") }
        let context = try TLSContext(server: TLSCertificate.chain(pem: Array(settings.certificate.utf8)), key)
        let file = try OfferedFileHandler.File(settings.path)
        let connections = Monitor(0)
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .pausingWithoutDescriptors()
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                let isTaken = connections.with { count in
                    defer { count += count < Self.connectionLimit ? 1 : 0 }
                    return count < Self.connectionLimit
                }
                guard isTaken else { return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported) }
                channel.closeFuture.whenComplete { _ in connections.with { $0 -= 1 } }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(TLSHandler(server: context))
                    try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(60)))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(
                        OfferedFileHandler(file, access, isOnce: settings.isOnce, accept: accept, report: report))
                }
            }
            .bind(host: settings.host, port: settings.port).get()
        guard let number = listener.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        port = number
    }

    /// Ends the offer. A second call does nothing.
    public func stop() async {
        access.with { $0.close() }
        try? await listener.close()
    }
}
