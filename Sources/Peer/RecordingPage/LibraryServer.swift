import FoundationEssentials
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

/// Answers the requests of one connection, one after the other.
// SAFETY: used on the channel's event loop alone.
private final class LibraryHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let hosts: Set<String>
    private let access: Monitor<LibraryAccess>
    private let prefix: String
    private let actions: LibraryServer.Actions
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    private static let bodyLimit = 4_096

    init(hosts: Set<String>, access: Monitor<LibraryAccess>, actions: LibraryServer.Actions) {
        self.hosts = hosts
        self.access = access
        prefix = access.with { $0.path }
        self.actions = actions
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(var bytes):
            guard body.readableBytes + bytes.readableBytes <= Self.bodyLimit else { return context.close(promise: nil) }
            body.writeBuffer(&bytes)
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, String(buffer: body), context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ head: HTTPRequestHead, _ body: String, _ context: ChannelHandlerContext) {
        guard hosts.contains(head.headers.first(name: "Host") ?? ""), head.uri.hasPrefix(prefix) else {
            return write(.text(.notFound, "there is nothing here"), context)
        }
        let rest = head.uri.dropFirst(prefix.count)
        if head.method == .GET, rest.hasPrefix("?code=") { return exchange(String(rest.dropFirst(6)), head, context) }
        guard isAllowed(head) else { return write(.refusal, context) }
        let path = rest.prefix { $0 != "?" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        switch (head.method, parts) {
        case (.GET, [""]): write(.page(libraryPageDocument(), "text/html; charset=utf-8"), context)
        case (.GET, ["library.css"]): write(.page(libraryPageStyle(), "text/css; charset=utf-8"), context)
        case (.GET, ["library.js"]): write(.page(libraryPageScript(), "text/javascript; charset=utf-8"), context)
        case (.GET, ["api", "recordings"]): perform(context) { [actions] in .json(.ok, try actions.list()) }
        case (.POST, ["api", "trim"]): trim(head, body, context)
        case (.POST, ["api", "left"]):
            actions.left()
            write(.text(.ok, ""), context)
        case (.GET, _) where parts.count == 2 && parts[0] == "files":
            let number = parts[1]
            let range = head.headers.first(name: "Range")
            let isDownload = rest.hasSuffix("?download")
            perform(context) { [actions] in
                guard let path = Int(number).flatMap({ actions.file($0) }) else { return .none }
                let type = path.hasSuffix(".mkv") ? "video/x-matroska" : "video/webm"
                return .file(path, type, range: range, isDownload: isDownload)
            }
        case (.GET, _) where parts.count == 2 && parts[0] == "pictures" && parts[1].hasSuffix(".png"):
            let name = parts[1]
            perform(context) { [actions] in
                guard let path = Int(name.dropLast(4)).flatMap({ actions.picture($0) }) else { return .none }
                return .file(path, "image/png", range: nil, isDownload: false)
            }
        default: write(.none, context)
        }
    }

    private func isAllowed(_ head: HTTPRequestHead) -> Bool { access.with { $0.allows(head.headers["Cookie"]) } }

    /// Gives the browser its cookie for a code. The page that forwards it is of this server, so that the next request
    /// comes from the same site.
    private func exchange(_ code: String, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let cookie = access.with { access in
            access.take(code) || access.allows(head.headers["Cookie"]) ? access.cookieHeader : nil
        }
        guard let cookie else { return write(.refusal, context) }
        // What the user has typed has no other site before it (Fetch Metadata Request Headers).
        var answer =
            head.headers.first(name: "Sec-Fetch-Site") == "none"
            ? LibraryAnswer(
                status: .seeOther, headers: ["Location": prefix, "Content-Length": "0"], content: .text(""))
            : LibraryAnswer.text(
                .ok, #"<!DOCTYPE html><title>Recordings</title><meta http-equiv="refresh" content="0; url=./">"#,
                "text/html; charset=utf-8")
        answer.headers.add(name: "Set-Cookie", value: cookie)
        write(answer, context)
    }

    private struct TrimRequest: Decodable {
        var number: Int
        var from: Double
        var to: Double
    }

    private struct TrimAnswer: Encodable {
        var name: String?
        var message: String?
    }

    private func trim(_ head: HTTPRequestHead, _ body: String, _ context: ChannelHandlerContext) {
        // Another page's form cannot send this type.
        guard head.headers.first(name: "Content-Type") == "application/json",
            let request = try? JSONDecoder().decode(TrimRequest.self, from: Data(body.utf8)),
            request.from >= 0, request.to > request.from, request.to < 31_536_000
        else { return write(.json(.badRequest, TrimAnswer(message: "the part is none")), context) }
        perform(context) { [actions] in
            do {
                return .json(.ok, TrimAnswer(name: try actions.trim(request.number, request.from, request.to)))
            } catch {
                return .json(.conflict, TrimAnswer(message: "\(error)"))
            }
        }
    }

    /// Makes an answer on a thread that may block.
    private func perform(_ context: ChannelHandlerContext, _ body: @escaping @Sendable () throws -> LibraryAnswer) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { try body() }
            .whenComplete { result in
                let (handler, context) = bound.value
                switch result {
                case .success(let answer): handler.write(answer, context)
                case .failure(let error): handler.write(.text(.internalServerError, "\(error)"), context)
                }
            }
    }

    private func write(_ answer: LibraryAnswer, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders([
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
                    + "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            ),
        ])
        headers.add(contentsOf: answer.headers)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers))),
            promise: nil)
        switch answer.content {
        case .text(let text): context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        case .file(let handle, let range):
            let region = FileRegion(fileHandle: handle, readerIndex: range.lowerBound, endIndex: range.upperBound)
            context.write(wrapOutboundOut(.body(.fileRegion(region)))).whenComplete { _ in try? handle.close() }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

/// The response to a request.
struct LibraryAnswer: Sendable {
    enum Content: Sendable {
        case text(String)
        case file(NIOFileHandle, Range<Int>)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var content: Content

    static var none: Self { text(.notFound, "there is nothing here") }
    static var refusal: Self {
        text(.forbidden, "this address was used already; start share recordings open again")
    }

    static func text(_ status: HTTPResponseStatus, _ text: String) -> Self {
        self.text(status, text, "text/plain; charset=utf-8")
    }

    static func page(_ text: UnsafePointer<CChar>, _ type: String) -> Self {
        self.text(.ok, String(cString: text), type)
    }

    static func json(_ status: HTTPResponseStatus, _ value: some Encodable) -> Self {
        let data = (try? JSONEncoder().encode(value)) ?? Data("null".utf8)
        return text(status, String(decoding: data, as: UTF8.self), "application/json")
    }

    fileprivate static func text(_ status: HTTPResponseStatus, _ text: String, _ type: String) -> Self {
        Self(
            status: status, headers: ["Content-Type": type, "Content-Length": "\(text.utf8.count)"],
            content: .text(text))
    }

    /// Content-Disposition (RFC 6266) of a file that is saved, with its name (RFC 8187).
    static func attachment(_ name: String) -> String {
        let encoded = name.utf8.map { byte in
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-")
                ? String(UnicodeScalar(byte))
                : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return "attachment; filename*=UTF-8''" + encoded.joined()
    }

    /// A file or a part of it (RFC 9110 section 14).
    static func file(_ path: String, _ type: String, range: String?, isDownload: Bool) -> Self {
        guard let handle = try? NIOFileHandle(_deprecatedPath: path) else { return .none }
        let length = (try? FileRegion(fileHandle: handle).endIndex) ?? 0
        var headers: HTTPHeaders = ["Content-Type": type, "Accept-Ranges": "bytes"]
        if isDownload {
            let name = path.split(separator: "/").last.map { String($0) } ?? "recording.webm"
            headers.add(name: "Content-Disposition", value: attachment(name))
        }
        guard let range else {
            headers.add(name: "Content-Length", value: "\(length)")
            return Self(status: .ok, headers: headers, content: .file(handle, 0..<length))
        }
        guard let part = Self.part(range, of: length) else {
            try? handle.close()
            headers.add(name: "Content-Range", value: "bytes */\(length)")
            headers.add(name: "Content-Length", value: "0")
            return Self(status: .rangeNotSatisfiable, headers: headers, content: .text(""))
        }
        headers.add(name: "Content-Range", value: "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)")
        headers.add(name: "Content-Length", value: "\(part.count)")
        return Self(status: .partialContent, headers: headers, content: .file(handle, part))
    }

    /// One range of bytes: "bytes=0-99", "bytes=100-" or "bytes=-100".
    static func part(_ text: String, of length: Int) -> Range<Int>? {
        guard text.hasPrefix("bytes="), length > 0 else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = Int(ends[1]), count > 0 else { return nil }
            return max(length - count, 0)..<length
        }
        guard let first = Int(ends[0]), first >= 0, first < length else { return nil }
        guard !ends[1].isEmpty else { return first..<length }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return first..<min(last, length - 1) + 1
    }
}
