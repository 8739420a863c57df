import FoundationEssentials
import HTTP
import LibraryPage
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix

/// Serves the page of the library to a browser of this machine: at 127.0.0.1 only, for requests that name this address
/// (so that no other page can reach it by a name of its own) and have the cookie that a code was exchanged for.
public final class LibraryServer: Sendable {
    /// A recording as the page shows it.
    public struct Item: Codable, Sendable {
        public var number: Int
        /// Of the file, without its folder.
        public var name: String
        public var title: String
        /// In seconds from 1970 on.
        public var began: Double
        public var seconds: Double?
        public var bytes: Int?
        public var state: String

        public init(
            number: Int, name: String, title: String, began: Double, seconds: Double?, bytes: Int?, state: String
        ) {
            self.number = number
            self.name = name
            self.title = title
            self.began = began
            self.seconds = seconds
            self.bytes = bytes
            self.state = state
        }
    }

    /// What the page asks for. The calls block, on threads of their own.
    public struct Actions: Sendable {
        public var list: @Sendable () throws -> [Item]
        /// The path of a recording's file; nil if there is none.
        public var file: @Sendable (_ number: Int) -> String?
        /// The path of a PNG file; nil if there is no picture.
        public var picture: @Sendable (_ number: Int) -> String?
        /// Writes a part to a new file; returns its name.
        public var trim: @Sendable (_ number: Int, _ from: Double, _ to: Double) throws -> String
        /// The page was left, or is loaded again.
        public var left: @Sendable () -> Void

        public init(
            list: @escaping @Sendable () throws -> [Item], file: @escaping @Sendable (Int) -> String?,
            picture: @escaping @Sendable (Int) -> String?,
            trim: @escaping @Sendable (Int, Double, Double) throws -> String,
            left: @escaping @Sendable () -> Void = {}
        ) {
            self.list = list
            self.file = file
            self.picture = picture
            self.trim = trim
            self.left = left
        }
    }

    private let listener: any Channel
    private let access: Monitor<LibraryAccess>
    private let port: Int

    /// - Throws: if no port can be opened.
    public init(actions: Actions) async throws {
        let access = Monitor(LibraryAccess())
        let port = Monitor(0)
        self.access = access
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .pausingWithoutDescriptors()
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        LibraryHandler(hosts: Self.hosts(port.with { $0 }), access: access, actions: actions))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let number = listener.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        port.with { $0 = number }
        self.port = number
    }

    /// A new address of the page: "http://127.0.0.1:PORT/TOKEN/?code=CODE". The first browser that opens it may see the
    /// page from then on; nobody else gets anything for it afterwards.
    public func makeAddress() -> String {
        access.with { access in
            let code = access.addCode { _ in nil }
            return address(access.path, code)
        }
    }

    /// A new file that opens the page in the first browser that is given the file. It is removed then, or by `stop`.
    /// - Parameter folder: of this user, or the one for temporary files.
    public func makeLaunchFile(in folder: String) throws(LaunchFile.Failure) -> LaunchFile {
        let result = access.with { access -> Result<LaunchFile, LaunchFile.Failure> in
            var made: LaunchFile?
            let path = access.path
            do {
                _ = try access.addCode { code in
                    made = try LaunchFile(in: folder, forwardingTo: address(path, code))
                    return made
                }
            } catch let error as LaunchFile.Failure {
                return .failure(error)
            } catch {
                return .failure(.init(code: 0))
            }
            return made.map { .success($0) } ?? .failure(.init(code: 0))
        }
        return try result.get()
    }

    private func address(_ path: String, _ code: String) -> String {
        "http://127.0.0.1:\(port)\(path)?code=\(code)"
    }

    private static func hosts(_ port: Int) -> Set<String> { ["127.0.0.1:\(port)", "localhost:\(port)"] }

    public func stop() async {
        access.with { $0.removeFiles() }
        try? await listener.close()
    }
}
