import FoundationEssentials
import LibraryPage
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix

/// Answers the requests of one connection, one after the other.
// SAFETY: used on the channel's event loop alone.
final class LibraryHandler: ChannelInboundHandler, @unchecked Sendable {
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
